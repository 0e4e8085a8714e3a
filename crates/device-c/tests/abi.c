/* The interface as a C program sees it, for the address and undefined-behaviour sanitizers.
 * `cargo xtask test` compiles it with keys.h, keys that everybody knows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "tfhe_sbc.h"

#if defined(__unix__)
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define CHECK(status, expected)                                                                \
    do {                                                                                       \
        const int32_t got = (status);                                                          \
        if (got != (expected)) {                                                               \
            fprintf(stderr, "%s:%d: %d instead of %s\n", __FILE__, __LINE__, (int)got,         \
                    #expected);                                                                \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define CHECK_OK(status) CHECK(status, TFHE_SBC_STATUS_OK)
#define BITS 1024

static tfhe_sbc_encryptor encryptor;

static int entropy(void *context, uint8_t *out, size_t len) {
    uint32_t *state = context;
    for (size_t i = 0; i < len; i++) {
        *state = *state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(*state >> 24);
    }
    return 0;
}

static int no_entropy(void *context, uint8_t *out, size_t len) {
    (void)context, (void)out, (void)len;
    return -1;
}

static int constant_entropy(void *context, uint8_t *out, size_t len) {
    (void)context;
    memset(out, 0x55, len);
    return 0;
}

struct stream {
    uint8_t *bytes;
    size_t len, limit;
};

/* Fails behind its limit, and finds the encryptor busy before. */
static int take(void *context, const uint8_t *piece, size_t len) {
    struct stream *stream = context;
    size_t bytes;
    CHECK(tfhe_sbc_message_bytes(&encryptor, 1, &bytes), TFHE_SBC_STATUS_BUSY);
    CHECK(tfhe_sbc_encryptor_wipe(&encryptor), TFHE_SBC_STATUS_BUSY);
    if (len > TFHE_SBC_MAX_PIECE_BYTES || stream->limit - stream->len < len)
        return 1;
    memcpy(stream->bytes + stream->len, piece, len);
    stream->len += len;
    return 0;
}

/* A child that fork() made cannot go on with the session, whose seeds its parent uses. */
static void not_in_a_child(int is_boolean, const uint8_t *blocks, uint8_t *message, size_t upload_len) {
#if defined(__unix__)
    size_t len;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int32_t status = is_boolean
            ? tfhe_sbc_encrypt_bits(&encryptor, blocks, 1, message, upload_len, &len)
            : tfhe_sbc_encrypt_blocks(&encryptor, blocks, 1, message, upload_len, &len);
        _exit(status == TFHE_SBC_STATUS_FORKED ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        fprintf(stderr, "a child used its parent's session\n");
        exit(1);
    }
    CHECK_OK(is_boolean ? tfhe_sbc_encrypt_bits(&encryptor, blocks, 1, message, upload_len, &len)
                        : tfhe_sbc_encrypt_blocks(&encryptor, blocks, 1, message, upload_len, &len));
#else
    (void)is_boolean, (void)blocks, (void)message, (void)upload_len;
#endif
}

/* Columns of codes, blocks and readings, some with squares and flags, in a buffer of the exact size and
 * in pieces. */
