/* Encrypts 2048 numbers for Microsoft SEAL on a Cortex-M4 without an operating system, and passes
 * the ciphertext to the board piece by piece. All memory is static: an encryptor, a workspace, the
 * numbers. */
#include "board.h"
#include "secret_key.h"
#include "tfhe_sbc.h"

#define N 4096
#define SCALE (double)(1 << 25)

static tfhe_sbc_ckks_encryptor encryptor;
static uint8_t workspace[TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL(N)]
    __attribute__((aligned(TFHE_SBC_WORKSPACE_ALIGNMENT)));
static float readings[N / 2];

/* Takes a piece of the ciphertext. This function hashes it (FNV-1a); yours passes it to a radio. */
static int send(void *context, const uint8_t *piece, size_t len) {
    uint32_t *hash = context;
    for (size_t i = 0; i < len; i++)
        *hash = (*hash ^ piece[i]) * 16777619u;
    return 0;
}

static void print_hash(uint32_t hash) {
    char text[10];
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[hash >> (28 - 4 * i) & 15];
    text[8] = '\n';
    text[9] = 0;
    board_print("ciphertext ");
    board_print(text);
}

int main(void) {
    tfhe_sbc_ckks_parameters parameters;
    const tfhe_sbc_ckks_options options = {
        .parameters = &parameters,
        .key = secret_key,
        .key_len = sizeof secret_key,
        .plan = TFHE_SBC_PLAN_SMALL,
        .generator = TFHE_SBC_CKKS_GENERATOR_BLAKE2XB,
        .entropy = board_entropy,
        .workspace = workspace,
        .workspace_len = sizeof workspace,
    };
    uint32_t hash = 2166136261u;

    for (int i = 0; i < N / 2; i++)
        readings[i] = (float)i / 64 - 10; /* your readings */

    int32_t status = tfhe_sbc_ckks_standard_parameters(N, &parameters);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_ckks_encryptor_init(&encryptor, &options);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_ckks_encrypt_f32_to(&encryptor, readings, N / 2, SCALE,
                                              TFHE_SBC_CKKS_FORMAT_SEAL_SEEDED, send, &hash);
    tfhe_sbc_ckks_encryptor_wipe(&encryptor);

    if (status != TFHE_SBC_STATUS_OK) {
        board_print(tfhe_sbc_error_text(status));
        board_print("\n");
        return 1;
    }
    print_hash(hash);
    return 0;
}
