"""AES-128 (FIPS 197) in counter mode: big-endian counters, and those of TFHE-rs."""


def double(x):
    return (x << 1 ^ (0x11B if x & 0x80 else 0)) & 0xFF


def aes_s_box():
    box = [0] * 256
    p = q = 1
    while True:
        p ^= double(p)
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        if q & 0x80:
            q ^= 0x09
        turned = 0
        for by in range(5):
            turned ^= q << by | q >> (8 - by)
        box[p] = (turned ^ 0x63) & 0xFF
        if p == 1:
            box[0] = 0x63
            return box


S_BOX = aes_s_box()
DOUBLE = [double(x) for x in range(256)]
SHIFT_ROWS = [(i + 4 * (i % 4)) % 16 for i in range(16)]


def aes128_round_keys(key):
    words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = [S_BOX[x] for x in word[1:] + word[:1]]
            word[0] ^= constant
            constant = double(constant)
        words.append([x ^ y for x, y in zip(words[i - 4], word)])
    return [sum(words[i : i + 4], []) for i in range(0, 44, 4)]


def aes128_encrypt(round_keys, block):
    """FIPS 197."""
    s = [x ^ k for x, k in zip(block, round_keys[0])]
    for number, key in enumerate(round_keys[1:], 1):
        s = [S_BOX[s[i]] for i in SHIFT_ROWS]
        if number < 10:
            mixed = []
            for c in range(0, 16, 4):
                column = s[c : c + 4]
                total = column[0] ^ column[1] ^ column[2] ^ column[3]
                for i in range(4):
                    mixed.append(column[i] ^ total ^ DOUBLE[column[i] ^ column[(i + 1) % 4]])
            s = mixed
        s = [x ^ k for x, k in zip(s, key)]
    return bytes(s)


def aes128_ctr(seed, stream, length):
    subkey = aes128_round_keys(aes128_encrypt(aes128_round_keys(seed[:16]), seed[16:]))
    start = int.from_bytes(seed[16:], "big") + (stream << 64)
    blocks = (
        aes128_encrypt(subkey, ((start + j) % (1 << 128)).to_bytes(16, "big"))
        for j in range((length + 15) // 16)
    )
    return b"".join(blocks)[:length]


def aes128_ctr_le(seed, stream, length):
    number = (int.from_bytes(seed[16:], "little") + stream) % (1 << 128)
    key = aes128_encrypt(aes128_round_keys(seed[:16]), number.to_bytes(16, "little"))
    subkey = aes128_round_keys(key)
    blocks = (aes128_encrypt(subkey, j.to_bytes(16, "little")) for j in range((length + 15) // 16))
    return b"".join(blocks)[:length]
