"""The notebooks run from top to bottom, and are kept without outputs."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["alarms", "fleet", "weather-year"]


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="the extra [notebooks] is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the extra [notebooks] is not installed")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs"), "clear the outputs of all cells before you save"
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
