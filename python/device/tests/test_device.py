"""The client alone: what it encrypts is what a server expects."""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import tfhe_sbc_device as ts

#: A device key and its public key, of the shipped set.
KEYS = os.environ.get("TFHE_SBC_KEYS")


@pytest.fixture
def key():
    if KEYS is None:
        pytest.skip("TFHE_SBC_KEYS names no directory with keys")
    return ts.DeviceKey.load(Path(KEYS) / "device.tsbc")


def test_uploads(key):
    encryptor = ts.Encryptor(key)
    box = encryptor.encrypt(np.array([21.5, 22.0]), scale=0.5, offset=-40, bits=8)
    assert box.startswith(b"TSBC") and len(box) < 1000
    # A seed serves one message.
    assert box != encryptor.encrypt(np.array([21.5, 22.0]), scale=0.5, offset=-40, bits=8)
    public = ts.DevicePublicKey.load(Path(KEYS) / "public.tsbc")
    assert len(ts.Encryptor(public).encrypt([1], bits=2)) > 1000


def test_the_small_plan(key):
    assert ts.Encryptor(key, plan="small").encrypt([1], bits=2).startswith(b"TSBC")
    with pytest.raises(ValueError, match="balanced"):
        ts.Encryptor(key, plan="huge")


def test_refusals(key):
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(key)
    with pytest.raises(ts.RangeError, match="row 1"):
        ts.Encryptor(key).encrypt([300], bits=8)
    with pytest.raises(ts.FormatError, match="TSBC"):
        ts.DeviceKey.from_bytes(b"something else")


def test_it_is_the_client_alone():
    assert "tfhe_sbc" not in sys.modules
    assert not hasattr(ts, "Server")
