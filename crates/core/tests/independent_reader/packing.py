"""The packing secret, and packing keys, checked with it."""

import struct

from blake import blake3_derive_key
from expanders import mask_stream
from keys import PARAMETERS_BYTES, Parameters, phase_under
from messages import bit_fields

CONTEXT = "tfhe-sbc 2026-11-23 packing secret of a secret key"
PACKING_PARAMETERS_BYTES = 40


def packing_secret(secret, k, size):
    """The coefficients of the k polynomials."""
    data = struct.pack("<II", k, size)
    for key in (secret.glwe, secret.lwe):
        data += struct.pack("<I", len(key)) + bytes(s % 256 for s in key)
    seed = blake3_derive_key(CONTEXT, data, 32)
    return bit_fields(mask_stream(1, seed, 0, k * size // 8), 1, k * size)


def check_packing_key(message, secret):
    """Every row encrypts its multiple of the small key's coefficient; the words of the packing parameters."""
    p = secret.parameters
    assert Parameters(message.payload[:PARAMETERS_BYTES]).fingerprint == message.parameter_fingerprint == p.fingerprint
    assert message.key_fingerprint == secret.fingerprint
    end = PARAMETERS_BYTES + PACKING_PARAMETERS_BYTES
    fields = struct.unpack("<IIdHHHBBdd", message.payload[PARAMETERS_BYTES:end])
    k, size, deviation, base_log, levels, body_bits, *slot_bits, _log2_p_fail, _security_bits = fields
    shape = (message.polynomial_size, message.dimension, message.torus_bits, message.expander)
    assert shape == (size, k, 32, 1)
    rows = p.lwe_dimension * levels
    bodies, body_bytes = message.payload[end:], size * body_bits // 8
    assert len(bodies) == rows * body_bytes
    key = packing_secret(secret, k, size)
    # Eight standard deviations, and the rounding of the body.
    limit = 8 * deviation * 2**32 + 2 ** (31 - body_bits)
    assert limit < 1 << (31 - base_log * levels)
    for row in range(rows):
        i, j = divmod(row, levels)
        mask = struct.unpack("<%dI" % (k * size), mask_stream(1, message.mask_seed, row, 4 * k * size))
        packed = bodies[row * body_bytes : (row + 1) * body_bytes]
        body = [x << (32 - body_bits) for x in bit_fields(packed, body_bits, size)]
        phase = phase_under(key, size, mask, body)
        phase[0] -= secret.lwe[i] << (32 - base_log * (levels - j))
        assert all(abs((x + (1 << 31)) % (1 << 32) - (1 << 31)) <= limit for x in phase)
    return [k, size, base_log, levels, body_bits, *slot_bits]
