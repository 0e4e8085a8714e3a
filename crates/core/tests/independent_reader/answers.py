"""The lists of a result, decrypted: compact codes with and without their masks, packed answers and cut answers."""

import struct
from itertools import islice

from cbor import read_cbor
from column_lists import decode_compact
from expanders import EXPANDERS, mask_stream
from keys import masked_phase, negacyclic_product, phase_under, torus_scalars
from messages import bit_fields
from packing import packing_secret

MAX_ELEMENTS = 1 << 22


class Result:
    """The compact parts that the metadata of a result describes: (ciphertexts, codes, bits, plaintext bits)."""

    def __init__(self, metadata):
        answers = read_cbor(metadata).get("answers", [])
        parts = [part for answer in answers for part in answer.get("compact", [])]
        keys = ("ciphertexts", "codes", "bits", "plaintext_bits")
        of_list = lambda bodies: [[part[key] for key in keys] for part in parts if part.get("bodies", False) == bodies]
        self.with_masks, self.without_masks = of_list(False), of_list(True)


def check_belongs(message, key, expected):
    """The fingerprints are the key's, the fields are those expected, and all others are zero."""
    assert message.parameter_fingerprint == key.parameters.fingerprint
    assert message.key_fingerprint == key.fingerprint
    assert message.expander == 0 and message.mask_seed == bytes(32)
    assert message.element_count <= MAX_ELEMENTS
    fields = ("polynomial_size", "dimension", "torus_bits", "body_bits", "plaintext", "message_bits", "carry_bits")
    for field in fields:
        assert getattr(message, field) == expected.get(field, 0), field


class Payload:
    """The bytes of a payload that are not read yet."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        taken = self.data[self.at : self.at + count]
        assert len(taken) == count
        self.at += count
        return taken

    def number(self):
        """An unsigned LEB128 in its shortest form."""
        number = shift = 0
        while True:
            (byte,) = self.take(1)
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                assert byte > 0 or shift == 7
                return number

    def coefficients(self, count, bits, torus_bits):
        """Coefficients of which the top bits are there."""
        packed = self.take((count * bits + 7) // 8)
        return [x << (torus_bits - bits) for x in bit_fields(packed, bits, count)]

    def end(self):
        assert self.at == len(self.data)


def check_compact(message, secret):
    p = secret.parameters
    assert p.torus_bits == 64 and 1 <= message.mask_bits <= 64
    shape = {"polynomial_size": p.polynomial_size, "dimension": p.glwe_dimension, "torus_bits": 64}
    check_belongs(message, secret, shape)


def words_of_parts(parts, phases):
    """The words of the codes whose phases each ciphertext has."""
    words, phases = [], iter(phases)
    for ciphertexts, count, bits, plaintext_bits in parts:
        part = [x for phase in islice(phases, ciphertexts) for x in phase]
        assert len(part) == count
        codes = [decode_compact(x, plaintext_bits) for x in part]
        assert all(code < 1 << bits for code in codes)
        words += ["codes", bits, plaintext_bits, *codes]
    assert not list(phases)
    return words


def decrypt_compact_codes(message, secret, parts):
    check_compact(message, secret)
    p, bits = secret.parameters, message.mask_bits
    size = p.polynomial_size
    rest = Payload(message.payload)
    (ciphertexts,) = struct.unpack("<I", rest.take(4))
    counts = struct.unpack("<%dI" % ciphertexts, rest.take(4 * ciphertexts))
    assert all(1 <= count <= size for count in counts) and sum(counts) == message.element_count
    phases = []
    for count in counts:
        mask = rest.coefficients(p.glwe_dimension * size, bits, 64)
        phases.append(masked_phase(secret, mask, rest.coefficients(count, bits, 64)))
    rest.end()
    return words_of_parts(parts, phases)


def window_sum(size, start, end):
    """`Σ X^-i mod X^N + 1`, for i from `start` to `end - 1`: X^-i is -X^(N - i), and X^0 is 1."""
    polynomial = [0] * size
    for i in range(start, end):
        polynomial[-i % size] = 1 if i == 0 else -1
    return polynomial


def decrypt_linear_bodies(message, secret, parts):
    check_compact(message, secret)
    p, bits = secret.parameters, message.mask_bits
    size, masks = p.polynomial_size, p.glwe_dimension * p.polynomial_size
    rest = Payload(message.payload)
    uploads = []
    for _ in range(rest.number()):
        (expander,) = rest.take(1)
        assert expander in EXPANDERS
        uploads.append((expander, rest.take(32)))
    table, polynomials = [], 0
    for _ in range(rest.number()):
        count, window_count = rest.number(), rest.number()
        assert 1 <= count <= size
        mask = [0] * masks
        for _ in range(window_count):
            expander, seed = uploads[rest.number()]
            first, elements, weight = rest.number(), rest.number(), rest.number()
            weight = -((weight + 1) >> 1) if weight & 1 else weight >> 1
            end = first + elements
            assert first < end <= MAX_ELEMENTS
            for polynomial in range(first // size, (end - 1) // size + 1):
                polynomials += 1
                start = polynomial * size
                window = window_sum(size, max(first - start, 0), min(end - start, size))
                of_upload = torus_scalars(p, mask_stream(expander, seed, polynomial, masks * 8))
                for c in range(0, masks, size):
                    for i, x in enumerate(negacyclic_product(of_upload[c : c + size], window)):
                        mask[c + i] = (mask[c + i] + weight * x) % (1 << 64)
        table.append((count, mask))
    assert polynomials <= 1 << 16
    assert sum(count for count, _ in table) == message.element_count
    phases = [masked_phase(secret, mask, rest.coefficients(count, bits, 64)) for count, mask in table]
    rest.end()
    return words_of_parts(parts, phases)


def decode_slot(phase, bits):
    """The message at the top of the torus mod 2^32, without a padding bit."""
    return (phase + (1 << (31 - bits)) >> (32 - bits)) % (1 << bits)


def decrypt_packed_answers(message, secret):
    p = secret.parameters
    k, size, body_bits = message.dimension, message.polynomial_size, message.body_bits
    assert 1 <= message.mask_bits <= 32 and 1 <= body_bits <= 32
    expected = {
        "polynomial_size": size,
        "dimension": k,
        "torus_bits": 32,
        "body_bits": body_bits,
        "message_bits": p.message_bits,
    }
    check_belongs(message, secret, expected)
    coefficients = packing_secret(secret, k, size)
    rest = Payload(message.payload)
    values = []
    while len(values) < message.element_count:
        mask = rest.coefficients(k * size, message.mask_bits, 32)
        body = rest.coefficients(min(size, message.element_count - len(values)), body_bits, 32)
        values += [decode_slot(x, p.message_bits) for x in phase_under(coefficients, size, mask, body)]
    rest.end()
    return values


def decrypt_cut_answers(message, secret):
    p, body_bits = secret.parameters, message.body_bits
    assert 1 <= message.mask_bits <= 32 and 1 <= body_bits <= 32
    expected = {
        "dimension": p.lwe_dimension,
        "torus_bits": 32,
        "body_bits": body_bits,
        "message_bits": p.message_bits,
    }
    check_belongs(message, secret, expected)
    rest = Payload(message.payload)
    masks = [rest.coefficients(p.lwe_dimension, message.mask_bits, 32) for _ in range(message.element_count)]
    bodies = rest.coefficients(message.element_count, body_bits, 32)
    rest.end()
    phases = (b - sum(a for a, s in zip(mask, secret.lwe) if s) for mask, b in zip(masks, bodies))
    return [decode_slot(phase, p.message_bits) for phase in phases]
