/* CKKS as a C program sees it, for the address and undefined-behaviour sanitizers.
 * `cargo xtask test` compiles it with ckks_keys.h, keys that everybody knows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ckks_keys.h"
#include "tfhe_sbc.h"

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
#define REQUIRE(condition)                                                                     \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define SCALE (double)(1 << 25)
#define N 4096

static tfhe_sbc_ckks_encryptor encryptor;

static int entropy(void *context, uint8_t *out, size_t len) {
    uint32_t *state = context;
    for (size_t i = 0; i < len; i++) {
        *state = *state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(*state >> 24);
    }
    return 0;
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
    CHECK(tfhe_sbc_ckks_encryptor_wipe(&encryptor), TFHE_SBC_STATUS_BUSY);
    if (len > TFHE_SBC_CKKS_MAX_PIECE_BYTES || stream->limit - stream->len < len)
        return 1;
    memcpy(stream->bytes + stream->len, piece, len);
    stream->len += len;
    return 0;
}

static size_t formula(const tfhe_sbc_ckks_parameters *set, uint32_t plan, int is_public) {
    const size_t n = set->polynomial_size, wide = set->special_prime >> 31 != 0 ? 4 * n : 0;
    if (is_public)
        return plan == TFHE_SBC_PLAN_SMALL      ? TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL_PUBLIC(n) + wide
               : plan == TFHE_SBC_PLAN_BALANCED ? TFHE_SBC_CKKS_WORKSPACE_BYTES_BALANCED_PUBLIC(n) + wide
                                                : TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST_PUBLIC(n) + 2 * wide;
    return plan == TFHE_SBC_PLAN_SMALL      ? TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL(n)
           : plan == TFHE_SBC_PLAN_BALANCED ? TFHE_SBC_CKKS_WORKSPACE_BYTES_BALANCED(n)
                                            : TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST(n, set->data_prime_count);
}

static void sizes(void) {
    for (uint32_t n = 1024; n <= 16384; n *= 2) {
        tfhe_sbc_ckks_parameters set;
        CHECK_OK(tfhe_sbc_ckks_standard_parameters(n, &set));
        REQUIRE(set.polynomial_size == n);
        for (uint32_t plan = TFHE_SBC_PLAN_SMALL; plan <= TFHE_SBC_PLAN_FAST; plan++)
            for (uint32_t is_public = 0; is_public <= 1; is_public++) {
                size_t bytes;
                CHECK_OK(tfhe_sbc_ckks_workspace_bytes(&set, plan, is_public, &bytes));
                REQUIRE(bytes == formula(&set, plan, (int)is_public));
            }
    }
}

/* Everything on the heap in its exact size, so that the sanitizers see what goes beyond. */
static void session(const uint8_t *file, size_t file_len, int is_public, uint32_t plan) {
    tfhe_sbc_ckks_parameters set;
    size_t workspace_len, len;
    uint32_t state = 1;
    uint8_t *key = malloc(file_len);
    memcpy(key, file, file_len);
    CHECK_OK(tfhe_sbc_ckks_standard_parameters(N, &set));
    CHECK_OK(tfhe_sbc_ckks_workspace_bytes(&set, plan, (uint32_t)is_public, &workspace_len));
    void *workspace = malloc(workspace_len);
    memset(workspace, 0xff, workspace_len);
    const tfhe_sbc_ckks_options options = {
        &set, key, file_len, TFHE_SBC_CKKS_KEY_FORM_SEAL, plan, TFHE_SBC_CKKS_GENERATOR_SHAKE256,
        entropy, &state, workspace, workspace_len};
    CHECK_OK(is_public ? tfhe_sbc_ckks_encryptor_init_public(&encryptor, &options)
                       : tfhe_sbc_ckks_encryptor_init(&encryptor, &options));

    float *singles = malloc(N / 2 * sizeof *singles);
    double *doubles = malloc(N * sizeof *doubles);
    for (int i = 0; i < N; i++)
        doubles[i] = i % 101 / 16.0 - 3.0;
    for (int i = 0; i < N / 2; i++)
        singles[i] = (float)doubles[i];
    for (uint32_t format = TFHE_SBC_CKKS_FORMAT_SEAL; format <= TFHE_SBC_CKKS_FORMAT_RAW; format++) {
        size_t needed;
        CHECK_OK(tfhe_sbc_ckks_ciphertext_bytes(&set, format, &needed));
        uint8_t *out = malloc(needed);
        const int32_t expected = is_public && format == TFHE_SBC_CKKS_FORMAT_SEAL_SEEDED
                                     ? TFHE_SBC_STATUS_FORMAT
                                     : TFHE_SBC_STATUS_OK;
        CHECK(tfhe_sbc_ckks_encrypt_f32(&encryptor, singles, N / 2, SCALE, format, out, needed - 1,
                                        &len),
              TFHE_SBC_STATUS_OUTPUT_TOO_SMALL);
        len = 0;
        CHECK(tfhe_sbc_ckks_encrypt_f32(&encryptor, singles, N / 2, SCALE, format, out, needed, &len),
              expected);
        REQUIRE(len == (expected == TFHE_SBC_STATUS_OK ? needed : 0));
        CHECK(tfhe_sbc_ckks_encrypt_f64(&encryptor, doubles, N / 2, SCALE, format, out, needed, &len),
              expected);
        CHECK(tfhe_sbc_ckks_encrypt_complex(&encryptor, doubles, N / 2, SCALE, format, out, needed,
                                            &len),
              expected);
        for (size_t fails = 0; fails <= 1 && expected == TFHE_SBC_STATUS_OK; fails++) {
            struct stream stream = {out, 0, needed - fails};
            CHECK(tfhe_sbc_ckks_encrypt_complex_to(&encryptor, doubles, N / 2, SCALE, format, take,
                                                   &stream),
                  fails ? TFHE_SBC_STATUS_SINK_FAILED : TFHE_SBC_STATUS_OK);
            REQUIRE(fails || stream.len == needed);
        }
        free(out);
    }

    /* No value, and one too many. */
    uint8_t out[1];
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, N / 2 + 1, SCALE, 0, take, out),
          TFHE_SBC_STATUS_ELEMENT_COUNT);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, SIZE_MAX, SCALE, 0, take, out),
          TFHE_SBC_STATUS_LENGTH);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, 1, -SCALE, 0, take, out),
          TFHE_SBC_STATUS_SCALE);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, 1, 1e300, 0, take, out),
          TFHE_SBC_STATUS_TOO_LARGE);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, 1, SCALE, 3, take, out),
          TFHE_SBC_STATUS_FORMAT);
    doubles[1] = NAN;
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, 2, SCALE, 0, take, out),
          TFHE_SBC_STATUS_READING_NOT_FINITE);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, workspace, 1, SCALE, 0, take, out),
          TFHE_SBC_STATUS_OVERLAP);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, NULL, 1, SCALE, 0, take, out),
          TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_ckks_encrypt_f64_to(&encryptor, doubles, 1, SCALE, 0, NULL, NULL),
          TFHE_SBC_STATUS_NULL);
    CHECK(tfhe_sbc_ckks_encrypt_f32(&encryptor, singles, 1, SCALE, 0, key, file_len, &len),
          TFHE_SBC_STATUS_OVERLAP);

    /* A copy is no session. */
    tfhe_sbc_ckks_encryptor copy = encryptor;
    CHECK(tfhe_sbc_ckks_encrypt_f32_to(&copy, singles, 1, SCALE, 0, take, out),
          TFHE_SBC_STATUS_NOT_INITIALISED);
    CHECK_OK(tfhe_sbc_ckks_encryptor_wipe(&copy));
    CHECK(tfhe_sbc_ckks_encryptor_init(&encryptor, &options), TFHE_SBC_STATUS_ALREADY_INITIALISED);
    CHECK_OK(tfhe_sbc_ckks_encryptor_wipe(&encryptor));
    const tfhe_sbc_ckks_encryptor empty = TFHE_SBC_CKKS_ENCRYPTOR_INIT;
    REQUIRE(memcmp(&encryptor, &empty, sizeof empty) == 0);
    CHECK_OK(tfhe_sbc_ckks_encryptor_wipe(&encryptor));
    free(doubles), free(singles), free(workspace), free(key);
}

