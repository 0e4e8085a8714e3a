"""Lists of columns, decrypted."""

import struct

from keys import RADIX, decode, glwe_phase, masked_phase
from messages import bit_fields


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
