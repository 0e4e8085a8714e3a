"""The key owner's keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from . import _native
from ._answers import Answer, Opened, named
from ._decrypt import Decryption, Decrypts
from ._encryptor import DeviceKey, DevicePublicKey, PathLike, _refuse_pickling
from ._files import Box, bytes_of, kind_of
from ._frames import Clear, Form
from ._progress import Progress, telling
from .params import Parameters, chosen


class SecretKey(Decrypts):
    """Decrypts everything of a key set. Stays with the key owner.

    It cannot be pickled; :meth:`save` writes a file that only its owner can read.
    """

    def __init__(self, key: _native.SecretKey) -> None:
        self._key = key

    @classmethod
    def generate(
        cls, parameters: Parameters | str | None = None, *, insecure_for_tests: bool = False
    ) -> SecretKey:
        """Draws one. Sets that are weak are refused but for tests."""
        parameters = chosen(parameters)
        return cls(_native.SecretKey.generate(parameters._parameters, insecure_for_tests))

    @classmethod
    def from_bytes(cls, data: bytes) -> SecretKey:
        """Reads the bytes of a key file, such as ``tfhe-sbc keygen`` writes."""
        return cls(_native.SecretKey(data))

    @classmethod
    def load(cls, path: PathLike) -> SecretKey:
        """Reads a key file."""
        return cls(_native.SecretKey.load(os.fspath(path)))

    def to_bytes(self) -> bytes:
        """The bytes of its key file. Nobody wipes them: prefer :meth:`save`."""
        return self._key.to_bytes()

    def save(self, path: PathLike) -> None:
        """Writes a new file that only its owner can read (mode 0600)."""
        self._key.save(os.fspath(path))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key set, which is no secret."""
        return self._key.fingerprint

    @property
    def parameters(self) -> Parameters:
        """Its parameter set."""
        return Parameters(self._key.parameters)

    def device_key(self) -> DeviceKey:
        """The key that all devices can share."""
        return DeviceKey(self._key.device_key())

    def device_public_key(self) -> DevicePublicKey:
        """A key that encrypts and does not decrypt. Each call gives another one."""
        return DevicePublicKey(self._key.device_public_key())

    def issue_device_key(self, device: str, epoch: int = 1) -> tuple[DeviceKey, bytes]:
        """A key for one device alone.

        Args:
            device: its name, 1 to 16 characters.
            epoch: counts the keys of this device, from 1.

        Returns:
            The device's key, and the bytes of its switch key for the server: write them into a
            file ``NAME.tsbc`` of the directory that ``Server(devices=...)`` gets.
        """
        key, switch = self._key.issue_device_key(device, epoch)
        return DeviceKey(key), switch

    def server_key(self, progress: Progress = None) -> ServerKey:
        """Makes a server key: what a server needs to compute, and can decrypt nothing with."""
        with telling(progress, "making the server key", " rows") as callback:
            return ServerKey(self._key.server_key(callback))

    def _opened(self, result: bytes, device_keys: PathLike | None) -> list[Opened]:
        directory = None if device_keys is None else os.fspath(device_keys)
        return [Opened(*one) for one in _native.open_result(result, self._key, directory)]

    def _open(self, box: Box, device_keys: PathLike | None) -> list[Opened] | Clear:
        """The answers of a result, or the table of an upload."""
        given = bytes_of(box)
        if kind_of(given) != "upload":
            return self._opened(given, device_keys)
        directory = None if device_keys is None else os.fspath(device_keys)
        try:
            columns, rows = _native.open_upload(given, self._key, directory)
        except _native.KeyMismatch as error:
            raise _native.KeyMismatch(
                f"{error}; decrypt(…, device_keys=directory) finds the switch keys of a directory"
            ) from None
        readings = {name: values for name, _, values in columns}
        return Clear(readings, {name: unit for name, unit, _ in columns}, rows)

    def _decryption(self, device_keys: PathLike | None, to: Form | None) -> Decryption:
        return Decryption(self._key, lambda box: self._open(box, device_keys), to)

    def decrypt_answers(
        self, result: Box, *, device_keys: PathLike | None = None
    ) -> dict[str, Answer]:
        """The answers of a result, a dict from their names also if it has only one.

        Args:
            result: the bytes of a result, or the path of their file.
            device_keys: as in :meth:`decrypt`.

        Raises:
            ValueError: answers for groups, which :meth:`decrypt` gives.
        """
        opened = self._opened(bytes_of(result), device_keys)
        if any(one.group is not None for one in opened):
            raise ValueError(
                "the answers are for groups: decrypt() gives a dict from these for each"
            )
        return named(opened)

    def __reduce__(self) -> NoReturn:
        _refuse_pickling(self)

    def __repr__(self) -> str:
        return f"<SecretKey {self.fingerprint} of {self._key.parameters.name}>"


