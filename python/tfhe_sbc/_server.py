"""The parties that compute: a server, or a rehearsal in the clear."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypedDict

from . import _native
from ._column import Column, Compact, Optional, Use
from ._decrypt import Decryption, Decrypts
from ._encrypted import (
    EncryptedColumn,
    EncryptedMask,
    EncryptedScalar,
    EncryptedTable,
)
from ._encrypted.base import distinct
from ._encryptor import (
    DeviceKey,
    DevicePublicKey,
    Encryptor,
    PathLike,
    PerColumn,
    Readings,
    table_of,
)
from ._files import Box, bytes_of, kind_of
from ._frames import Form
from ._keys import SecretKey, ServerKey
from ._loaded import Loaded, LoadedAnswer, column_of, loaded_of, whole_table_of
from ._progress import Progress, telling
from .params import Parameters, chosen

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Most bootstraps that questions may take if nobody says otherwise.
MAX_BOOTSTRAPS = 2_000_000


class _Encoding(TypedDict, total=False):
    """How readings are encoded. See ``Encryptor.encrypt``."""

    scale: PerColumn[float]
    offset: PerColumn[float]
    bits: PerColumn[int]
    name: str | Sequence[str] | None
    unit: PerColumn[str]
    use: PerColumn[Use]
    compact: PerColumn[Compact]
    optional: PerColumn[Optional]
    columns: Sequence[Column] | None
    rows: Iterable[object] | str | None


class Server:
    """Computes on what devices encrypt, with a server key.

    Args:
        key: the server key, or the path of its file.
        devices: the directory with the switch keys of devices that have keys of their own.
        progress: of the preparation of the key.
    """

    def __init__(
        self,
        key: ServerKey | PathLike,
        *,
        devices: PathLike | None = None,
        progress: Progress = None,
    ) -> None:
        if isinstance(key, (str, os.PathLike)):
            key = ServerKey.load(key)
        if not isinstance(key, ServerKey):
            advice = "; the secret key never goes to a server" if isinstance(key, SecretKey) else ""
            raise TypeError(
                f"a server computes with a ServerKey, not with a {type(key).__name__}: give "
                f"keys.server{advice}"
            )
        directory = None if devices is None else os.fspath(devices)
        with telling(progress, "preparing the server key", " rows") as callback:
            self._server = _native.Server(key._key, directory, callback)

    @property
    def fingerprint(self) -> str:
        """The key set on whose data it computes."""
        return self._server.fingerprint or ""

    @property
    def parameters(self) -> Parameters:
        """Its parameter set."""
        return Parameters(self._server.parameters)

    def load(self, boxes: Box | Iterable[Box], *, devices: Sequence[str] | None = None) -> Loaded:
        """Loads an upload, or several with the same columns, whose rows follow one another.

        Args:
            boxes: uploads, as bytes or as the paths of their files.
            devices: the name of each upload's device, with which the labels of its rows begin. Uploads under the keys of
                devices tell it themselves; their labels begin with it if there are several.

        Returns:
            An :class:`EncryptedColumn`, or an :class:`EncryptedOptionalColumn` if its readings may be
            missing; an :class:`EncryptedTable` if there are several columns.

        Raises:
            KeyMismatch: an upload of another key set.
            FormatError: bytes that are no upload.
        """
        listed = _boxes(boxes)
        with _told_what_it_is(listed):
            loaded = self._server.load(_named(listed, devices))
        return loaded_of(*loaded)

    def load_column(
        self, boxes: Box | Iterable[Box], *, devices: Sequence[str] | None = None
    ) -> EncryptedColumn:
        """:meth:`load` of uploads with one column, in which no reading is missing.

        Raises:
            ValueError: several columns, or one whose readings may be missing.
        """
        return column_of(self.load(boxes, devices=devices))

    def load_table(
        self, boxes: Box | Iterable[Box], *, devices: Sequence[str] | None = None
    ) -> EncryptedTable:
        """:meth:`load`, but a table also of one column."""
        return whole_table_of(self.load(boxes, devices=devices))

    def load_scalar(self, box: Box) -> EncryptedScalar:
        """Loads the one number that ``Encryptor.encrypt_scalar`` has encrypted."""
        column = self.load(box)
        if not isinstance(column, EncryptedColumn) or len(column) != 1:
            raise ValueError("this is more than one number: load it with load()")
        scalar = column[0]
        scalar.name = column.name
        return scalar

    def load_result(self, result: Box) -> LoadedAnswer | dict[str, LoadedAnswer]:
        """Loads what another computation gave as bytes, or the file with them, to compute on.

        Every block takes a bootstrap once it is used. Means of selections, variances and places
        cannot be loaded.

        Returns:
            An encrypted column, number or mask; of several answers a dict from their names.
        """
        loaded = self.load_answers(result)
        return next(iter(loaded.values())) if len(loaded) == 1 else loaded

    def load_answers(self, result: Box) -> dict[str, LoadedAnswer]:
        """:meth:`load_result`, but a dict of one answer, too."""
        loaded: dict[str, LoadedAnswer] = {}
        given = bytes_of(result)
        if kind_of(given) == "upload":
            raise _native.FormatError("this is an upload and no result: load it with load()")
        answers = _native.load_result(self._server, given)
        names = distinct(name for name, _, _, _ in answers)
        for name, (_, unit, labels, value) in zip(names, answers):
            if isinstance(value, _native.Mask):
                loaded[name] = EncryptedMask(value, name, labels or ())
            elif value.rows is None:
                whole = value.scale == 1 and value.offset == 0 and not unit
                loaded[name] = EncryptedScalar(value, name, unit, whole)
            else:
                loaded[name] = EncryptedColumn(value, name, unit, labels or ())
        return loaded

    def query(
        self,
        boxes: Box | Iterable[Box],
        *questions: str,
        key: DeviceKey | DevicePublicKey | None = None,
        sanitise: DevicePublicKey | None = None,
        device_keys: PathLike | None = None,
        devices: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        newest: int | None = None,
        by: str | None = None,
        max_bootstraps: int = MAX_BOOTSTRAPS,
        progress: Progress = None,
    ) -> bytes:
        """Answers questions in words, as ``tfhe-sbc eval`` does.

        Args:
            boxes: one upload or several, as bytes or as the paths of their files.
            questions: such as ``"max(temperature)"`` or ``"count(temperature > 30)"``.
            key: a device key, if a question has thresholds to be encrypted:
                ``"rows(t > encrypted(30))"``.
            sanitise: a public key of the key set, such as ``keys.public``, if the answers are to be
                sanitised: their noise then tells next to nothing about what they were computed from.
                The server key has to have a packing key, as those of ``tfhe-sbc keygen`` have.
            device_keys: the directory of the switch keys of devices that whoever decrypts has, too. Sums
                and means of compact columns under the keys of devices then have some 50 bytes in place of
                9,000; ``SecretKey.decrypt`` needs the same directory.
            devices: the name of each upload's device. An upload under the key of a device tells it itself.
            since: the questions are only about rows of this moment or later: a ``datetime``, or a text
                such as ``"2026-11-23T14:30"``. What has no time zone is UTC.
            until: only rows before this moment.
            newest: only this many rows of each device, the newest.
            by: answers each question for every group of rows by itself: ``"device"``, ``"hour"``,
                ``"day"``, ``"week"``, a time such as ``"15m"``, or both, as in ``"device,hour"``.
            max_bootstraps: the most to begin with at all.

        Returns:
            The bytes of a result; ``SecretKey.decrypt`` and ``tfhe-sbc decrypt`` read it.
        """
        session = None if key is None else Encryptor(key)._session
        keys = (session, zeros_of(sanitise), directory_of(device_keys))
        listed = _boxes(boxes)
        named = _named(listed, devices)
        scope = (_moment(since), _moment(until), newest, by)
        with telling(progress, "computing", " bootstraps") as callback:
            with _told_what_it_is(listed):
                return self._server.query(
                    named,
                    (list(questions), scope),
                    keys,
                    max_bootstraps,
                    callback,
                )

    def __repr__(self) -> str:
        return f"<Server of {self.fingerprint}, {self.parameters.name}>"


def zeros_of(sanitise: DevicePublicKey | None) -> bytes | None:
    """Returns the bytes of the public key for sanitised answers."""
    if sanitise is not None and not isinstance(sanitise, DevicePublicKey):
        raise TypeError("sanitise takes a public key of the key set: give keys.public")
    return None if sanitise is None else sanitise.to_bytes()


def directory_of(device_keys: PathLike | None) -> str | None:
    """Returns the path of the directory of switch keys."""
    return None if device_keys is None else os.fspath(device_keys)


def _moment(moment: datetime | str | None) -> int | None:
    """Returns the milliseconds since 1970 of a moment, which is UTC if it has no time zone."""
    if moment is None:
        return None
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if not isinstance(moment, datetime):
        raise TypeError(f"a moment is a datetime or a text, not a {type(moment).__name__}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)


def _boxes(boxes: Box | Iterable[Box]) -> list[bytes]:
    """The bytes of one upload or several."""
    if isinstance(boxes, (bytes, bytearray, memoryview, str, os.PathLike)):
        boxes = [boxes]
    listed = [bytes_of(box) for box in boxes]
    if not listed:
        raise ValueError("there are no uploads: give at least one")
    return listed


def _named(listed: list[bytes], devices: Sequence[str] | None) -> list[tuple[str | None, bytes]]:
    """Uploads, each with the name of its device if that is given."""
    names = [None] * len(listed) if devices is None else list(devices)
    if isinstance(devices, str) or len(names) != len(listed):
        raise ValueError(f"devices names the device of each upload: give {len(listed)} names")
    return list(zip(names, listed))


@contextmanager
def _told_what_it_is(listed: list[bytes]) -> Iterator[None]:
    """Says of bytes that are a result and no upload how to load them."""
    try:
        yield
    except _native.FormatError:
        for place, given in enumerate(listed):
            if kind_of(given) == "result":
                which = f"upload number {place + 1} is" if len(listed) > 1 else "this is"
                raise _native.FormatError(
                    f"{which} a result of a computation and no upload: load it with load_result()"
                ) from None
        raise


class Rehearsal(Decrypts):
    """Does in the clear what a server does on ciphertexts, lookup by lookup.

    To try a computation out, fast and without keys, and to know what it costs.

    Args:
        parameters: the parameter set, or the name of a shipped one; the default one if not given.
    """

    def __init__(self, parameters: Parameters | str | None = None) -> None:
        self._server = _native.Server.rehearsal(chosen(parameters)._parameters)

    def load(
        self,
        data: Readings,
        *,
        scale: PerColumn[float] = None,
        offset: PerColumn[float] = None,
        bits: PerColumn[int] = None,
        name: str | Sequence[str] | None = None,
        unit: PerColumn[str] = "",
        use: PerColumn[Use] = None,
        compact: PerColumn[Compact] = None,
        optional: PerColumn[Optional] = None,
        columns: Sequence[Column] | None = None,
        rows: Iterable[object] | str | None = None,
    ) -> Loaded:
        """The table that ``Server.load`` makes of these readings. See ``Encryptor.encrypt``."""
        described, labels, readings = table_of(
            data, scale, offset, bits, name, unit, columns, rows, use, compact, optional
        )
        values = [column.tolist() for column in readings]
        return loaded_of(*self._server.load_clear(described, labels, values))

    def load_column(self, data: Readings, **encoding: Unpack[_Encoding]) -> EncryptedColumn:
        """:meth:`load` of readings of one column, none of which is missing."""
        return column_of(self.load(data, **encoding))

    def load_table(self, data: Readings, **encoding: Unpack[_Encoding]) -> EncryptedTable:
        """:meth:`load`, but a table also of one column."""
        return whole_table_of(self.load(data, **encoding))

    def _decryption(self, device_keys: PathLike | None, to: Form | None) -> Decryption:
        if device_keys is not None:
            raise ValueError("a rehearsal has no keys: leave device_keys out")
        return Decryption(_CLEAR, None, to)

    def __repr__(self) -> str:
        return f"<Rehearsal with {self._server.parameters.name}>"


class _Clear:
    """Reads what a rehearsal computes."""

    def codes(self, number: _native.Number) -> list[int]:
        return _native.rehearsed_codes(number)

    def truths(self, mask: _native.Mask) -> list[bool]:
        return _native.rehearsed_truths(mask)


_CLEAR = _Clear()
