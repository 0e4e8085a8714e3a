/* What same_bytes.c needs of the board it runs on. */
#ifndef SAME_BYTES_H
#define SAME_BYTES_H

/* Encrypts with every key and memory plan and prints a line about each. Gives 0, or 1 if
 * something failed. */
int same_bytes(void);

/* Prints a text. The board has it. */
void board_print(const char *text);

#endif
