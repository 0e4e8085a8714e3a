"""Parameter sets and keys, and the phases of ciphertexts under them."""

import struct

from blake import blake3
from expanders import mask_stream
from messages import bit_fields

BOOLEAN, RADIX = 1, 2
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
    return phase_under(key.glwe, key.parameters.polynomial_size, mask, body)


def phase_under(secret, size, mask, body):
    """Body minus mask times the coefficients of a secret; not reduced mod q."""
    phase = list(body) + [0] * (size - len(body))
    for start in range(0, len(secret), size):
        part = slice(start, start + size)
        phase = [x - y for x, y in zip(phase, negacyclic_product(mask[part], secret[part]))]
    return phase[: len(body)]


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
