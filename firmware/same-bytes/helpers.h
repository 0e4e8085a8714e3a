/* Helpers that all sessions of these programs share. */
#ifndef HELPERS_H
#define HELPERS_H

#include <stddef.h>
#include <stdint.h>

/* Fills out with the bytes of SplitMix64 from the state in context, a uint64_t: known to everybody,
 * for tests alone. */
int known_entropy(void *context, uint8_t *out, size_t len);

/* The length and the FNV-1a hash of a message. */
struct hash {
    size_t len;
    uint64_t value;
};

#define HASH_INIT { 0, UINT64_C(0xcbf29ce484222325) }

/* Adds a piece of a message to the hash in context. */
int hash_piece(void *context, const uint8_t *piece, size_t len);

/* Prints the line of a session. Returns 1 if its status is an error, otherwise 0. */
int print_line(const char *name, const char *kind, uint32_t plan, int32_t status,
               const struct hash *hash);

#endif