/* Keys out of SEAL's objects, and parameters. */
static void keys(void) {
    tfhe_sbc_ckks_parameters set, read;
    CHECK_OK(tfhe_sbc_ckks_standard_parameters(N, &set));
    CHECK(tfhe_sbc_ckks_standard_parameters(512, &set), TFHE_SBC_STATUS_PARAMETERS);
    CHECK_OK(tfhe_sbc_ckks_parameters_read(ckks_seal_parameters, sizeof ckks_seal_parameters, &read));
    REQUIRE(memcmp(&set, &read, sizeof set) == 0);
    for (size_t len = 0; len < sizeof ckks_seal_parameters; len++) {
        uint8_t *cut = malloc(len + 1);
        memcpy(cut, ckks_seal_parameters, len);
        CHECK(tfhe_sbc_ckks_parameters_read(cut, len, &read), TFHE_SBC_STATUS_KEY_DAMAGED);
        free(cut);
    }

    uint8_t *packed = malloc(N / 4);
    uint32_t *scratch = malloc(N * sizeof *scratch);
    CHECK_OK(tfhe_sbc_ckks_secret_key_pack(&set, ckks_seal_secret, sizeof ckks_seal_secret, packed,
                                           N / 4, scratch, N));
    REQUIRE(memcmp(packed, ckks_secret, sizeof ckks_secret) == 0);
    for (int i = 0; i < N; i++)
        REQUIRE(scratch[i] == 0);
    CHECK(tfhe_sbc_ckks_secret_key_pack(&set, ckks_seal_secret, sizeof ckks_seal_secret - 1, packed,
                                        N / 4, scratch, N),
          TFHE_SBC_STATUS_KEY_DAMAGED);
    CHECK(tfhe_sbc_ckks_secret_key_pack(&set, ckks_seal_secret, sizeof ckks_seal_secret, packed,
                                        N / 4 - 1, scratch, N),
          TFHE_SBC_STATUS_OUTPUT_TOO_SMALL);
    CHECK(tfhe_sbc_ckks_secret_key_pack(&set, ckks_seal_secret, sizeof ckks_seal_secret,
                                        (uint8_t *)scratch, N / 4, scratch, N),
          TFHE_SBC_STATUS_OVERLAP);
    tfhe_sbc_ckks_parameters other = set;
    other.data_primes[0] = 1055260673;
    CHECK(tfhe_sbc_ckks_secret_key_pack(&other, ckks_seal_secret, sizeof ckks_seal_secret, packed,
                                        N / 4, scratch, N),
          TFHE_SBC_STATUS_KEY_PARAMETERS);
    other.data_primes[0]++;
    size_t bytes;
    CHECK(tfhe_sbc_ckks_workspace_bytes(&other, 0, 0, &bytes), TFHE_SBC_STATUS_PARAMETERS);
    other.data_prime_count = UINT32_MAX;
    CHECK(tfhe_sbc_ckks_ciphertext_bytes(&other, 0, &bytes), TFHE_SBC_STATUS_PARAMETERS);
    CHECK(tfhe_sbc_ckks_workspace_bytes(&set, 3, 0, &bytes), TFHE_SBC_STATUS_UNKNOWN_PLAN);
    CHECK(tfhe_sbc_ckks_workspace_bytes(NULL, 0, 0, &bytes), TFHE_SBC_STATUS_NULL);

    static uint64_t workspace[TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL_PUBLIC(N) / 8];
    uint32_t state = 1;
    const tfhe_sbc_ckks_options good = {
        &set, ckks_secret, sizeof ckks_secret, TFHE_SBC_CKKS_KEY_FORM_SEAL, TFHE_SBC_PLAN_SMALL,
        TFHE_SBC_CKKS_GENERATOR_BLAKE2XB, entropy, &state, workspace, sizeof workspace};
#define REFUSED(expected, change)                                                              \
    do {                                                                                       \
        tfhe_sbc_ckks_options options = good;                                                  \
        change;                                                                                \
        CHECK(tfhe_sbc_ckks_encryptor_init(&encryptor, &options), expected);                   \
    } while (0)
    REFUSED(TFHE_SBC_STATUS_NULL, options.parameters = NULL);
    REFUSED(TFHE_SBC_STATUS_NULL, options.key = NULL);
    REFUSED(TFHE_SBC_STATUS_NULL, options.entropy = NULL);
    REFUSED(TFHE_SBC_STATUS_NULL, options.workspace = NULL);
    REFUSED(TFHE_SBC_STATUS_PARAMETERS, options.parameters = &other);
    REFUSED(TFHE_SBC_STATUS_KEY_DAMAGED, options.key_len--);
    REFUSED(TFHE_SBC_STATUS_KEY_DAMAGED, options.key = ckks_public; options.key_len = sizeof ckks_public);
    memset(packed, 0xff, N / 4);
    REFUSED(TFHE_SBC_STATUS_KEY_FORMAT, options.key = packed);
    REFUSED(TFHE_SBC_STATUS_UNKNOWN_PLAN, options.plan = 3);
    REFUSED(TFHE_SBC_STATUS_EXPANDER, options.generator = 0);
    REFUSED(TFHE_SBC_STATUS_ENTROPY_WEAK, options.entropy = constant_entropy);
    REFUSED(TFHE_SBC_STATUS_MISALIGNED, options.workspace = (uint8_t *)workspace + 4;
            options.workspace_len -= 4);
    REFUSED(TFHE_SBC_STATUS_WORKSPACE_TOO_SMALL,
            options.workspace_len = TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL(N) - 1);
    REFUSED(TFHE_SBC_STATUS_OVERLAP, options.workspace = &encryptor);
    REFUSED(TFHE_SBC_STATUS_OVERLAP, options.key = (const uint8_t *)workspace);
    tfhe_sbc_ckks_options options = good;
    options.key = ckks_public, options.key_len = sizeof ckks_public;
    options.key_form = 2;
    CHECK(tfhe_sbc_ckks_encryptor_init_public(&encryptor, &options), TFHE_SBC_STATUS_KEY_KIND);
    options.key_form = TFHE_SBC_CKKS_KEY_FORM_SEAL_EMBEDDED;
    CHECK(tfhe_sbc_ckks_encryptor_init_public(&encryptor, &options), TFHE_SBC_STATUS_KEY_DAMAGED);
    options.key_form = TFHE_SBC_CKKS_KEY_FORM_SEAL;
    CHECK_OK(tfhe_sbc_ckks_encryptor_init_public(&encryptor, &options));
    CHECK_OK(tfhe_sbc_ckks_encryptor_wipe(&encryptor));
    free(packed), free(scratch);
}

int main(void) {
    sizes();
    keys();
    for (uint32_t plan = TFHE_SBC_PLAN_SMALL; plan <= TFHE_SBC_PLAN_FAST; plan++) {
        session(ckks_secret, sizeof ckks_secret, 0, plan);
        session(ckks_public, sizeof ckks_public, 1, plan);
    }
    printf("tfhe_sbc %s: CKKS through the C interface holds\n", tfhe_sbc_version());
    return 0;
}
