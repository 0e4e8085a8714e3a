"""Reads tfhe-sbc's files from their description in docs/wire-format.md alone.

Usage: independent_reader.py SECRET_KEY DEVICE_KEY MESSAGES...

What the device key made is read with it; a switch key is that device key's if it decrypts
to it. Python's standard library only, and none of the Rust code: what both make of a file is
the same only if the description is right. Prints a line for each key and message:

    secret_key NAME PARAMETER_FINGERPRINT KEY_FINGERPRINT
    device_key shared
    device_key DEVICE EPOCH KEY_FINGERPRINT
    device_switch_key DEVICE EPOCH KEY_FINGERPRINT
    device_public_key EXPANDER
    seeded_glwe_list EXPANDER PLAINTEXT...
    glwe_list PLAINTEXT...
    seeded_column_list EXPANDER SEGMENT...
    column_list SEGMENT...
    lwe_list PLAINTEXT...
    metadata HEX

A segment is `radix PLAINTEXT...`, or `compact BITS HEADROOM BODY_BITS ROUNDING CODE...`.
"""

import hashlib
import struct
import sys
import zlib

MASK32 = 0xFFFFFFFF
KINDS = {
    1: "metadata",
    2: "seeded_glwe_list",
    3: "lwe_list",
    4: "secret_key",
    5: "device_key",
    6: "server_key",
    7: "device_public_key",
    8: "glwe_list",
    9: "device_switch_key",
    10: "card",
    11: "seeded_column_list",
    12: "column_list",
}
SEEDED = {2, 6, 7, 9, 11}
EXPANDERS = {1: "ChaCha20", 2: "AES-128-CTR", 3: "BLAKE2Xb", 4: "BLAKE3", 5: "SHAKE256", 6: "AES-128-CTR-LE"}
BOOLEAN, RADIX = 1, 2


def rotate_left(x, by):
    return (x << by | x >> (32 - by)) & MASK32


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


def blake3(data):
    """The 32-byte hash of at most 1024 bytes: one chunk."""
    assert len(data) <= 1024
    chaining = BLAKE3_IV
    blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        flags = (1 if number == 0 else 0) | (2 | 8 if last else 0)
        chaining = blake3_compress(chaining, block, 0, flags)[:8]
    return struct.pack("<8I", *chaining)


