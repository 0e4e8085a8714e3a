/* The encoder in C. A product has its own key here, and a store that survives a loss of power. */
#include "encoder.h"

#include "../../crates/frames/c/tfhe_sbc_frames.h"

/* The board of docs/frames.md. Its key is known to everybody. */
static const tfhe_sbc_frames_board board = {
    .frames = 1000,
    .columns = 1,
    .rows = 24,
    .id = {0x70, 0xb3, 0xd5, 0x7e, 0xd0, 0x00, 0x12, 0x34},
    .key = {0x01, 0x06, 0x0f, 0x14, 0x1d, 0x22, 0x2b, 0x30, 0x39, 0x3e, 0x47,
            0x4c, 0x55, 0x5a, 0x63, 0x68, 0x71, 0x76, 0x7f, 0x84, 0x8d, 0x92,
            0x9b, 0xa0, 0xa9, 0xae, 0xb7, 0xbc, 0xc5, 0xca, 0xd3, 0xd8},
    .column = {{.bits = 12, .width = 13}},
};

static tfhe_sbc_frames frames;
static uint32_t stored = 365;

/* A real store is in flash. */
static int store(void *context, uint32_t limit) {
    *(uint32_t *)context = limit;
    return 0;
}

int encoder_open(void) {
    return tfhe_sbc_frames_open(&frames, &board, stored, 16, store, &stored);
}

int encoder_encode(const uint16_t *codes, uint8_t *out) {
    return tfhe_sbc_frames_encode(&frames, codes, out);
}

uint32_t encoder_state_bytes(void) { return sizeof frames; }
