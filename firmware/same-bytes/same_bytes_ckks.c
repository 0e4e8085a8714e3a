/* Ciphertexts of CKKS for known keys, seeds and values. */
#include "same_bytes.h"

#include "ckks_keys.h"
#include "helpers.h"
#include "tfhe_sbc.h"

#define COUNT 1000

static tfhe_sbc_ckks_encryptor encryptor;
static union {
    float singles[COUNT];
    double doubles[COUNT];
} values;

enum kind { SINGLES, DOUBLES, COMPLEX };

struct session {
    const char *name;
    const uint8_t *key;
    size_t key_len;
    uint32_t is_public, key_form, generator, format;
    enum kind kind;
    double scale;
};

static double value(unsigned i) { return (double)(i * 37 % 1001) / 256.0 - 2.0; }

static int32_t encrypt(const struct session *session, struct hash *hash) {
    switch (session->kind) {
    case SINGLES:
        for (unsigned i = 0; i < COUNT; i++)
            values.singles[i] = (float)value(i);
        return tfhe_sbc_ckks_encrypt_f32_to(&encryptor, values.singles, COUNT, session->scale,
                                            session->format, hash_piece, hash);
    case DOUBLES:
        for (unsigned i = 0; i < COUNT; i++)
            values.doubles[i] = value(i);
        return tfhe_sbc_ckks_encrypt_f64_to(&encryptor, values.doubles, COUNT, session->scale,
                                            session->format, hash_piece, hash);
    default:
        for (unsigned i = 0; i < COUNT; i++)
            values.doubles[i] = value(i);
        return tfhe_sbc_ckks_encrypt_complex_to(&encryptor, values.doubles, COUNT / 2,
                                                session->scale, session->format, hash_piece, hash);
    }
}

static int run(const tfhe_sbc_ckks_parameters *parameters, const struct session *session,
               uint32_t plan, void *workspace, size_t workspace_len) {
    struct hash hash = HASH_INIT;
    uint64_t entropy_state = 0x5eed;
    tfhe_sbc_ckks_options options = {
        .parameters = parameters,
        .key = session->key,
        .key_len = session->key_len,
        .key_form = session->key_form,
        .plan = plan,
        .generator = session->generator,
        .entropy = known_entropy,
        .entropy_context = &entropy_state,
        .workspace = workspace,
    };
    int32_t status = tfhe_sbc_ckks_workspace_bytes(parameters, plan, session->is_public,
                                                   &options.workspace_len);
    if (status == TFHE_SBC_STATUS_OK && options.workspace_len > workspace_len)
        status = TFHE_SBC_STATUS_WORKSPACE_TOO_SMALL;
    if (status == TFHE_SBC_STATUS_OK)
        status = session->is_public ? tfhe_sbc_ckks_encryptor_init_public(&encryptor, &options)
                                    : tfhe_sbc_ckks_encryptor_init(&encryptor, &options);
    for (int i = 0; i < 2 && status == TFHE_SBC_STATUS_OK; i++)
        status = encrypt(session, &hash);
    tfhe_sbc_ckks_encryptor_wipe(&encryptor);
    return print_line(session->name, session->is_public ? "public" : "secret", plan, status, &hash);
}

int same_bytes_ckks(void *workspace, size_t workspace_len) {
    const double scale = 1 << 25;
    const uint32_t seal = TFHE_SBC_CKKS_FORMAT_SEAL;
    const struct session sessions[] = {
        {"ckks_f32_seeded", ckks_secret, sizeof ckks_secret, 0, 0,
         TFHE_SBC_CKKS_GENERATOR_BLAKE2XB, TFHE_SBC_CKKS_FORMAT_SEAL_SEEDED, SINGLES, scale},
        {"ckks_complex_raw", ckks_secret, sizeof ckks_secret, 0, 0,
         TFHE_SBC_CKKS_GENERATOR_SHAKE256, TFHE_SBC_CKKS_FORMAT_RAW, COMPLEX, scale},
        {"ckks_f64", ckks_public, sizeof ckks_public, 1, TFHE_SBC_CKKS_KEY_FORM_SEAL, 0, seal,
         DOUBLES, scale},
        {"ckks_embedded", ckks_embedded_public, sizeof ckks_embedded_public, 1,
         TFHE_SBC_CKKS_KEY_FORM_SEAL_EMBEDDED, 0, seal, DOUBLES, scale},
        {"ckks_wide", ckks_wide_public, sizeof ckks_wide_public, 1, TFHE_SBC_CKKS_KEY_FORM_SEAL, 0,
         seal, DOUBLES, 64},
    };
    /* A small ring whose special prime has more than 31 bits. */
    const tfhe_sbc_ckks_parameters wide = {2048, 1, {12289}, UINT64_C(1099511590913)};
    tfhe_sbc_ckks_parameters standard;
    int failed = tfhe_sbc_ckks_standard_parameters(4096, &standard) != TFHE_SBC_STATUS_OK;
    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++)
        for (uint32_t plan = TFHE_SBC_PLAN_SMALL; plan <= TFHE_SBC_PLAN_FAST; plan++)
            failed |= run(sessions[i].key == ckks_wide_public ? &wide : &standard, &sessions[i],
                          plan, workspace, workspace_len);
    return failed;
}
