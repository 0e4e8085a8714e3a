"""Uploads in Arrow tables and Parquet files, beside clear columns. Needs pyarrow.

>>> import tfhe_sbc.arrow
>>> table = pyarrow.table({"device": names, "box": tfhe_sbc.arrow.uploads(boxes)})
>>> pyarrow.parquet.write_table(table, "uploads.parquet")
>>> server.load(pyarrow.parquet.read_table("uploads.parquet")["box"])
"""

from __future__ import annotations

from collections.abc import Iterable

try:
    import pyarrow
except ImportError:
    raise ImportError("tfhe_sbc.arrow needs pyarrow: pip install pyarrow") from None

from . import _native
from ._files import Box, bytes_of, kind_of

__all__ = ["UploadType", "uploads"]


class UploadType(pyarrow.ExtensionType):
    """The Arrow type of a column of uploads, ``tfhe_sbc.upload``: each value is the bytes of one.

    Parquet files that are read after this module was imported have it again. Without the module the columns
    are ``large_binary``, with the same bytes.
    """

    def __init__(self) -> None:
        super().__init__(pyarrow.large_binary(), "tfhe_sbc.upload")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(
        cls, storage_type: pyarrow.DataType, serialized: bytes
    ) -> UploadType:
        if serialized or storage_type != pyarrow.large_binary():
            raise _native.FormatError(
                "the column is of another version of tfhe_sbc.upload: read it with that version of tfhe-sbc"
            )
        return cls()


def uploads(boxes: Iterable[Box | None]) -> pyarrow.ExtensionArray:
    """An Arrow array of uploads, a column of a table.

    Args:
        boxes: uploads, as bytes or as the paths of their files; `None` is null.

    Raises:
        FormatError: bytes that are no upload.
    """
    listed = []
    for place, box in enumerate(boxes):
        given = None if box is None else bytes_of(box)
        if given is not None and kind_of(given) != "upload":
            raise _native.FormatError(
                f"value number {place + 1} is no upload: encrypt() makes uploads"
            )
        listed.append(given)
    return pyarrow.ExtensionArray.from_storage(
        UploadType(), pyarrow.array(listed, type=pyarrow.large_binary())
    )


try:
    pyarrow.register_extension_type(UploadType())
except pyarrow.ArrowKeyError:
    # It is known already: the module was loaded again.
    pass