static void compact_columns(const tfhe_sbc_encoding *celsius) {
    const tfhe_sbc_compact means = {14, 29, 1}, none = {0, 0, 0};
    const tfhe_sbc_compact squares = {14, 41, 1}, flags = {14, 21, 1};
    const size_t count = 2100;
    uint64_t *codes = malloc(count * sizeof *codes);
    uint8_t *blocks = malloc(count);
    double *readings = malloc(sizeof *readings);
    uint64_t *cuts = malloc(2 * sizeof *cuts);
    cuts[0] = 1, cuts[1] = 1023;
    for (size_t i = 0; i < count; i++) {
        codes[i] = i % 1024;
        blocks[i] = i % 4;
    }
    readings[0] = 21.5;
    const tfhe_sbc_derived nothing = {none, NULL, 0, none};
    const tfhe_sbc_derived both = {squares, cuts, 2, flags}, one_flag = {none, cuts, 1, flags};
    tfhe_sbc_column_values columns[3] = {
        {NULL, codes, NULL, count, *celsius, means, both},
        {blocks, NULL, NULL, count, *celsius, none, nothing},
        {NULL, NULL, readings, 1, *celsius, means, one_flag},
    };
    size_t needed, len;
    CHECK_OK(tfhe_sbc_columns_message_bytes(&encryptor, columns, 3, &needed));
    uint8_t *message = malloc(needed);
    CHECK(tfhe_sbc_encrypt_columns(&encryptor, columns, 3, message, needed - 1, &len),
          TFHE_SBC_STATUS_OUTPUT_TOO_SMALL);
    CHECK(tfhe_sbc_encrypt_columns(&encryptor, columns, 0, message, needed, &len),
          TFHE_SBC_STATUS_COLUMN_COUNT);
    CHECK(tfhe_sbc_encrypt_columns(&encryptor, NULL, 3, message, needed, &len),
          TFHE_SBC_STATUS_NULL);
    CHECK_OK(tfhe_sbc_encrypt_columns(&encryptor, columns, 3, message, needed, &len));
    if (len != needed || memcmp(message, "TSBC", 4) != 0) {
        fprintf(stderr, "no message of columns\n");
        exit(1);
    }
    for (int fails = 1; fails >= 0; fails--) {
        struct stream stream = {message, 0, needed - (size_t)fails};
        CHECK(tfhe_sbc_encrypt_columns_to(&encryptor, columns, 3, take, &stream),
              fails ? TFHE_SBC_STATUS_SINK_FAILED : TFHE_SBC_STATUS_OK);
    }
    columns[1].derived = one_flag;
    CHECK(tfhe_sbc_encrypt_columns(&encryptor, columns, 3, message, needed, &len),
          TFHE_SBC_STATUS_DERIVED);
    columns[1].derived = nothing;
    cuts[1] = 1024;
    CHECK(tfhe_sbc_encrypt_columns(&encryptor, columns, 3, message, needed, &len),
          TFHE_SBC_STATUS_DERIVED);
    cuts[1] = 1023;
    codes[count - 1] = 1024;
    CHECK(tfhe_sbc_encrypt_columns(&encryptor, columns, 3, message, needed, &len),
          TFHE_SBC_STATUS_BLOCK_OUT_OF_RANGE);
    free(message), free(cuts), free(readings), free(blocks), free(codes);
}

