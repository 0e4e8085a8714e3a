"""Types of what users see: nothing is Any, operators are documented, and the guides' programs are typed."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tfhe_sbc as ts

PACKAGE = Path(__file__).parents[1]
CLASSES = [value for name in ts.__all__ if inspect.isclass(value := getattr(ts, name))]
OPERATORS = (
    "add radd sub rsub mul rmul truediv pow neg pos abs lt le gt ge eq ne and or xor invert getitem"
).split()
#: The protocols of numpy and pickle, which are theirs.
PROTOCOLS = {"__array_ufunc__", "__array_function__"}


def public_functions():
    """What users call: functions, and methods and operators of classes, with their names."""
    for name in ts.__all__:
        value = getattr(ts, name)
        if inspect.isfunction(value):
            yield name, value
    for owner in CLASSES:
        for name, value in vars(owner).items():
            function = (
                value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            )
            is_public = not name.startswith("_") or name.startswith("__")
            if inspect.isfunction(function) and is_public and name not in PROTOCOLS:
                yield f"{owner.__name__}.{name}", function


def test_nothing_public_is_any():
    found = {}
    for name, function in public_functions():
        for argument, annotation in getattr(function, "__annotations__", {}).items():
            if re.search(r"\bAny\b", str(annotation)):
                found[f"{name}({argument})"] = annotation
    assert not found


def test_everything_public_is_documented():
    assert {"EncryptedColumn.mean", "where", "Server.load"} <= {
        name for name, _ in public_functions()
    }
    for name, function in public_functions():
        if not name.split(".")[-1].startswith("__") and function.__name__ != "_no_method":
            assert inspect.getdoc(function), name


@pytest.mark.parametrize(
    "owner", [ts.EncryptedColumn, ts.EncryptedScalar, ts.EncryptedMask, ts.EncryptedOptionalColumn]
)
def test_operators_are_documented(owner):
    for operator in OPERATORS:
        # The class itself has `|`, which is no operator of its values.
        found = [vars(one).get(f"__{operator}__") for one in owner.__mro__[:-1]]
        function = next(filter(None, found), None)
        if function is not None and function.__name__ != "_no_method":
            assert function.__doc__, operator
    first = owner.__and__ if owner is ts.EncryptedMask else owner.__add__
    assert "Args:" in first.__doc__ and "as many rows" in first.__doc__


def blocks(page, after=""):
    text = page.read_text(encoding="utf-8")
    text = text[text.index(after) :]
    if after:
        text = text[: text.index("\n## ", 1)]
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


PROGRAMS = {
    "README.md": lambda: blocks(PACKAGE.parent / "README.md"),
    "python/README.md": lambda: blocks(PACKAGE / "README.md"),
    "docs/python.md": lambda: blocks(PACKAGE.parent / "docs" / "python.md", "## Types"),
    "the tutorial": lambda: (PACKAGE / "tutorial" / "weather.py").read_text(encoding="utf-8"),
}


#: Type checkers, each with what it is asked. The guides show functions without types; whatever they call is
#: checked.
CHECKERS = {
    "mypy": [
        "--strict",
        "--ignore-missing-imports",
        "--check-untyped-defs",
        "--disable-error-code=no-untyped-def",
        "--disable-error-code=no-untyped-call",
    ],
    "pyright": ["--level", "error", "--pythonpath", sys.executable],
    "basedpyright": ["--level", "error", "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_programs_of_the_guides_are_typed(checker, tmp_path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    paths = []
    for name, program in PROGRAMS.items():
        path = tmp_path / f"{re.sub(r'[^a-z]', '_', name.lower())}.py"
        path.write_text(program(), encoding="utf-8")
        paths.append(str(path))
    command = [sys.executable, "-m", checker, *CHECKERS[checker], *paths]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stdout
