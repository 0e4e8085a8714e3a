"""Wheels at work, on whatever processor this Python is for: check.py STEP FOLDER.

FOLDER has what steps leave for each other, on one machine or another:

keys      makes keys, with `tfhe-sbc`
board     encrypts readings, with `tfhe-sbc-device` alone
server    computes on all uploads that are there and leaves the results, with `tfhe-sbc`
owner     decrypts all results that are there, with `tfhe-sbc`
"""

import importlib.util
import pathlib
import platform
import sys
import time

import numpy as np

# Few and narrow, for an emulated processor computes on them too.
READINGS = np.array([21.5, 3.0, 30.5, 18.0])
ENCODING = {"scale": 0.5, "offset": 0.0, "bits": 6, "name": "temperature", "unit": "°C"}
LIMIT = 20.0


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED on {platform.machine()}: {what}")


def refused(error, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except error:
        return
    raise SystemExit(f"FAILED on {platform.machine()}: {call} takes {arguments}")


def keys(folder):
    import tfhe_sbc as ts

    ts.keygen().save(folder / "keys")
    return "made"


def board(folder):
    check(importlib.util.find_spec("tfhe_sbc") is None, "the client is not alone")
    import tfhe_sbc_device as ts

    secret = ts.DeviceKey.load(folder / "keys/device.tsbc")
    public = ts.DevicePublicKey.load(folder / "keys/public.tsbc")
    refused(ts.FormatError, ts.DeviceKey.from_bytes, b"no key")
    uploads = 0
    for kind, key in (("secret", secret), ("public", public)):
        for plan in ("small", "balanced", "fast"):
            box = ts.Encryptor(key, plan=plan).encrypt(READINGS, **ENCODING)
            name = f"{platform.machine()}-{kind}-{plan}.upload"
            (folder / name).write_bytes(box)
            uploads += 1
        refused(ts.RangeError, ts.Encryptor(key).encrypt, [float("nan")], **ENCODING)
        refused(ts.RangeError, ts.Encryptor(key).encrypt, [32.0], **ENCODING)
    return f"{uploads} uploads"


def server(folder):
    import tfhe_sbc as ts

    owner = ts.Keys.load(folder / "keys")
    started = time.monotonic()
    computer = ts.Server(owner.server)
    prepared = time.monotonic()
    uploads = sorted(folder.glob("*.upload"))
    check(uploads, "there are no uploads")
    for path in uploads:
        column = computer.load(path.read_bytes())
        found = owner.secret.decrypt(column)
        check(np.array_equal(found, READINGS), f"{path.name} has {found}")
    # A full evaluation of one upload.
    total, hot = column.sum(), (column > LIMIT).sum()
    ts.compute(total, hot)
    (folder / f"{platform.machine()}.result").write_bytes(ts.to_bytes(total, hot))
    computed = time.monotonic()
    return (
        f"{len(uploads)} uploads; key prepared in {prepared - started:.1f} s, "
        f"answers in {computed - prepared:.1f} s"
    )


def owner(folder):
    import tfhe_sbc as ts

    secret = ts.SecretKey.load(folder / "keys/secret.tsbc")
    results = sorted(folder.glob("*.result"))
    check(results, "there are no results")
    expected = [READINGS.sum(), (READINGS > LIMIT).sum()]
    for path in results:
        answers = secret.decrypt(path.read_bytes())
        check(list(answers.values()) == expected, f"{path.name} has {answers}")
    return f"{len(results)} results"


def main():
    step, folder = sys.argv[1:]
    steps = {"keys": keys, "board": board, "server": server, "owner": owner}
    done = steps[step](pathlib.Path(folder))
    print(f"{step} on {platform.machine()}, Python {platform.python_version()}: {done}")


main()
