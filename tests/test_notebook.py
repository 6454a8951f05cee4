"""A run in a real notebook: a kernel makes it, and the cell shows it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

CELL = 'import dsbench\ndsbench.run("mock:?latency_us=500", scales=(1, 2), cycles=2, duration=0.3, clients=2)'


@pytest.mark.thorough
def test_a_cell_shows_the_run_as_table_and_diagrams(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (shown,) = [output.data for output in notebook.cells[0].outputs if output.output_type == "execute_result"]
    assert "with 2 clients at scale" in shown["text/plain"]
    assert "populate [s]" in shown["text/html"]
    assert shown["text/html"].count("<img") == 4
    assert len(list(tmp_path.glob("archives/*.zip"))) == 1
