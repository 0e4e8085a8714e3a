"""Lists of ciphertexts, decrypted."""

import struct

from keys import RADIX, decode, glwe_phase, masked_phase
from messages import bit_fields


def check_belongs(message, key, dimension, torus_bits, body_bits):
    p = key.parameters
    assert message.parameter_fingerprint == p.fingerprint
    assert message.key_fingerprint == key.fingerprint
    assert message.dimension == dimension
    assert (message.torus_bits, message.body_bits) == (torus_bits, body_bits)
    assert (message.plaintext, message.message_bits, message.carry_bits) == (p.plaintext, p.message_bits, p.carry_bits)


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


def decrypt_lwe_list(message, key):
    n = key.parameters.lwe_dimension
    check_belongs(message, key, n, 32, 32)
    assert message.polynomial_size == 0 and message.expander == 0 and message.mask_seed == bytes(32)
    assert len(message.payload) == message.element_count * (n + 1) * 4
    ciphertexts = struct.iter_unpack("<%dI" % (n + 1), message.payload)
    return [decode(key, c[n] - sum(a for a, s in zip(c, key.lwe) if s), 32) for c in ciphertexts]
