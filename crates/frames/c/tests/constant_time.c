/* The encoder in C on Valgrind's memcheck, with key and codes marked as secret: no branch and no address may
 * depend on them. `cargo xtask ct` compiles and runs this program. */
#include "tfhe_sbc_frames.h"

#include <stdio.h>
#include <string.h>
#include <valgrind/memcheck.h>

enum { ROWS = 13, COLUMNS = 2, BITS = 12 };

static int store(void *context, uint32_t limit) {
    *(uint32_t *)context = limit;
    return 0;
}

/* Returns the number of bytes with a bit that depends on a secret. */
static unsigned undefined_bytes(const uint8_t *bytes, unsigned len) {
    unsigned count = 0;
    for (unsigned at = 0; at < len; at++) {
        uint8_t bits = 0;
        VALGRIND_GET_VBITS(bytes + at, &bits, 1);
        count += bits != 0;
    }
    return count;
}

static int encodes(uint8_t named) {
    tfhe_sbc_frames_board board;
    memset(&board, 0, sizeof board);
    board.frames = 100;
    board.named = named;
    board.columns = COLUMNS;
    board.rows = ROWS;
    for (int column = 0; column < COLUMNS; column++) {
        board.column[column].bits = BITS;
        board.column[column].width = BITS + 1;
    }
    memset(board.key, 0x5a, sizeof board.key);
    VALGRIND_MAKE_MEM_UNDEFINED(board.key, sizeof board.key);

    /* A code with more bits is refused, so the bits above are public. */
    tfhe_sbc_code codes[ROWS * COLUMNS];
    const tfhe_sbc_code secret = (1 << BITS) - 1;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        codes[i] = (tfhe_sbc_code)(i * 97 & secret);
        VALGRIND_SET_VBITS(&codes[i], &secret, sizeof secret);
    }

    uint32_t limit = 0;
    uint8_t out[128];
    tfhe_sbc_frames frames;
    const unsigned len = tfhe_sbc_frames_bytes(&board);
    if (len > sizeof out || tfhe_sbc_frames_open(&frames, &board, limit, 8, store, &limit) != 0 ||
        tfhe_sbc_frames_encode(&frames, codes, out) < 0)
        return 1;
    /* The masked codes and the tag, of 8 bytes. */
    return undefined_bytes(out, len) < ROWS * COLUMNS * (BITS + 1) / 8 + 8;
}

int main(void) {
    if (!RUNNING_ON_VALGRIND) {
        fprintf(stderr, "this program asks Valgrind: run it with cargo xtask ct\n");
        return 2;
    }
    if (encodes(0) || encodes(1)) {
        printf("FAILED frames in C: no frame, or one that does not depend on the secrets\n");
        return 1;
    }
    const unsigned found = VALGRIND_COUNT_ERRORS;
    if (found != 0) {
        printf("FAILED frames in C: %u branches or addresses depended on a secret\n", found);
        return 1;
    }
    volatile uint8_t key = 1;
    VALGRIND_MAKE_MEM_UNDEFINED((uint8_t *)&key, sizeof key);
    if (key)
        key = 2;
    if (VALGRIND_COUNT_ERRORS == 0) {
        printf("FAILED frames in C: the planted leak was not found, so the check is blind\n");
        return 1;
    }
    return 0;
}
