"""Diagrams for gnuplot, drawn by gnuplot."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dsbench.read import finish
from dsbench.read.draw import gnuplot

STORED = Path(__file__).parents[1] / "data" / "archives"


@pytest.mark.parametrize(
    ("archive", "names"),
    [("pg", {"rate", "cycle", "freq", "conf"}), ("nodes", {"rate", "node", "cycle", "freq", "conf"}),
     ("mock-clients", {"rate", "cycle", "freq", "conf", "connections", "response"})],
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


def test_gaps_in_a_curve_begin_no_other_block(tmp_path: Path) -> None:
    rows = [{"name": name, "x": x, "y": None if gap else x} for name, gaps in (("a", (3, 4)), ("b", (1, 2, 3, 4, 5)), ("c", ()))
            for x in range(1, 6) for gap in (x in gaps,)]
    encoding = {"x": {"field": "x"}, "y": {"field": "y"}, "color": {"field": "name"}}
    spec = {"datasets": {"d": rows}, "title": {"text": "t"},
            "layer": [{"mark": "line", "data": {"name": "d"}, "encoding": encoding}]}  # fmt: skip
    for name, text in gnuplot.files("gaps", spec).items():
        (tmp_path / name).write_text(text)
    # What it draws for block 1 is c: b has no point.
    told = "set table 'out'; plot 'results-gaps.dat' index 1 with lines"
    subprocess.run(["gnuplot", "-e", told], cwd=tmp_path, check=True, timeout=60)
    assert sum(line.endswith(" i") for line in map(str.rstrip, (tmp_path / "out").read_text().splitlines())) == 5
    assert (tmp_path / "results-gaps.gp").read_text().count(" index ") == 2