/* Everything on the heap in its exact size, so that the sanitizers see what goes beyond. */
static void session(const uint8_t *file, size_t file_len, uint32_t plan) {
    tfhe_sbc_key_info info;
    size_t workspace_len, upload_len, len, count;
    uint32_t state = 1;
    uint8_t *key = malloc(file_len);
    memcpy(key, file, file_len);
    CHECK_OK(tfhe_sbc_key_info_read(key, file_len, &info));
    CHECK_OK(tfhe_sbc_workspace_bytes(key, file_len, plan, &workspace_len));
    void *workspace = malloc(workspace_len);
    memset(workspace, 0xff, workspace_len);
    const tfhe_sbc_options options = {key,  file_len, plan,      TFHE_SBC_EXPANDER_CHACHA20,
                                      entropy, &state,   workspace, workspace_len};
    CHECK_OK(info.is_public ? tfhe_sbc_encryptor_init_public(&encryptor, &options)
                            : tfhe_sbc_encryptor_init(&encryptor, &options));
    if (!info.is_public)
        memset(key, 0, file_len); /* a device key is not needed any more */

    const double readings[2] = {-10.6, 21.5};
    const tfhe_sbc_encoding celsius = {-50.0, 0.1, 10};
    CHECK_OK(tfhe_sbc_block_count(&encryptor, celsius.bits, 2, &count));
    uint8_t *blocks = malloc(count), *again = malloc(count);
    CHECK_OK(tfhe_sbc_encode_readings(&encryptor, &celsius, readings, 2, blocks, count));
    const uint64_t codes[2] = {394, 715};
    CHECK_OK(tfhe_sbc_encode_codes(&encryptor, 10, codes, 2, again, count));
    if (memcmp(blocks, again, count) != 0) {
        fprintf(stderr, "codes and readings differ\n");
        exit(1);
    }
    CHECK(tfhe_sbc_encode_codes(&encryptor, 9, codes, 2, again, count),
          TFHE_SBC_STATUS_READING_OUT_OF_RANGE);
    CHECK(tfhe_sbc_encode_codes(&encryptor, 10, codes, 2, again, count - 1),
          TFHE_SBC_STATUS_OUTPUT_TOO_SMALL);

    CHECK_OK(tfhe_sbc_message_bytes(&encryptor, count, &upload_len));
    uint8_t *message = malloc(upload_len);
    CHECK(info.is_boolean
              ? tfhe_sbc_encrypt_blocks(&encryptor, blocks, count, message, upload_len, &len)
              : tfhe_sbc_encrypt_bits(&encryptor, blocks, count, message, upload_len, &len),
          TFHE_SBC_STATUS_PLAINTEXT_KIND);
    CHECK(info.is_boolean
              ? tfhe_sbc_encrypt_bits(&encryptor, blocks, count, message, upload_len - 1, &len)
              : tfhe_sbc_encrypt_blocks(&encryptor, blocks, count, message, upload_len - 1, &len),
          TFHE_SBC_STATUS_OUTPUT_TOO_SMALL);
    CHECK_OK(info.is_boolean
                 ? tfhe_sbc_encrypt_bits(&encryptor, blocks, count, message, upload_len, &len)
                 : tfhe_sbc_encrypt_blocks(&encryptor, blocks, count, message, upload_len, &len));
    if (len != upload_len || memcmp(message, "TSBC", 4) != 0) {
        fprintf(stderr, "no message\n");
        exit(1);
    }
    for (int fails = 1; fails >= 0; fails--) {
        struct stream stream = {message, 0, upload_len - (size_t)fails};
        CHECK(info.is_boolean
                  ? tfhe_sbc_encrypt_bits_to(&encryptor, blocks, count, take, &stream)
                  : tfhe_sbc_encrypt_blocks_to(&encryptor, blocks, count, take, &stream),
              fails ? TFHE_SBC_STATUS_SINK_FAILED : TFHE_SBC_STATUS_OK);
    }

    /* The description that comes before blocks; bits have none. */
    const tfhe_sbc_column columns[1] = {{"celsius", "\xc2\xb0" "C", celsius, {0, 0, 0},
                                         {{0, 0, 0}, NULL, 0, {0, 0, 0}}}};
    const char *const rows[2] = {"10:00", "11:00"};
    uint8_t *described = malloc(512);
    CHECK(tfhe_sbc_describe(&encryptor, columns, 1, rows, 2, described, 512, &len),
          info.is_boolean ? TFHE_SBC_STATUS_PLAINTEXT_KIND : TFHE_SBC_STATUS_OK);
    if (!info.is_boolean) {
        uint8_t *exact = malloc(len), *again_described = malloc(len);
        size_t exact_len;
        CHECK(tfhe_sbc_describe(&encryptor, columns, 1, rows, 2, exact, len - 1, &exact_len),
              TFHE_SBC_STATUS_OUTPUT_TOO_SMALL);
        CHECK_OK(tfhe_sbc_describe(&encryptor, columns, 1, rows, 2, exact, len, &exact_len));
        struct stream stream = {again_described, 0, len};
        CHECK_OK(tfhe_sbc_describe_to(&encryptor, columns, 1, rows, 2, take, &stream));
        if (exact_len != len || stream.len != len || memcmp(exact, described, len) != 0 ||
            memcmp(exact, again_described, len) != 0) {
            fprintf(stderr, "descriptions differ\n");
            exit(1);
        }
        CHECK(tfhe_sbc_describe(&encryptor, columns, 1, NULL, 2, exact, len, &exact_len),
              TFHE_SBC_STATUS_NULL);
        free(again_described), free(exact);
        compact_columns(&celsius);
    }
    free(described);

    not_in_a_child(info.is_boolean, blocks, message, upload_len);

    /* A copy holds no session: its seeds would be given twice. */
    tfhe_sbc_encryptor copy = encryptor;
    CHECK(tfhe_sbc_message_bytes(&copy, 1, &len), TFHE_SBC_STATUS_NOT_INITIALISED);
    CHECK_OK(tfhe_sbc_encryptor_wipe(&copy));
    CHECK(tfhe_sbc_encryptor_init(&encryptor, &options), TFHE_SBC_STATUS_ALREADY_INITIALISED);
    CHECK_OK(tfhe_sbc_encryptor_wipe(&encryptor));
    CHECK(tfhe_sbc_message_bytes(&encryptor, 1, &len), TFHE_SBC_STATUS_NOT_INITIALISED);
    const tfhe_sbc_encryptor empty = TFHE_SBC_ENCRYPTOR_INIT;
    if (memcmp(&empty, &encryptor, sizeof empty) != 0 || memcmp(&empty, &copy, sizeof empty) != 0) {
        fprintf(stderr, "not wiped\n");
        exit(1);
    }
    free(message), free(again), free(blocks), free(workspace), free(key);
}

