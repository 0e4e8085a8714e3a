"""Keys that all tests share, made once.

Their set is the shipped one with a small LWE key of a fourth of its dimension: nobody should use it, and a bootstrap
takes a fourth of the time. The documents and the notebooks are run with the shipped one.
"""

import re
import signal
from pathlib import Path

import pytest

import tfhe_sbc as ts

# Programs that a shell starts in the background ignore Ctrl-C, which some tests are about.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def quick_set(tmp_path_factory: pytest.TempPathFactory) -> ts.params.Parameters:
    text = ts.params.shipped().to_toml()
    for name, value in {
        "name": '"insecure_2_2_for_tests"',
        "lwe_dimension": "234",
        "lwe_noise": "{ gaussian = { standard_deviation = 2e-7 } }",
        "security_bits": "20.0",
    }.items():
        text, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
        assert count == 1, name
    path: Path = tmp_path_factory.mktemp("sets") / "quick.toml"
    path.write_text(text)
    return ts.params.load(path)


@pytest.fixture(scope="session")
def keys(quick_set: ts.params.Parameters) -> ts.Keys:
    return ts.keygen(quick_set, insecure_for_tests=True)


@pytest.fixture(scope="session")
def server(keys: ts.Keys) -> ts.Server:
    return ts.Server(keys.server)


@pytest.fixture(scope="session")
def other_keys(quick_set: ts.params.Parameters) -> ts.Keys:
    return ts.keygen(quick_set, insecure_for_tests=True)


@pytest.fixture
def rehearsal() -> ts.Rehearsal:
    return ts.Rehearsal()
