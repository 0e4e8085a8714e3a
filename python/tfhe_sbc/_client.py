"""Questions that are left with a server of ``tfhe-sbc serve``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Union

from . import _native
from ._answers import Answer, Group, by_group, moment_of
from ._encryptor import DeviceKey, DevicePublicKey, Encryptor, PathLike
from ._keys import SecretKey
from ._progress import Progress, telling
from ._server import _moment, directory_of, zeros_of

#: A time such as ``"90m"``, ``"24h"`` or ``"7d"``, or a ``timedelta``.
Length = Union[str, timedelta]


def _length(length: Length | None) -> str | None:
    """Returns the text of a length of time."""
    if length is None or isinstance(length, str):
        return length
    if not isinstance(length, timedelta):
        raise TypeError(
            f'a length of time is a text such as "1h" or a timedelta, not a {type(length).__name__}'
        )
    return f"{length // timedelta(milliseconds=1)}ms"


class Client:
    """Talks to a server that runs elsewhere, with the certificate of the key owner.

    Args:
        url: the server's address, ``"https://HOST:PORT"``.
        tls: the directory with ``ca.pem`` and the certificate and its key.
        identity: the name of the certificate, ``NAME.pem`` and ``NAME.key``.

    Raises:
        ConnectionError: nobody answers there.
        TfheSbcError: the server and the certificate do not belong together.
    """

    def __init__(
        self,
        url: str = "https://localhost:8443",
        *,
        tls: PathLike = "tls",
        identity: str = "owner",
    ) -> None:
        self._url = url
        self._client = _native.Client(url, os.fspath(tls), identity)

    def query(
        self,
        *questions: str,
        key: DeviceKey | DevicePublicKey,
        every: Length,
        by: str | Sequence[str] | None = None,
        devices: str | Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        grace: Length | None = None,
        keep: Length | None = None,
        name: str | None = None,
        sanitise: DevicePublicKey | None = None,
        device_keys: PathLike | None = None,
    ) -> StandingQuery:
        """Leaves questions with the server, which answers them for each period once that is over, as
        ``tfhe-sbc query --every`` does.

        Args:
            questions: such as ``"mean(temperature)"``.
            key: a device key or the public key of the key set; it encrypts thresholds, as in
                ``"count(t > encrypted(30))"``.
            every: the length of a period, from a minute on. Periods begin at full hours and days in
                UTC, weeks on Monday.
            by: ``"device"``, a part of the period such as ``"hour"``, or both.
            devices: the names of devices, in which ``*`` and ``?`` stand for any characters; all if
                not given.
            since: the first period is the one that this moment is in, also in the past; from now on if
                not given.
            until: the last period ends then or before.
            grace: the time after the end of a period in which its uploads may still arrive, 10 minutes
                if not given.
            keep: the time for which results are kept; until the standing query is removed if not given.
            name: the name of the standing query; by its period if not given, such as ``"hourly"``.
            sanitise: as in :meth:`Server.query`.
            device_keys: as in :meth:`Server.query`.

        Raises:
            TfheSbcError: the server keeps no standing queries, has another one of this name, or knows
                no readings of these devices; and questions and terms that do not fit them.
        """
        if not questions:
            raise ValueError("there are no questions: give at least one")
        asked = (
            list(questions),
            (
                _length(every) or "",
                None if devices is None else _joined(devices),
                _moment(since),
                _moment(until),
                _length(grace),
                _length(keep),
            ),
            None if by is None else _joined(by),
        )
        keys = (Encryptor(key)._session, zeros_of(sanitise), directory_of(device_keys))
        standing, unknown = self._client.leave(name, asked, keys)
        for pattern in unknown:
            warnings.warn(
                f"nothing of '{pattern}' is stored yet; it counts once there is", stacklevel=2
            )
        return StandingQuery(self._client, standing)

    def standing(self) -> list[StandingQuery]:
        """The standing queries that were left under the name in the certificate, by name."""
        return [StandingQuery(self._client, one) for one in self._client.standing_queries()]

    def standing_query(self, id: str) -> StandingQuery:
        """The standing query of this name.

        Raises:
            TfheSbcError: there is none.
        """
        return StandingQuery(self._client, self._client.standing(id))

    def __repr__(self) -> str:
        return f"<Client of {self._url}>"


def _joined(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ",".join(names)


class StandingQuery:
    """Questions that a server keeps, and answers for each period of time once it is over.

    What it says of itself is what the server told last; :meth:`refresh` asks again.
    """

    def __init__(self, client: _native.Client, standing: _native.Standing) -> None:
        self._client = client
        self._standing = standing

    @property
    def id(self) -> str:
        """Its name, which ``tfhe-sbc standing`` knows it by."""
        return self._standing.name

    @property
    def questions(self) -> list[str]:
        """The questions, without encrypted thresholds."""
        return self._standing.questions

    @property
    def every(self) -> str:
        """The length of a period, such as ``"1h"``."""
        return self._standing.every

    @property
    def by(self) -> str:
        """The groups of each period, such as ``"device,hour"``."""
        return self._standing.by

    @property
    def devices(self) -> list[str]:
        """The names of the devices; none if it is about all."""
        return [name for name in self._standing.devices.split(",") if name]

    @property
    def since(self) -> datetime:
        """The beginning of the first period."""
        return moment_of(self._standing.since)

    @property
    def until(self) -> datetime | None:
        """The end of the last period, if there is one."""
        until = self._standing.until
        return None if until is None else moment_of(until)

    @property
    def grace(self) -> str:
        """The time after the end of a period in which its uploads may still arrive."""
        return self._standing.grace

    @property
    def keep(self) -> str | None:
        """The time for which results are kept; None if that is until it is removed."""
        return self._standing.keep

    @property
    def state(self) -> str:
        """``"up to date"``, ``"ended"``, or what keeps it from that: ``"paused, 3 waiting"``."""
        return self._standing.state

    @property
    def paused(self) -> bool:
        """Whether nothing is computed until :meth:`resume`."""
        return self._standing.paused

    @property
    def computed_until(self) -> datetime:
        """The end of the last period before which each one has been computed or has failed."""
        return moment_of(self._standing.computed_until)

    @property
    def waiting(self) -> int:
        """The number of periods that are over and to be computed, for the first time or again."""
        return self._standing.waiting

    @property
    def failed(self) -> int:
        """The number of periods that failed; :attr:`problem` says why."""
        return self._standing.failed

    @property
    def problem(self) -> str | None:
        """Why nothing is computed at the moment, or else why the last period that failed did."""
        return self._standing.problem

    @property
    def results(self) -> int:
        """The number of results."""
        return self._standing.results

    @property
    def size(self) -> int:
        """The bytes that the results take on the server."""
        return self._standing.size

    @property
    def late(self) -> int:
        """The number of uploads that came when readings of their periods were no longer stored. They
        are in no result."""
        return self._standing.late

    def refresh(self) -> StandingQuery:
        """Asks the server anew, and returns this object."""
        self._standing = self._client.standing(self.id)
        return self

    def get(
        self,
        secret: SecretKey,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        last: Length | None = None,
        device_keys: PathLike | None = None,
        progress: Progress = None,
    ) -> dict[str, dict[Group, Answer]]:
        """The answers of the periods of a time, decrypted.

        Args:
            secret: the secret key.
            since: only periods that end after this moment.
            until: only periods that begin before this moment.
            last: only periods of this time up to now, in place of ``since`` and ``until``.
            device_keys: the directory that the questions were left with, if they were left with one.
            progress: of the results that the server sends.

        Returns:
            A dict for each question, from groups to answers. A group is the moment at which its period
            begins, and with ``by="device"`` a pair of the device's name and that moment.

        Raises:
            TfheSbcError: there are no results of that time.
        """
        if not isinstance(secret, SecretKey):
            raise TypeError(
                f"answers are decrypted with a SecretKey, not with a {type(secret).__name__}: give "
                "keys.secret"
            )
        results = self.get_bytes(since=since, until=until, last=last, progress=progress)
        return by_group(secret._opened(results, device_keys))

    def get_bytes(
        self,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        last: Length | None = None,
        progress: Progress = None,
    ) -> bytes:
        """The results of the periods of a time as bytes, one after the other. ``SecretKey.decrypt`` and
        ``tfhe-sbc decrypt`` read them. The arguments are those of :meth:`get`.
        """
        if last is not None and (since is not None or until is not None):
            raise ValueError("last is about the time up to now: leave it out, or since and until")
        times = (_moment(since), _moment(until), _length(last))
        with telling(progress, "getting results", " results") as callback:
            return self._client.standing_results(self.id, times, callback)

    def pause(self) -> StandingQuery:
        """Has the server compute nothing more for it until :meth:`resume`. Returns this object."""
        self._standing = self._client.pause_standing(self.id)
        return self

    def resume(self) -> StandingQuery:
        """Has the server go on with it, and try again the periods that failed. Returns this object."""
        self._standing = self._client.resume_standing(self.id)
        return self

    def remove(self) -> None:
        """Removes it from the server with all of its results, for good. Results may be the only
        answers about readings that are no longer stored."""
        self._standing = self._client.remove_standing(self.id)

    def __repr__(self) -> str:
        questions = ", ".join(self.questions)
        return f"<StandingQuery {self.id!r} every {self.every}: {questions}; {self.state}>"
