"""Keys that all tests share: the shipped set's, made once."""

import signal

import pytest

import tfhe_sbc as ts

# Programs that a shell starts in the background ignore Ctrl-C, which some tests are about.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long tests, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="a long test: give --long"))


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
