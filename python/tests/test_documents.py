"""The guide, the page of the package and the tutorial run as they stand."""

import re
import runpy
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
PAGES = [
    PACKAGE.parent / "README.md",
    pytest.param(PACKAGE.parent / "docs" / "python.md", marks=pytest.mark.long),
    PACKAGE / "README.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_a_page(page):
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert blocks
    names = {}
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        code = "\n" * line + block.group(1)
        exec(compile(code, str(page), "exec"), names)


def test_the_tutorial():
    runpy.run_path(str(PACKAGE / "tutorial" / "weather.py"))