static void refused(void) {
    static uint8_t workspace[TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_FAST + 8];
    uint32_t state = 2;
    tfhe_sbc_options options = {boolean_1024_device,
                                sizeof boolean_1024_device,
                                TFHE_SBC_PLAN_SMALL,
                                TFHE_SBC_EXPANDER_CHACHA20,
                                entropy,
                                &state,
                                (void *)(((uintptr_t)workspace + 7) & ~(uintptr_t)7),
                                TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_SMALL};
    const tfhe_sbc_options good = options;
    CHECK(tfhe_sbc_encryptor_init(NULL, &options), TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_encryptor_init(&encryptor, NULL), TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_encryptor_init_public(&encryptor, &options), TFHE_SBC_STATUS_KEY_KIND);
#define REFUSED(change, status)                                                                \
    do {                                                                                       \
        change;                                                                                \
        CHECK(tfhe_sbc_encryptor_init(&encryptor, &options), status);                          \
        options = good;                                                                        \
    } while (0)
    REFUSED(options.key = NULL, TFHE_SBC_STATUS_NULL);
    REFUSED(options.entropy = NULL, TFHE_SBC_STATUS_NULL);
    REFUSED(options.workspace = NULL, TFHE_SBC_STATUS_NULL);
    REFUSED(options.workspace_len--, TFHE_SBC_STATUS_WORKSPACE_TOO_SMALL);
    REFUSED(options.workspace = (uint8_t *)options.workspace + 4, TFHE_SBC_STATUS_MISALIGNED);
    REFUSED(options.workspace = &encryptor, TFHE_SBC_STATUS_OVERLAP);
    REFUSED(options.workspace_len = SIZE_MAX, TFHE_SBC_STATUS_LENGTH);
    REFUSED(options.key_len--, TFHE_SBC_STATUS_KEY_DAMAGED);
    REFUSED(options.key_len = 0, TFHE_SBC_STATUS_KEY_DAMAGED);
    REFUSED(options.key++, TFHE_SBC_STATUS_KEY_FORMAT);
    REFUSED(options.plan = 3, TFHE_SBC_STATUS_UNKNOWN_PLAN);
    REFUSED(options.expander = 0, TFHE_SBC_STATUS_EXPANDER);
    REFUSED(options.entropy = no_entropy, TFHE_SBC_STATUS_ENTROPY_FAILED);
    REFUSED(options.entropy = constant_entropy, TFHE_SBC_STATUS_ENTROPY_WEAK);
    CHECK_OK(tfhe_sbc_encryptor_init(&encryptor, &options));

    static uint8_t bits[BITS], message[2 * BITS];
    size_t len;
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, NULL, BITS, message, sizeof message, &len),
          TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, bits, BITS, NULL, sizeof message, &len),
          TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, bits, BITS, message, sizeof message, NULL),
          TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, message + 1, BITS, message, sizeof message, &len),
          TFHE_SBC_STATUS_OVERLAP);
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, options.workspace, BITS, message, sizeof message, &len),
          TFHE_SBC_STATUS_OVERLAP);
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, bits, 0, message, sizeof message, &len),
          TFHE_SBC_STATUS_ELEMENT_COUNT);
    CHECK(tfhe_sbc_encrypt_bits_to(&encryptor, bits, BITS, NULL, NULL), TFHE_SBC_STATUS_NULL);
    bits[BITS - 1] = 2;
    CHECK(tfhe_sbc_encrypt_bits(&encryptor, bits, BITS, message, sizeof message, &len),
          TFHE_SBC_STATUS_BLOCK_OUT_OF_RANGE);
    CHECK_OK(tfhe_sbc_encryptor_wipe(&encryptor));
    CHECK_OK(tfhe_sbc_encryptor_wipe(&encryptor));
    CHECK(tfhe_sbc_encryptor_wipe(NULL), TFHE_SBC_STATUS_NULL);
}

int main(void) {
    for (uint32_t plan = TFHE_SBC_PLAN_SMALL; plan <= TFHE_SBC_PLAN_FAST; plan++) {
        session(boolean_1024_device, sizeof boolean_1024_device, plan);
        session(boolean_1024_public, sizeof boolean_1024_public, plan);
        session(message_2_carry_2_device, sizeof message_2_carry_2_device, plan);
        session(message_2_carry_2_public, sizeof message_2_carry_2_public, plan);
    }
    refused();
    printf("tfhe_sbc %s: the C interface holds\n", tfhe_sbc_version());
    return 0;
}
