"""Bytes of ours, in memory or in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from . import _native
from ._encryptor import PathLike

#: An upload or a result: its bytes, or the path of the file that has them.
Box = Union[bytes, bytearray, memoryview, PathLike]


def bytes_of(box: Box) -> bytes:
    """The bytes of an upload or a result.

    Raises:
        TypeError: if it is neither bytes nor a path.
        OSError: if there is no such file.
    """
    if hasattr(box, "as_py"):
        # A value of a column of Arrow.
        box = box.as_py()
    if isinstance(box, (bytes, bytearray, memoryview)):
        return bytes(box)
    if isinstance(box, (str, os.PathLike)):
        return Path(box).read_bytes()
    raise TypeError(
        f"a {type(box).__name__} is no upload and no result: give bytes, or the path of a file"
    )


def is_box(value: object) -> bool:
    """Whether something can be an upload or a result."""
    return isinstance(value, (bytes, bytearray, memoryview, str, os.PathLike)) or hasattr(
        value, "as_py"
    )


def kind_of(given: bytes) -> str:
    """What bytes are: ``"upload"``, ``"result"`` or another kind; empty if they are nothing of ours."""
    try:
        return _native.kind_of(given)
    except _native.TfheSbcError:
        return ""
