/* What this board does for the program. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* Prints a text. */
void board_print(const char *text);

/* Ends the program: 0 is success. */
void board_exit(int status);

/* Entropy, as tfhe_sbc_entropy wants it. THE BOARD'S TO SUPPLY: see board.c. */
int board_entropy(void *context, uint8_t *out, size_t len);

#endif
