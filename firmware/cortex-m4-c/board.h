/* The functions that the board supplies to the program. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* Prints a text. */
void board_print(const char *text);

/* Ends the program: 0 is success. */
void board_exit(int status);

/* A source of entropy, a tfhe_sbc_entropy. EVERY BOARD MUST SUPPLY ITS OWN: see board.c. */
int board_entropy(void *context, uint8_t *out, size_t len);

#endif
