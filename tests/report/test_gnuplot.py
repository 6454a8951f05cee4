"""Diagrams for gnuplot, drawn by gnuplot."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dsbench.report import finish

STORED = Path(__file__).parents[1] / "data" / "archives"


@pytest.mark.parametrize(
    ("archive", "names"),
    [("pg", {"rate", "cycle", "freq", "conf"}), ("nodes", {"rate", "node", "cycle", "freq", "conf"}),
     ("mock-threads", {"rate", "cycle", "freq", "conf", "connections", "response"})],
)  # fmt: skip
def test_every_diagram_of_the_paper_is_drawn_without_a_complaint(archive: str, names: set[str], tmp_path: Path) -> None:
    written = finish.for_gnuplot(STORED / f"{archive}.zip", tmp_path, fresh=False)
    scripts = [path for path in written if path.suffix == ".gp"]
    assert names <= {path.stem.removeprefix("results-") for path in scripts}
    for script in scripts:
        done = subprocess.run(["gnuplot", script.name], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / f"{script.name}.pdf").read_bytes().startswith(b"%PDF")


def test_data_are_those_of_the_edited_file_and_text_is_no_command(tmp_path: Path) -> None:
    finish.plot(STORED / "pg.zip", tmp_path, fresh=True)
    path = tmp_path / "results-cycle.vl.json"
    spec = json.loads(path.read_text())
    spec["title"]["text"] = "it's `touch hacked`\nset output 'x'"
    (rows,) = spec["datasets"].values()
    path.write_text(json.dumps(spec))
    finish.for_gnuplot(tmp_path, None, fresh=False)
    blocks = (tmp_path / "results-cycle.dat").read_text().split("\n\n\n")
    points = {tuple(map(float, line.split())) for block in blocks for line in block.splitlines() if line[:1].isdigit()}
    np.testing.assert_allclose(sorted(points), sorted((row["cycle"], row["shown"]) for row in rows))
    script = (tmp_path / "results-cycle.gp").read_text()
    assert "set title 'it''s `touch hacked` set output ''x'''\n" in script
    subprocess.run(["gnuplot", "results-cycle.gp"], cwd=tmp_path, check=True, timeout=60)
    assert not (tmp_path / "hacked").exists()
