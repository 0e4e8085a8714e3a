"""The generators of masks and noise."""

import hashlib
import struct

from aes import aes128_ctr, aes128_ctr_le
from blake import blake2xb, blake3_keyed_output
from words import MASK32, rotate_left

EXPANDERS = {1: "ChaCha20", 2: "AES-128-CTR", 3: "BLAKE2Xb", 4: "BLAKE3", 5: "SHAKE256", 6: "AES-128-CTR-LE"}


def mask_stream(expander, seed, stream, length):
    """The first bytes of the stream of a number under a mask seed."""
    number = struct.pack("<I", stream)
    if expander == 1:
        return chacha20(seed, number + bytes(8), length)
    if expander == 2:
        return aes128_ctr(seed, stream, length)
    if expander == 3:
        return blake2xb(seed, number, length)
    if expander == 4:
        return blake3_keyed_output(seed, number, length)
    if expander == 5:
        return hashlib.shake_256(seed + number).digest(length)
    assert expander == 6
    return aes128_ctr_le(seed, stream, length)


def chacha20(key, nonce, length):
    """RFC 8439's keystream from block 0."""
    out = bytearray()
    constant_and_key = struct.unpack("<12I", b"expand 32-byte k" + key)
    counter = 0
    while len(out) < length:
        start = constant_and_key + (counter,) + struct.unpack("<3I", nonce)
        s = list(start)

        def quarter(a, b, c, d):
            s[a] = (s[a] + s[b]) & MASK32
            s[d] = rotate_left(s[d] ^ s[a], 16)
            s[c] = (s[c] + s[d]) & MASK32
            s[b] = rotate_left(s[b] ^ s[c], 12)
            s[a] = (s[a] + s[b]) & MASK32
            s[d] = rotate_left(s[d] ^ s[a], 8)
            s[c] = (s[c] + s[d]) & MASK32
            s[b] = rotate_left(s[b] ^ s[c], 7)

        for _ in range(10):
            for i in range(4):
                quarter(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        out += struct.pack("<16I", *((x + y) & MASK32 for x, y in zip(s, start)))
        counter += 1
    return bytes(out[:length])
