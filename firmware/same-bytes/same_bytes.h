/* What same_bytes.c needs of the board it runs on, and what its parts share. */
#ifndef SAME_BYTES_H
#define SAME_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Encrypts with every key and memory plan and prints a line about each. Gives 0, or 1 if
 * something failed. */
int same_bytes(void);

/* The part of CKKS, with a workspace. */
int same_bytes_ckks(void *workspace, size_t workspace_len);

/* Prints a text. The board has it. */
void board_print(const char *text);

/* Bytes that everybody knows, of SplitMix64. */
int known_entropy(void *context, uint8_t *out, size_t len);

/* FNV-1a. */
struct hash {
    size_t len;
    uint64_t value;
};

#define HASH_INIT { 0, UINT64_C(0xcbf29ce484222325) }

int hash_piece(void *context, const uint8_t *piece, size_t len);

/* Prints the line of a session, and gives 1 if its status is an error. */
int print_line(const char *name, const char *kind, uint32_t plan, int32_t status,
               const struct hash *hash);

#endif
