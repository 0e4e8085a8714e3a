"""Keys that all tests share: the shipped set's, made once."""

import signal

import pytest

import tfhe_sbc as ts

# Programs that a shell starts in the background ignore Ctrl-C, which some tests are about.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def keys() -> ts.Keys:
    return ts.keygen()


@pytest.fixture(scope="session")
def server(keys: ts.Keys) -> ts.Server:
    return ts.Server(keys.server)


@pytest.fixture(scope="session")
def other_keys() -> ts.Keys:
    return ts.keygen()


@pytest.fixture
def rehearsal() -> ts.Rehearsal:
    return ts.Rehearsal()
