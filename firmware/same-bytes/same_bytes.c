/* Messages for known keys, seeds and plaintexts, made through the C interface. The example
 * `same_bytes` of crates/device-c prints the same in Rust, and `cargo xtask arm` compares the two on
 * every board. That example also makes keys.h. */
#include "same_bytes.h"

#include "helpers.h"
#include "keys.h"
#include "tfhe_sbc.h"

#define BITS 1024
#define READINGS 100
#define READING_BITS 10
#define CODES 700
#define CODE_BITS 12
#define COLUMN_READINGS 20

/* The size of the largest session here: all sessions use one buffer in turn. */
#define WORKSPACE_BYTES TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST_PUBLIC(4096)

static uint8_t workspace[WORKSPACE_BYTES] __attribute__((aligned(TFHE_SBC_WORKSPACE_ALIGNMENT)));
static tfhe_sbc_encryptor encryptor;
static uint8_t plaintexts[BITS];

static int32_t encrypt_bits(struct hash *hash) {
    for (size_t i = 0; i < BITS; i++)
        plaintexts[i] = i * i / 5 % 2;
    int32_t status = tfhe_sbc_encrypt_bits_to(&encryptor, plaintexts, BITS, hash_piece, hash);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_encrypt_bits_to(&encryptor, plaintexts, BITS, hash_piece, hash);
    return status;
}

static int32_t encrypt_readings(struct hash *hash) {
    size_t each, at = 0;
    int32_t status = tfhe_sbc_block_count(&encryptor, READING_BITS, 1, &each);
    if (status == TFHE_SBC_STATUS_OK && each * READINGS > sizeof plaintexts)
        status = TFHE_SBC_STATUS_OUTPUT_TOO_SMALL;
    for (uint64_t i = 0; i < READINGS && status == TFHE_SBC_STATUS_OK; i++, at += each) {
        const uint64_t code = (i * 37 + 11) % 1024;
        status = tfhe_sbc_encode_codes(&encryptor, READING_BITS, &code, 1, plaintexts + at, each);
    }
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_encrypt_blocks_to(&encryptor, plaintexts, at, hash_piece, hash);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_encrypt_blocks_to(&encryptor, plaintexts, at, hash_piece, hash);
    return status;
}

/* Columns of all encodings, some with squares and flags, in several polynomials. */
static int32_t encrypt_columns(struct hash *hash) {
    static uint64_t codes[CODES];
    static double readings[COLUMN_READINGS];
    const tfhe_sbc_encoding adc = {0.0, 1.0, CODE_BITS}, celsius = {-40.0, 0.1, READING_BITS};
    const tfhe_sbc_compact means = {14, 29, 1}, alarms = {1, 18, 0};
    const tfhe_sbc_compact squares = {14, 45, 1}, flags = {14, 21, 1};
    static const uint64_t cuts[] = {1, 500, 1023};
    const tfhe_sbc_derived of_codes = {
        .square = squares, .flags_from = cuts, .flag_count = 2, .flags = flags};
    const tfhe_sbc_derived of_readings = {.flags_from = cuts + 1, .flag_count = 2, .flags = flags};
    const tfhe_sbc_column_values columns[] = {
        {.codes = codes, .count = CODES, .encoding = adc, .compact = means, .derived = of_codes},
        {.blocks = plaintexts, .count = BITS},
        {.readings = readings,
         .count = COLUMN_READINGS,
         .encoding = celsius,
         .compact = means,
         .derived = of_readings},
        {.codes = codes, .count = CODES, .encoding = adc, .compact = alarms},
    };
    const size_t count = sizeof columns / sizeof columns[0];
    for (size_t i = 0; i < CODES; i++)
        codes[i] = (i * 37 + 11) % 4096;
    for (size_t i = 0; i < BITS; i++)
        plaintexts[i] = i * i / 5 % 4;
    for (size_t i = 0; i < COLUMN_READINGS; i++)
        readings[i] = (double)(i * 37 % 90) - 40.0;
    int32_t status = tfhe_sbc_encrypt_columns_to(&encryptor, columns, count, hash_piece, hash);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_encrypt_columns_to(&encryptor, columns, count, hash_piece, hash);
    return status;
}

/* The content that a session encrypts. */
enum content { PLAINTEXTS, COLUMNS };

static int run(const uint8_t *key, size_t key_len, uint32_t plan, enum content content) {
    struct hash hash = HASH_INIT;
    uint64_t entropy_state = 0x5eed;
    tfhe_sbc_key_info info = {{0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    tfhe_sbc_options options = {
        .key = key,
        .key_len = key_len,
        .plan = plan,
        .expander = TFHE_SBC_EXPANDER_CHACHA20,
        .entropy = known_entropy,
        .entropy_context = &entropy_state,
        .workspace = workspace,
    };
    int32_t status = tfhe_sbc_key_info_read(key, key_len, &info);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_workspace_bytes(key, key_len, plan, &options.workspace_len);
    if (status == TFHE_SBC_STATUS_OK && options.workspace_len > sizeof workspace)
        status = TFHE_SBC_STATUS_WORKSPACE_TOO_SMALL;
    if (status == TFHE_SBC_STATUS_OK)
        status = info.is_public ? tfhe_sbc_encryptor_init_public(&encryptor, &options)
                                : tfhe_sbc_encryptor_init(&encryptor, &options);
    if (status == TFHE_SBC_STATUS_OK)
        status = content == COLUMNS ? encrypt_columns(&hash)
                 : info.is_boolean  ? encrypt_bits(&hash)
                                    : encrypt_readings(&hash);
    tfhe_sbc_encryptor_wipe(&encryptor);

    static const char *const names[2][2] = {{"device", "public"},
                                            {"device-columns", "public-columns"}};
    const char *name = names[content == COLUMNS][info.is_public != 0];
    return print_line(info.parameters, name, plan, status, &hash);
}

int same_bytes(void) {
    static const struct {
        const uint8_t *bytes;
        size_t len;
    } keys[] = {
        {boolean_1024_device, sizeof boolean_1024_device},
        {boolean_1024_public, sizeof boolean_1024_public},
        {boolean_1024_tuniform_device, sizeof boolean_1024_tuniform_device},
        {boolean_1024_tuniform_public, sizeof boolean_1024_tuniform_public},
        {message_2_carry_2_device, sizeof message_2_carry_2_device},
        {message_2_carry_2_public, sizeof message_2_carry_2_public},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (uint32_t plan = TFHE_SBC_PLAN_SMALL; plan <= tfhe_sbc_recommended_plan(); plan++)
            failed |= run(keys[i].bytes, keys[i].len, plan, PLAINTEXTS);
    /* The keys of integers, which come last, have columns too. */
    for (size_t i = 4; i < sizeof keys / sizeof keys[0]; i++)
        for (uint32_t plan = TFHE_SBC_PLAN_SMALL; plan <= tfhe_sbc_recommended_plan(); plan++)
            failed |= run(keys[i].bytes, keys[i].len, plan, COLUMNS);
    return failed | same_bytes_ckks(workspace, sizeof workspace);
}
