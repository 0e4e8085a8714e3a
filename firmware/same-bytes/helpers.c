/* The entropy, the hash and the printed line of every session. */
#include "helpers.h"

#include "same_bytes.h"
#include "tfhe_sbc.h"

int known_entropy(void *context, uint8_t *out, size_t len) {
    uint64_t *state = context;
    for (size_t i = 0; i < len; i++) {
        uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
        word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
        out[i] = (uint8_t)(word ^ (word >> 31));
    }
    return 0;
}

int hash_piece(void *context, const uint8_t *piece, size_t len) {
    struct hash *hash = context;
    hash->len += len;
    for (size_t i = 0; i < len; i++)
        hash->value = (hash->value ^ piece[i]) * UINT64_C(0x100000001b3);
    return 0;
}

static void print_number(uint64_t number, unsigned base, int digits) {
    char text[21];
    char *at = text + sizeof text - 1;
    *at = 0;
    for (; number != 0 || digits > 0; digits--) {
        *--at = "0123456789abcdef"[number % base];
        number /= base;
    }
    board_print(at);
}

int print_line(const char *name, const char *kind, uint32_t plan, int32_t status,
               const struct hash *hash) {
    static const char *const plans[] = {" small ", " balanced ", " fast "};
    board_print(name);
    board_print(" ");
    board_print(kind);
    board_print(plans[plan]);
    if (status == TFHE_SBC_STATUS_OK) {
        print_number(hash->len, 10, 1);
        board_print(" ");
        print_number(hash->value, 16, 16);
    } else {
        board_print(tfhe_sbc_error_text(status));
    }
    board_print("\n");
    return status != TFHE_SBC_STATUS_OK;
}