class ServerKey:
    """The key that a server needs to compute. It decrypts nothing and is no secret. It pickles."""

    def __init__(self, key: _native.ServerKey) -> None:
        self._key = key

    @classmethod
    def from_bytes(cls, data: bytes) -> ServerKey:
        """Reads the bytes of a key file, such as ``tfhe-sbc keygen`` writes."""
        return cls(_native.ServerKey(data))

    @classmethod
    def load(cls, path: PathLike) -> ServerKey:
        """Reads a key file."""
        return cls.from_bytes(Path(path).read_bytes())

    def to_bytes(self) -> bytes:
        """The bytes of its key file."""
        return self._key.to_bytes()

    def save(self, path: PathLike) -> None:
        """Writes a new file."""
        _native.write_new(os.fspath(path), self.to_bytes(), False)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key set, which is no secret."""
        return self._key.fingerprint

    @property
    def parameters(self) -> Parameters:
        """Its parameter set."""
        return Parameters(self._key.parameters)

    def __reduce__(self) -> tuple[Callable[[bytes], ServerKey], tuple[bytes]]:
        return (type(self).from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        return (
            f"<ServerKey {self.fingerprint} of {self._key.parameters.name}, {self._key.size} bytes>"
        )


@dataclass(frozen=True)
class Keys:
    """The keys of a key set, each for somebody else."""

    #: For the key owner alone.
    secret: SecretKey
    #: For devices: a secret, too.
    device: DeviceKey
    #: For the server.
    server: ServerKey
    #: For devices that are not to be able to decrypt.
    public: DevicePublicKey

    def save(self, directory: PathLike) -> None:
        """Writes ``secret.tsbc``, ``device.tsbc``, ``server.tsbc`` and ``public.tsbc`` into a
        directory, which is made if need be. No file is overwritten, and if one cannot be written
        none is left. ``tfhe-sbc`` reads them."""
        directory = Path(directory)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        files: dict[str, SecretKey | DeviceKey | ServerKey | DevicePublicKey] = {
            "secret.tsbc": self.secret,
            "device.tsbc": self.device,
            "server.tsbc": self.server,
            "public.tsbc": self.public,
        }
        for name in files:
            if (directory / name).exists():
                raise FileExistsError(
                    f"{directory / name} exists already, and keys are never overwritten: choose "
                    "another directory"
                )
        written: list[Path] = []
        try:
            for name, key in files.items():
                key.save(directory / name)
                written.append(directory / name)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, directory: PathLike) -> Keys:
        """Reads the keys of a directory. Without ``public.tsbc`` a public key is drawn."""
        directory = Path(directory)
        secret = SecretKey.load(directory / "secret.tsbc")
        device = DeviceKey.load(directory / "device.tsbc")
        server = ServerKey.load(directory / "server.tsbc")
        public_path = directory / "public.tsbc"
        public = (
            DevicePublicKey.load(public_path)
            if public_path.exists()
            else secret.device_public_key()
        )
        others: tuple[DeviceKey | ServerKey | DevicePublicKey, ...] = (device, server, public)
        for key in others:
            if key.fingerprint != secret.fingerprint:
                raise _native.KeyMismatch(
                    f"{directory} has keys of several key sets: {key!r} and {secret!r}"
                )
        return cls(secret, device, server, public)

    def __reduce__(self) -> NoReturn:
        _refuse_pickling(self)


def keygen(
    parameters: Parameters | str | None = None,
    *,
    progress: Progress = None,
    insecure_for_tests: bool = False,
) -> Keys:
    """Makes a key set.

    Args:
        parameters: a set of :mod:`tfhe_sbc.params`, or the name of a shipped one; the default one if not
            given.
        progress: ``True`` for a bar of tqdm, or a function of two numbers: rows of the server key
            that are done, and all of them.
        insecure_for_tests: make keys even for a set that is too weak to use.
    """
    secret = SecretKey.generate(parameters, insecure_for_tests=insecure_for_tests)
    return Keys(
        secret=secret,
        device=secret.device_key(),
        server=secret.server_key(progress),
        public=secret.device_public_key(),
    )
