/* The interface between these programs and the board that they run on: the board calls same_bytes,
 * and supplies board_print. */
#ifndef SAME_BYTES_H
#define SAME_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Encrypts with every key and memory plan and prints a line about each. Returns 0, or 1 if
 * something failed. */
int same_bytes(void);

/* Does the same with the keys of CKKS, in the given workspace. */
int same_bytes_ckks(void *workspace, size_t workspace_len);

/* Prints a text. The board supplies it. */
void board_print(const char *text);

#endif
