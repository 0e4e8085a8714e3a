/* Encrypts 1024 bits on a Cortex-M4 without an operating system, and passes the message to the
 * board piece by piece. All memory is static: an encryptor, a workspace, the bits. */
#include "board.h"
#include "device_key.h"
#include "tfhe_sbc.h"

#define BITS 1024

static tfhe_sbc_encryptor encryptor;
static uint8_t workspace[TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_BALANCED]
    __attribute__((aligned(TFHE_SBC_WORKSPACE_ALIGNMENT)));
static uint8_t bits[BITS];

/* Takes a piece of the message. This function hashes it (FNV-1a); yours passes it to a radio. */
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
    board_print("message ");
    board_print(text);
}

int main(void) {
    const tfhe_sbc_options options = {
        .key = device_key,
        .key_len = sizeof device_key,
        .plan = TFHE_SBC_PLAN_BALANCED,
        .expander = TFHE_SBC_EXPANDER_CHACHA20,
        .entropy = board_entropy,
        .workspace = workspace,
        .workspace_len = sizeof workspace,
    };
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < BITS; i++)
        bits[i] = i % 3 == 0; /* your readings */

    int32_t status = tfhe_sbc_encryptor_init(&encryptor, &options);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_encrypt_bits_to(&encryptor, bits, BITS, send, &hash);
    tfhe_sbc_encryptor_wipe(&encryptor);

    if (status != TFHE_SBC_STATUS_OK) {
        board_print(tfhe_sbc_error_text(status));
        board_print("\n");
        return 1;
    }
    print_hash(hash);
    return 0;
}
