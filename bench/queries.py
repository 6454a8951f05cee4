"""``python -m bench.queries``: the client's share of the time of a query.

A private PostgreSQL notes how long it works on each statement (``log_min_duration_statement``). The 22 queries of a
power test are asked there, and the server's times are taken from those of dsbench: what is left is the client, the
kernel that wakes both, and the way between them. That a query leaves its answer behind is in it, its check is not.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.clients import BenchError
from dsbench import servers
from dsbench.archive import Archive
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.spec import Target, build
from dsbench.stats.queries import QUERIES

GOAL_MS = 1.0
SEED = 5
_NOTED = re.compile(r"duration: ([\d.]+) ms  statement: (.*)", re.DOTALL)


def main() -> None:
    """Asks the queries and prints the shares."""
    parser = argparse.ArgumentParser(prog="python -m bench.queries", description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="0.1", help="scale factor, in hundredths [0.1]")
    asked = parser.parse_args()
    found = measure(asked.size)
    print(f"scale factor {asked.size}, load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs\n")
    print("query   server ms   dsbench ms   client's share ms")
    for kind, server, ours in found:
        print(f"{kind:5} {server:11.3f} {ours:12.3f} {ours - server:19.3f}")
    shares = [ours - server for _, server, ours in found]
    most, median = max(shares), statistics.median(shares)
    print(f"\nmedian {median:.3f} ms, greatest {most:.3f} ms; goal below {GOAL_MS:g} ms: "
          f"{'met' if most < GOAL_MS else 'met by the median' if median < GOAL_MS else 'MISSED'}")  # fmt: skip
    sys.exit(0 if median < GOAL_MS else 1)


def measure(size: str) -> list[tuple[str, float, float]]:
    """Query, and the milliseconds of the server and of dsbench, in the order in which they were asked."""
    settings = {"log_min_duration_statement": "0", "log_line_prefix": "%p "}
    own = {"size": size, "tests": "power", "runs": "1", "answers": "unchecked"}
    with tempfile.TemporaryDirectory() as name:
        spec = Target(url="private:postgresql", settings=settings)
        with servers.start(spec, 8) as server:
            wanted = {"target": {"url": server.url}, "workload": "tpch", "scales": (1,), "workload_settings": own}
            outcome = execute(build({**wanted, "seed": SEED}), Path(name), Silent())
            target = TargetDatabase(server.url)
            texts = [text for text in Bench(target, "tpch", 1, None, own).draws(SEED, 0, 24) if text[:2] != "RF"]
            target.close()
            logs = [path.read_text(errors="replace") for path in server.directory.parent.iterdir() if path.is_file()]
        rows = Archive.open(outcome.archive).table("cycles").to_pylist()
    asked = sorted((row for row in rows if row["kind"] in QUERIES), key=lambda row: row["first_start_ns"])
    noted = {_plain(text): ms for text, ms in statements("\n".join(logs))}
    texts = [_plain(text) for text in texts]
    if missing := [text for text in texts if text not in noted]:
        raise BenchError(f"the server noted nothing of {len(missing)} queries, of this one first: {missing[0]}")
    return [(row["kind"], noted[text], row["residence_ns"] / 1e6) for row, text in zip(asked, texts, strict=True)]


def _plain(text: str) -> str:
    """Without the parameters, which a run draws by its stage."""
    return re.sub(r"'[^']*'|\b\d+(\.\d+)?", "?", text)


def statements(log: str) -> Iterator[tuple[str, float]]:
    """Each statement that a server noted, with its milliseconds; lines of it but the first begin with a tabulator."""
    for entry in re.split(r"\n(?!\t)", log):
        if match := _NOTED.search(entry):
            yield match[2].replace("\n\t", "\n"), float(match[1])


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
