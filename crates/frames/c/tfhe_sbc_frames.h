/* Frames of masked readings, for boards and radios that are too small for ciphertexts.
 *
 * Add tfhe_sbc_frames.c to your program: C99 without a library, an allocator or 64-bit integers
 * other than those of SipHash. docs/frames.md describes the frames byte by byte.
 *
 * Codes are constant-time: no branch and no address depends on one, unless it has too many bits. */
#ifndef TFHE_SBC_FRAMES_H
#define TFHE_SBC_FRAMES_H

#include <stdint.h>

/* The most bits that a code and its headroom have together, 16 or 32. All files of a program must
 * agree. */
#ifndef TFHE_SBC_FRAMES_WIDTH
#define TFHE_SBC_FRAMES_WIDTH 16
#endif

#if TFHE_SBC_FRAMES_WIDTH == 16
typedef uint16_t tfhe_sbc_code;
#elif TFHE_SBC_FRAMES_WIDTH == 32
typedef uint32_t tfhe_sbc_code;
#else
#error "TFHE_SBC_FRAMES_WIDTH is 16 or 32"
#endif

#define TFHE_SBC_FRAMES_MAX_COLUMNS 16

/* A column: codes of `bits` bits, `width` bits together with their headroom. */
typedef struct {
    uint8_t bits;
    uint8_t width;
} tfhe_sbc_frames_column;

/* What the key owner made for this board. It may lie in flash. */
typedef struct {
    uint32_t frames;  /* the number of frames that there are pads for */
    uint8_t named;    /* 1 if the id travels, 0 if the network names the board */
    uint8_t columns;  /* 1 to TFHE_SBC_FRAMES_MAX_COLUMNS */
    uint8_t rows;     /* the number of rows of a frame, 1 or more */
    uint8_t id[8];    /* the device id */
    uint8_t key[32];  /* SECRET, and of this board alone */
    tfhe_sbc_frames_column column[TFHE_SBC_FRAMES_MAX_COLUMNS];
} tfhe_sbc_frames_board;

/* Stores the limit of the counter, a number larger than all before, and returns 0 once it will
 * survive a loss of power. If power fails before, the store may have this number or the one before.
 * Anything but 0 means that it is not stored. */
typedef int (*tfhe_sbc_frames_store)(void *context, uint32_t limit);

/* The state of an encoder. Do not copy it: a copy would use pads twice. */
typedef struct {
    const tfhe_sbc_frames_board *board;
    tfhe_sbc_frames_store store;
    void *context;
    uint32_t next;
    uint32_t limit;
    uint16_t leap;
    uint8_t mac_key[16];
} tfhe_sbc_frames;

/* Why there is no frame. */
enum {
    TFHE_SBC_FRAMES_BOARD = -1,     /* the board's data are not possible, or too wide for this build */
    TFHE_SBC_FRAMES_CODE = -2,      /* a code has more bits than its column */
    TFHE_SBC_FRAMES_EXHAUSTED = -3, /* all pads are used: the board needs new ones */
    TFHE_SBC_FRAMES_STORE = -4      /* the counter cannot be stored, so it is not used */
};

/* Opens an encoder when the board starts. `limit` is the number in the store: 0 was written there, once,
 * together with the key. A board whose store is empty or unreadable MUST NOT open an encoder with any
 * number: it has lost its counter and needs new pads.
 *
 * The store is written once for `leap` frames, and a start skips up to as many. Returns 0, or
 * TFHE_SBC_FRAMES_BOARD. */
int tfhe_sbc_frames_open(tfhe_sbc_frames *frames, const tfhe_sbc_frames_board *board,
                         uint32_t limit, uint16_t leap, tfhe_sbc_frames_store store,
                         void *context);

/* The length of a frame. */
uint16_t tfhe_sbc_frames_bytes(const tfhe_sbc_frames_board *board);

/* Makes a frame of its codes, row by row, in `out`, which has room for tfhe_sbc_frames_bytes(board)
 * bytes. Returns its length, or why there is none, and then no counter was used.
 *
 * To send a frame again, send the same bytes. */
int tfhe_sbc_frames_encode(tfhe_sbc_frames *frames, const tfhe_sbc_code *codes, uint8_t *out);

#endif
