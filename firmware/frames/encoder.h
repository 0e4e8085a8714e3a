/* The encoder that main.c measures: encoder.c in C, rust/ in Rust, none.c for the size of a program without
 * one. */
#ifndef ENCODER_H
#define ENCODER_H

#include <stdint.h>

/* Opens an encoder of the board of docs/frames.md, at counter 365. 0 is success. */
int encoder_open(void);

/* Makes a frame of 24 codes and returns its length. */
int encoder_encode(const uint16_t *codes, uint8_t *out);

/* The memory that the encoder keeps between frames, in bytes. */
uint32_t encoder_state_bytes(void);

#endif
