"""Data items in CBOR (RFC 8949) of the kinds that metadata has, with lengths in front."""

import struct


def read_cbor(data):
    """The only data item of the bytes."""
    value, at = read_item(data, 0)
    assert at == len(data)
    return value


def read_item(data, at):
    """A data item, and the place behind it."""
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    assert info < 28
    length = 0 if info < 24 else 1 << (info - 24)
    argument = info if info < 24 else int.from_bytes(data[at : at + length], "big")
    raw, at = data[at : at + length], at + length
    if major == 7:
        if info < 24:
            return {20: False, 21: True, 22: None}[info], at
        return struct.unpack({25: ">e", 26: ">f", 27: ">d"}[info], raw)[0], at
    if major in (0, 1):
        return (argument if major == 0 else -1 - argument), at
    if major in (2, 3):
        content = data[at : at + argument]
        assert len(content) == argument
        return (content if major == 2 else content.decode("utf-8")), at + argument
    assert major in (4, 5)
    items = []
    for _ in range(argument if major == 4 else 2 * argument):
        item, at = read_item(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at