def blake3_keyed_output(key, block, length):
    """The extendable output of at most 64 bytes of input."""
    key = struct.unpack("<8I", key)
    blocks = (blake3_compress(key, block, i, 1 | 2 | 8 | 16) for i in range((length + 63) // 64))
    return b"".join(struct.pack("<16I", *words) for words in blocks)[:length]


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


def mask_stream(expander, seed, stream, length):
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


class Message:
    """One message: the 100-byte header, its payload and the checksum."""

    def __init__(self, data, at):
        header = data[at : at + 100]
        (
            magic,
            version,
            kind,
            flags,
            self.parameter_fingerprint,
            self.key_fingerprint,
            self.polynomial_size,
            self.dimension,
            self.torus_bits,
            self.body_bits,
            self.plaintext,
            self.expander,
            self.message_bits,
            self.carry_bits,
            self.mask_bits,
            reserved,
            self.element_count,
            self.mask_seed,
            payload_len,
        ) = struct.unpack("<4sHBB16s16sIIBBBBBBBBI32sQ", header)
        assert magic == b"TSBC" and version == 1 and kind in KINDS and reserved == 0
        assert flags == (1 if kind in SEEDED else 0)
        self.kind = KINDS[kind]
        self.end = at + 104 + payload_len
        self.payload = data[at + 100 : self.end - 4]
        assert len(self.payload) == payload_len
        (checksum,) = struct.unpack("<I", data[self.end - 4 : self.end])
        assert zlib.crc32(data[at : self.end - 4]) == checksum


def messages(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        message = Message(data, at)
        at = message.end
        yield message


PARAMETERS_BYTES = 140


class Parameters:
    """The canonical bytes of a parameter set."""

    def __init__(self, data):
        (
            name,
            self.torus_bits,
            self.lwe_dimension,
            _lwe_block_size,
            _lwe_noise_kind,
            _lwe_noise,
            self.glwe_dimension,
            self.polynomial_size,
            _glwe_noise_kind,
            _glwe_noise,
            _pbs_base_log,
            _pbs_levels,
            _pbs_body_base_log,
            _pbs_body_levels,
            _key_switch_base_log,
            _key_switch_levels,
            self.plaintext,
            self.message_bits,
            self.carry_bits,
            _max_noise_level,
            modulus_switch,
            self.body_bits,
            self.public_key_mask_bits,
            _log2_p_fail,
            _security_bits,
        ) = struct.unpack("<32sIIII8sIII8s6I5IHHdd", data)
        # Upper half: how coefficients of the GLWE key are distributed.
        self.glwe_key_bits = {0: 1, 1: 2}[modulus_switch >> 16]
        assert modulus_switch & 0xFFFF in (0, 1)
        self.name = name.rstrip(b"\0").decode("ascii")
        self.fingerprint = blake3(data)[:16]


def bit_fields(data, bits, count):
    """`count` fields of `bits` bits, least significant bit first; zeros behind."""
    whole = int.from_bytes(data, "little")
    assert len(data) == (bits * count + 7) // 8 and whole >> (bits * count) == 0
    return [whole >> (i * bits) & ((1 << bits) - 1) for i in range(count)]


def binding(data, fingerprint):
    """Key set, device and epoch of a device's key, and what follows them."""
    key_set, device, epoch = struct.unpack("<16s16sI", data[:36])
    shared = key_set == fingerprint
    assert shared == (device == bytes(16)) == (epoch == 0)
    name = device.rstrip(b"\0").decode("ascii")
    assert shared or all("!" <= c <= "~" for c in name)
    return key_set, name, epoch, data[36:]


class Key:
    def __init__(self, message):
        self.parameters = p = Parameters(message.payload[:PARAMETERS_BYTES])
        assert p.fingerprint == message.parameter_fingerprint
        self.fingerprint = self.key_set = message.key_fingerprint
        rest = message.payload[PARAMETERS_BYTES:]
        if message.kind == "device_key":
            self.key_set, self.device, self.epoch, rest = binding(rest, self.fingerprint)
        glwe_len = p.glwe_dimension * p.polynomial_size * p.glwe_key_bits // 8
        fields = bit_fields(rest[:glwe_len], p.glwe_key_bits, p.glwe_dimension * p.polynomial_size)
        value = [{0: 0, 1: 1}, {0: 0, 1: 1, 3: -1}][p.glwe_key_bits - 1]
        self.glwe = [value[field] for field in fields]
        if message.kind == "secret_key":
            self.lwe = bit_fields(rest[glwe_len:], 1, p.lwe_dimension)
        else:
            assert len(rest) == glwe_len


def negacyclic_product(a, b):
    """`a · b mod X^N + 1` over the integers, `a` not negative, by one product of big integers."""
    if min(b) < 0:
        halves = ([max(x, 0) for x in b], [max(-x, 0) for x in b])
        return [x - y for x, y in zip(*(negacyclic_product(a, half) for half in halves))]
    pack = lambda values: int.from_bytes(b"".join(x.to_bytes(12, "little") for x in values), "little")
    size = len(a)
    product = (pack(a) * pack(b)).to_bytes(24 * size, "little")
    coefficient = lambda i: int.from_bytes(product[12 * i : 12 * i + 12], "little")
    return [coefficient(i) - coefficient(i + size) for i in range(size)]


def decode(key, phase, torus_bits):
    p = key.parameters
    phase %= 1 << torus_bits
    if p.plaintext == BOOLEAN:
        return 1 if phase >> (torus_bits - 1) == 0 else 0
    assert p.plaintext == RADIX
    bits = 1 + p.message_bits + p.carry_bits
    return (phase + (1 << (torus_bits - bits - 1)) >> (torus_bits - bits)) % (1 << bits)


def check_belongs(message, key, dimension, torus_bits, body_bits):
    p = key.parameters
    assert message.parameter_fingerprint == p.fingerprint
    assert message.key_fingerprint == key.fingerprint
    assert message.dimension == dimension
    assert (message.torus_bits, message.body_bits) == (torus_bits, body_bits)
    assert (message.plaintext, message.message_bits, message.carry_bits) == (p.plaintext, p.message_bits, p.carry_bits)


def glwe_phase(key, expander, seed, stream, body):
    """Body minus mask times key, for the mask of a stream; not reduced mod q."""
    p = key.parameters
    scalars = p.glwe_dimension * p.polynomial_size
    stream_bytes = mask_stream(expander, seed, stream, scalars * p.torus_bits // 8)
    return masked_phase(key, torus_scalars(p, stream_bytes), body)


def torus_scalars(parameters, data):
    width = parameters.torus_bits // 8
    return struct.unpack("<%d%s" % (len(data) // width, "I" if width == 4 else "Q"), data)


def masked_phase(key, mask, body):
    p = key.parameters
    size = p.polynomial_size
    phase = list(body) + [0] * (size - len(body))
    for c in range(p.glwe_dimension):
        part = slice(c * size, (c + 1) * size)
        phase = [x - y for x, y in zip(phase, negacyclic_product(mask[part], key.glwe[part]))]
    return phase[: len(body)]


def decrypt_seeded_glwe_list(message, key):
    p = key.parameters
    check_belongs(message, key, p.glwe_dimension, p.torus_bits, p.body_bits)
    size = p.polynomial_size
    assert message.polynomial_size == size
    plaintexts, at, stream = [], 0, 0
    while len(plaintexts) < message.element_count:
        used = min(size, message.element_count - len(plaintexts))
        packed = (used * p.body_bits + 7) // 8
        body = bit_fields(message.payload[at : at + packed], p.body_bits, used)
        at += packed
        body = [x << (p.torus_bits - p.body_bits) for x in body]
        phase = glwe_phase(key, message.expander, message.mask_seed, stream, body)
        plaintexts += [decode(key, x, p.torus_bits) for x in phase]
        stream += 1
    assert at == len(message.payload)
    return plaintexts


def check_device_switch_key(message, secret, device):
    """Every row encrypts, under the secret key, its multiple of the device's key."""
    p = secret.parameters
    assert message.parameter_fingerprint == p.fingerprint
    assert message.payload[:PARAMETERS_BYTES] == device.payload[:PARAMETERS_BYTES]
    key_set, name, epoch, rest = binding(message.payload[PARAMETERS_BYTES:], message.key_fingerprint)
    assert (key_set, message.key_fingerprint) == (secret.fingerprint, device.fingerprint)
    assert (name, epoch) == (device.device, device.epoch)
    size = p.polynomial_size
    assert (message.polynomial_size, message.dimension) == (size, p.glwe_dimension)
    assert (message.torus_bits, message.expander) == (p.torus_bits, 1)
    levels = len(rest) // (p.glwe_dimension * size * p.torus_bits // 8)
    base_log = {64: {5: 8, 2: 12}, 32: {2: 8}}[p.torus_bits][levels]
    bodies = struct.unpack("<%d%s" % (p.glwe_dimension * levels * size, "I" if p.torus_bits == 32 else "Q"), rest)
    q = 1 << p.torus_bits
    for row in range(p.glwe_dimension * levels):
        i, r = divmod(row, levels)
        phase = glwe_phase(secret, 1, message.mask_seed, row, bodies[row * size : (row + 1) * size])
        weight = q >> (base_log * (levels - r))
        for x, s in zip(phase, device.glwe[i * size : (i + 1) * size]):
            error = (x - s * weight + q // 2) % q - q // 2
            # The weight of the least of five digits is below the noise of some sets.
            assert abs(error) < max(weight // 8, q >> 32)
    return [name, epoch, message.key_fingerprint.hex()]


def decrypt_glwe_list(message, key):
    p = key.parameters
    check_belongs(message, key, p.glwe_dimension, p.torus_bits, p.body_bits)
    size, mask_bits = p.polynomial_size, p.public_key_mask_bits
    assert message.polynomial_size == size and message.mask_bits == mask_bits > 0
    assert message.expander == 0 and message.mask_seed == bytes(32)
    plaintexts, at = [], 0
    while len(plaintexts) < message.element_count:
        fields = []
        used = min(size, message.element_count - len(plaintexts))
        for bits, count in ((mask_bits, p.glwe_dimension * size), (p.body_bits, used)):
            packed = message.payload[at : at + (count * bits + 7) // 8]
            fields.append([x << (p.torus_bits - bits) for x in bit_fields(packed, bits, count)])
            at += len(packed)
        plaintexts += [decode(key, x, p.torus_bits) for x in masked_phase(key, *fields)]
    assert at == len(message.payload)
    return plaintexts


def read_segments(payload, parameters):
    """The table of segments, and the place behind it."""
    (segment_count,) = struct.unpack("<H", payload[:2])
    assert 1 <= segment_count <= 1024
    segments = []
    for at in range(2, 2 + 8 * segment_count, 8):
        count, kind, body_bits, bits, headroom = struct.unpack("<IBBBB", payload[at : at + 8])
        assert count > 0
        if kind == 2:
            shape = (parameters.body_bits, parameters.message_bits, parameters.carry_bits)
            assert (body_bits, bits, headroom) == shape
        else:
            assert kind in (3, 4)
            assert 1 <= bits <= 40 and bits + headroom <= 48
            assert bits + headroom < body_bits <= 56
        segments.append((count, kind, body_bits, bits, headroom))
    return segments, 2 + 8 * segment_count


def decode_compact(phase, bits):
    return (phase % (1 << 64) + (1 << (63 - bits)) >> (64 - bits)) % (1 << bits)


def check_feedback(phases, codes, bits, body_bits):
    """With error feedback, the error of every sum from the beginning is that of one rounding."""
    total = 0
    for phase, code in zip(phases, codes):
        total += phase - (code << (64 - bits))
        error = (total + (1 << 63)) % (1 << 64) - (1 << 63)
        assert abs(error) <= 1 << (64 - body_bits)


def decrypt_column_list(message, key):
    """The words of each segment."""
    p = key.parameters
    size, masks = p.polynomial_size, p.glwe_dimension * p.polynomial_size
    assert p.plaintext == RADIX and p.torus_bits == 64
    assert message.parameter_fingerprint == p.fingerprint
    assert message.key_fingerprint == key.fingerprint
    shape = (message.polynomial_size, message.dimension, message.torus_bits)
    assert shape == (size, p.glwe_dimension, 64)
    unused = (message.body_bits, message.plaintext, message.message_bits, message.carry_bits)
    assert unused == (0, 0, 0, 0)
    segments, at = read_segments(message.payload, p)
    assert sum(segment[0] for segment in segments) == message.element_count <= 1 << 22
    seeded = message.kind == "seeded_column_list"
    if seeded:
        assert message.mask_bits == 0
    else:
        assert message.expander == 0 and message.mask_seed == bytes(32)
        needed = [p.public_key_mask_bits if s[1] == 2 else min(64, s[2] + 6) for s in segments]
        assert message.mask_bits == max(needed) and p.public_key_mask_bits > 0
    phases = [[] for _ in segments]
    number, left, stream = 0, segments[0][0], 0
    while number < len(segments):
        if not seeded:
            packed = message.payload[at : at + masks * message.mask_bits // 8]
            at += len(packed)
            shift = 64 - message.mask_bits
            mask = [x << shift for x in bit_fields(packed, message.mask_bits, masks)]
        body, runs = [], []
        while number < len(segments) and len(body) < size:
            run, body_bits = min(left, size - len(body)), segments[number][2]
            packed = message.payload[at : at + (run * body_bits + 7) // 8]
            at += len(packed)
            runs.append((number, len(body), run))
            body += [x << (64 - body_bits) for x in bit_fields(packed, body_bits, run)]
            left -= run
            if left == 0:
                number += 1
                left = segments[number][0] if number < len(segments) else 0
        if seeded:
            phase = glwe_phase(key, message.expander, message.mask_seed, stream, body)
        else:
            phase = masked_phase(key, mask, body)
        for segment, start, run in runs:
            phases[segment] += phase[start : start + run]
        stream += 1
    assert at == len(message.payload)
    words = []
    for (_, kind, body_bits, bits, headroom), phase in zip(segments, phases):
        if kind == 2:
            words += ["radix", *(decode(key, x, 64) for x in phase)]
            continue
        codes = [decode_compact(x, bits + headroom) for x in phase]
        if kind == 4 and seeded:
            check_feedback(phase, codes, bits + headroom, body_bits)
        words += ["compact", bits, headroom, body_bits, {3: "nearest", 4: "feedback"}[kind], *codes]
    return words


def check_device_public_key(message, key):
    """Its rows must be encryptions of zero: of noise below 2^-10 of the torus."""
    p = key.parameters
    assert Parameters(message.payload[:PARAMETERS_BYTES]).fingerprint == message.parameter_fingerprint == p.fingerprint
    assert message.key_fingerprint == key.fingerprint
    shape = (message.polynomial_size, message.dimension, message.torus_bits)
    assert shape == (p.polynomial_size, p.glwe_dimension, p.torus_bits)
    bodies = torus_scalars(p, message.payload[PARAMETERS_BYTES:])
    assert len(bodies) == p.glwe_dimension * p.polynomial_size
    for row in range(p.glwe_dimension):
        body = bodies[row * p.polynomial_size : (row + 1) * p.polynomial_size]
        phase = glwe_phase(key, message.expander, message.mask_seed, row, body)
        limit = 1 << (p.torus_bits - 10)
        assert all((x + limit) % (1 << p.torus_bits) < 2 * limit for x in phase)


def decrypt_lwe_list(message, key):
    n = key.parameters.lwe_dimension
    check_belongs(message, key, n, 32, 32)
    assert message.polynomial_size == 0 and message.expander == 0 and message.mask_seed == bytes(32)
    assert len(message.payload) == message.element_count * (n + 1) * 4
    ciphertexts = struct.iter_unpack("<%dI" % (n + 1), message.payload)
    return [decode(key, c[n] - sum(a for a, s in zip(c, key.lwe) if s), 32) for c in ciphertexts]


def main(secret_path, device_path, *message_paths):
    (secret_message,) = messages(secret_path)
    assert secret_message.kind == "secret_key"
    secret = Key(secret_message)
    print("secret_key", secret.parameters.name, secret.parameters.fingerprint.hex(), secret.fingerprint.hex())

    (device_message,) = messages(device_path)
    assert device_message.kind == "device_key"
    device = Key(device_message)
    device.payload = device_message.payload
    assert device.key_set == secret.fingerprint
    assert device.parameters.fingerprint == secret.parameters.fingerprint
    if device.fingerprint == secret.fingerprint:
        assert device.glwe == secret.glwe
        print("device_key shared")
    else:
        print("device_key", device.device, device.epoch, device.fingerprint.hex())

    for path in message_paths:
        for message in messages(path):
            if message.kind == "seeded_glwe_list":
                print(message.kind, EXPANDERS[message.expander], *decrypt_seeded_glwe_list(message, device))
            elif message.kind == "glwe_list":
                print(message.kind, *decrypt_glwe_list(message, secret))
            elif message.kind == "seeded_column_list":
                print(message.kind, EXPANDERS[message.expander], *decrypt_column_list(message, device))
            elif message.kind == "column_list":
                print(message.kind, *decrypt_column_list(message, secret))
            elif message.kind == "device_public_key":
                check_device_public_key(message, secret)
                print(message.kind, EXPANDERS[message.expander])
            elif message.kind == "device_switch_key":
                print(message.kind, *check_device_switch_key(message, secret, device))
            elif message.kind == "lwe_list":
                print(message.kind, *decrypt_lwe_list(message, secret))
            else:
                print(message.kind, message.payload.hex())


if __name__ == "__main__":
    main(*sys.argv[1:])
