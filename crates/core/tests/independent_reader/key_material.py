"""Device switch keys and device public keys, checked with the keys that they were made of."""

import struct

from keys import PARAMETERS_BYTES, Parameters, binding, glwe_phase, torus_scalars


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
