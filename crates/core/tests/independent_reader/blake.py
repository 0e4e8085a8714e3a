"""BLAKE3, and BLAKE2Xb of unknown output length."""

import hashlib
import struct

from words import MASK32, rotate_left

BLAKE3_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
BLAKE3_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)


def blake3_compress(chaining, block, counter, flags):
    """The 16 words of a compression of at most 64 bytes."""
    m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    v = list(chaining + BLAKE3_IV[:4] + (counter & MASK32, counter >> 32, len(block), flags))

    def mix(a, b, c, d, x, y):
        v[a] = (v[a] + v[b] + x) & MASK32
        v[d] = rotate_left(v[d] ^ v[a], 16)
        v[c] = (v[c] + v[d]) & MASK32
        v[b] = rotate_left(v[b] ^ v[c], 20)
        v[a] = (v[a] + v[b] + y) & MASK32
        v[d] = rotate_left(v[d] ^ v[a], 24)
        v[c] = (v[c] + v[d]) & MASK32
        v[b] = rotate_left(v[b] ^ v[c], 25)

    for _ in range(7):
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[i] for i in BLAKE3_PERMUTATION]
    return tuple(v[i] ^ v[i + 8] for i in range(8)) + tuple(v[i + 8] ^ chaining[i] for i in range(8))


CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED_HASH, DERIVE_KEY_CONTEXT, DERIVE_KEY_MATERIAL = (1 << i for i in range(7))


def blake3_node(data, number, key, mode):
    """What the last compression of a subtree takes: that of one chunk, or of the two halves of several.

    `number` is that of the first chunk."""
    if len(data) > 1024:
        # The left half is the largest power of two of whole chunks that leaves something.
        chunks = 1 << (((len(data) - 1) // 1024).bit_length() - 1)
        left = blake3_node(data[: 1024 * chunks], number, key, mode)
        right = blake3_node(data[1024 * chunks :], number + chunks, key, mode)
        block = b"".join(struct.pack("<8I", *blake3_compress(*half)[:8]) for half in (left, right))
        return key, block, 0, mode | PARENT
    chaining, flags = key, mode | CHUNK_START
    while len(data) > 64:
        chaining = blake3_compress(chaining, data[:64], number, flags)[:8]
        data, flags = data[64:], mode
    return chaining, data, number, flags | CHUNK_END


def blake3_output(data, length, key=BLAKE3_IV, mode=0):
    """The extendable output of a mode whose key is given as words."""
    chaining, block, _, flags = blake3_node(data, 0, key, mode)
    blocks = (blake3_compress(chaining, block, i, flags | ROOT) for i in range((length + 63) // 64))
    return b"".join(struct.pack("<16I", *words) for words in blocks)[:length]


def blake3(data):
    """The 32-byte hash."""
    return blake3_output(data, 32)


def blake3_keyed_output(key, data, length):
    """The extendable output of the mode `keyed_hash`."""
    return blake3_output(data, length, struct.unpack("<8I", key), KEYED_HASH)


def blake3_derive_key(context, data, length):
    """The extendable output of the mode `derive_key`."""
    key = struct.unpack("<8I", blake3_output(context.encode("ascii"), 32, mode=DERIVE_KEY_CONTEXT))
    return blake3_output(data, length, key, DERIVE_KEY_MATERIAL)


MASK64 = 0xFFFFFFFFFFFFFFFF
BLAKE2B_IV = (
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
)  # fmt: skip
BLAKE2B_SIGMA = [
    [int(digit, 16) for digit in row]
    for row in (
        "0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 905724afe1bc683d"
        " 2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a 6fe9b308c2d714a5 a2847615fb9e3cd0"
    ).split()
]


def blake2xb_node(root, number):
    """BLAKE2b of 64 bytes as a node of an output of unknown length; hashlib refuses depth 0."""
    parameters = struct.pack("<BBBBIIIBB46x", 64, 0, 0, 0, 64, number, MASK32, 0, 64)
    h = [x ^ y for x, y in zip(BLAKE2B_IV, struct.unpack("<8Q", parameters))]
    m = struct.unpack("<8Q", root) + (0,) * 8
    v = h + list(BLAKE2B_IV)
    v[12] ^= 64
    v[14] ^= MASK64

    def turn(x, right):
        return (x >> right | x << (64 - right)) & MASK64

    def mix(a, b, c, d, x, y):
        v[a] = (v[a] + v[b] + x) & MASK64
        v[d] = turn(v[d] ^ v[a], 32)
        v[c] = (v[c] + v[d]) & MASK64
        v[b] = turn(v[b] ^ v[c], 24)
        v[a] = (v[a] + v[b] + y) & MASK64
        v[d] = turn(v[d] ^ v[a], 16)
        v[c] = (v[c] + v[d]) & MASK64
        v[b] = turn(v[b] ^ v[c], 63)

    for turn_number in range(12):
        s = BLAKE2B_SIGMA[turn_number % 10]
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]])
    return struct.pack("<8Q", *(h[i] ^ v[i] ^ v[i + 8] for i in range(8)))


def blake2xb(key, data, length):
    """BLAKE2X's output of unknown length: the XOF length is the upper half of the node offset."""
    root = hashlib.blake2b(data, key=key, digest_size=64, node_offset=MASK32 << 32).digest()
    return b"".join(blake2xb_node(root, i) for i in range((length + 63) // 64))[:length]
