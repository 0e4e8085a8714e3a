"""Messages: header, payload and checksum, and the fields of payloads."""

import struct
import zlib

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
    13: "compact_codes",
    14: "packing_key",
    15: "packed_answers",
    16: "linear_bodies",
    17: "cut_answers",
}
SEEDED = {2, 6, 7, 9, 11, 14}


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


def bit_fields(data, bits, count):
    """`count` fields of `bits` bits, least significant bit first; zeros behind."""
    whole = int.from_bytes(data, "little")
    assert len(data) == (bits * count + 7) // 8 and whole >> (bits * count) == 0
    return [whole >> (i * bits) & ((1 << bits) - 1) for i in range(count)]
