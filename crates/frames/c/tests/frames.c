/* A test of the encoder in C. Without arguments it checks refusals and the counter. With arguments it
 * prints one frame in hexadecimal digits:
 *     frames KEY ID NAMED ROWS COUNTER COLUMNS (BITS WIDTH)… CODE… */
#include "tfhe_sbc_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);          \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

/* A store in memory, which can fail. */
struct memory {
    uint32_t limit;
    int writes;
    int fails;
};

static int store(void *context, uint32_t limit) {
    struct memory *memory = context;
    if (memory->fails)
        return 1;
    CHECK(limit > memory->limit);
    memory->limit = limit;
    memory->writes++;
    return 0;
}

static uint32_t counter_of(const uint8_t *frame) {
    return frame[0] | (uint32_t)frame[1] << 8 | (uint32_t)frame[2] << 16 | (uint32_t)frame[3] << 24;
}

static tfhe_sbc_frames_board a_board(void) {
    tfhe_sbc_frames_board board;
    memset(&board, 0, sizeof board);
    board.columns = 1;
    board.rows = 24;
    board.frames = 100;
    board.column[0].bits = 12;
    board.column[0].width = 13;
    return board;
}

static void checks_boards(void) {
    tfhe_sbc_frames frames;
    struct memory memory = {0, 0, 0};
    for (int wrong = 0; wrong < 7; wrong++) {
        tfhe_sbc_frames_board board = a_board();
        switch (wrong) {
        case 0: board.columns = 0; break;
        case 1: board.columns = TFHE_SBC_FRAMES_MAX_COLUMNS + 1; break;
        case 2: board.rows = 0; break;
        case 3: board.column[0].bits = 0; break;
        case 4: board.column[0].bits = 14; break;
        case 5: board.column[0].width = TFHE_SBC_FRAMES_WIDTH + 1; break;
        default: break;
        }
        int status = tfhe_sbc_frames_open(&frames, &board, 0, 1, store, &memory);
        CHECK(status == (wrong < 6 ? TFHE_SBC_FRAMES_BOARD : 0));
    }
}

static void checks_counters(void) {
    const tfhe_sbc_frames_board board = a_board();
    tfhe_sbc_code codes[24] = {0};
    uint8_t out[51];
    struct memory memory = {0, 0, 0};
    tfhe_sbc_frames frames;
    CHECK(tfhe_sbc_frames_bytes(&board) == sizeof out);
    CHECK(tfhe_sbc_frames_open(&frames, &board, memory.limit, 8, store, &memory) == 0);

    /* Refusals use no counter. */
    codes[23] = 4096;
    CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == TFHE_SBC_FRAMES_CODE);
    codes[23] = 4095;
    memory.fails = 1;
    CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == TFHE_SBC_FRAMES_STORE);
    CHECK(memory.writes == 0);
    memory.fails = 0;

    /* The store is ahead of every counter, and written once a leap. */
    for (uint32_t counter = 0; counter < 20; counter++) {
        CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == (int)sizeof out);
        CHECK(counter_of(out) == counter && counter < memory.limit);
    }
    CHECK(memory.writes == 3 && memory.limit == 24);

    /* A new start goes on behind the leap, up to the last pad. */
    CHECK(tfhe_sbc_frames_open(&frames, &board, memory.limit, 50, store, &memory) == 0);
    for (uint32_t counter = 24; counter < 100; counter++) {
        CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == (int)sizeof out);
        CHECK(counter_of(out) == counter);
    }
    CHECK(memory.limit == 100);
    CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == TFHE_SBC_FRAMES_EXHAUSTED);
    CHECK(tfhe_sbc_frames_open(&frames, &board, UINT32_MAX, 50, store, &memory) == 0);
    CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == TFHE_SBC_FRAMES_EXHAUSTED);
}

static void parse_hex(const char *text, uint8_t *out, size_t len) {
    CHECK(strlen(text) == 2 * len);
    for (size_t i = 0; i < len; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static unsigned long number(char ***arguments) { return strtoul(*(*arguments)++, NULL, 10); }

int main(int argc, char **argv) {
    if (argc == 1) {
        checks_boards();
        checks_counters();
        return 0;
    }
    CHECK(argc > 6);
    tfhe_sbc_frames_board board;
    struct memory memory = {0, 0, 0};
    tfhe_sbc_frames frames;
    char **argument = argv + 3;
    parse_hex(argv[1], board.key, sizeof board.key);
    parse_hex(argv[2], board.id, sizeof board.id);
    board.named = (uint8_t)number(&argument);
    board.rows = (uint8_t)number(&argument);
    memory.limit = (uint32_t)number(&argument);
    board.columns = (uint8_t)number(&argument);
    board.frames = 1000;
    for (int i = 0; i < board.columns; i++) {
        board.column[i].bits = (uint8_t)number(&argument);
        board.column[i].width = (uint8_t)number(&argument);
    }
    const int count = board.rows * board.columns;
    CHECK(argv + argc - argument == count);
    /* Exactly as large as they have to be, so that a sanitizer sees every step beyond. */
    tfhe_sbc_code *codes = malloc((size_t)count * sizeof *codes);
    const size_t len = tfhe_sbc_frames_bytes(&board);
    uint8_t *out = malloc(len);
    CHECK(codes != NULL && out != NULL);
    for (int i = 0; i < count; i++)
        codes[i] = (tfhe_sbc_code)number(&argument);
    CHECK(tfhe_sbc_frames_open(&frames, &board, memory.limit, 1, store, &memory) == 0);
    CHECK(tfhe_sbc_frames_encode(&frames, codes, out) == (int)len);
    for (size_t i = 0; i < len; i++)
        printf("%02x", out[i]);
    printf("\n");
    free(codes);
    free(out);
    return 0;
}
