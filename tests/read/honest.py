"""Makes honest archives of many forms and publishes each: a commons must refuse none of them.

``python -m tests.read.honest NUMBER [TARGET…]``, from the root of the tree: NUMBER archives, shared out among the targets
(``mock``, ``sqlite``, ``postgresql``, ``mariadb``, ``mysql``, ``firebird``; the first two where none is named). The seed
``--seed`` draws the forms. A refusal is printed with the options that made it, and its archive is kept in ``--out``.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from dsbench import servers
from dsbench.archive import Archive
from dsbench.library.running import specify
from dsbench.measure.events import Silent
from dsbench.measure.journal import RunError
from dsbench.measure.run import execute, resume
from dsbench.problem import Problem
from dsbench.read.commons.about import About
from dsbench.read.commons.audit import audit
from dsbench.read.commons.entry import write
from dsbench.read.commons.packing import prepare
from dsbench.read.commons.verifying import verify
from dsbench.spec import Target
from fixtures.nodes import Bed

FORMS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "threads": {"threads": (1, 2, 3)},
    "peak": {"peak": True, "threads": 4, "cycles": 1},
    "statements": {"call": "statements"},
    "prepared": {"call": "statements", "prepare": True},
    "procedure": {"population": "procedure", "scales": (1,), "cycles": 1},
    "grown": {"grow": True, "scales": (1, 2)},
    "cutoff": {"refine": "cutoff", "scales": (1, 2), "cycles": 1},
    "serializable": {"isolation": "serializable", "retry": True},
    "reconnect": {"reconnect": True},
    "connections": {"connections": 3},
    "carriers": {"carriers": 1, "threads": 5},
    "ramp-up": {"ramp_up": 0.3},
    "found ramp-up": {"find_ramp_up": True, "scales": (1,)},
    "precision": {"precision": 20, "most_cycles": 6, "scales": (1,)},
    "shortest": {"precision": 20, "most_cycles": 6, "shortest": 1, "duration": 2, "scales": (1,)},
    "open": {"rate": 200},
    "constant": {"rate": 150, "arrival": "constant"},
    "overloaded": {"rate": 30_000},
    "legs": {"load": "0s:100, 1s:50..400, 2s:sine 50..300/1s, 3s:end", "cycles": 1},
    "sleepers": {"load": "0s:200, 1s:100x2, 2s:end", "threads": 4, "cycles": 1},
    "objective": {"objective": "p99=30ms", "scales": (1,), "duration": 0.3},
    "graduated": {"graduated": True, "scales": (1,), "cycles": 1, "duration": 0.4},
    "capacity, graduated": {"graduated": True, "objective": "p99=30ms", "scales": (1,), "cycles": 1, "duration": 0.3},
    "traced": {"trace": True},
    "select": {"workload": "select"},
    "tp1": {"workload": "tp1", "settings": {"transactions": "60"}},
    "tp1, remote": {"workload": "tp1", "settings": {"transactions": "60", "remote": "15"}},
    "t1": {"workload": "t1", "settings": {"transactions": "60"}},
    "t2": {"workload": "t2", "settings": {"transactions": "60"}},
    "tpcc": {"workload": "tpcc", "settings": {"size": "0.01"}},
    "tpcc, open": {"workload": "tpcc", "settings": {"size": "0.01"}, "rate": 50},
    "tpcc, terminals": {"workload": "tpcc", "settings": {"size": "0.01", "delivery": "deferred"}, "pace": "terminals",
                        "terminals": 10, "duration": 3, "cycles": 1, "scales": (1,)},
    "tpcc, objective": {"workload": "tpcc", "settings": {"size": "0.01"}, "objective": "new_order.p90=30ms",
                        "scales": (1,), "duration": 0.3},
    "builtin": {"builtin": ("tpcb-like@2", "select-only@3", "simple-update@1")},
    "select-only": {"builtin": ("select-only",)},
    "per statement": {"builtin": ("tpcb-like",), "per_statement": True},
    "orders": {"workload": "orders"},
    "smallbank": {"workload": "smallbank"},
    "ycsb-a": {"workload": "ycsb-a"},
    "ycsb-e": {"workload": "ycsb-e"},
    "sysbench": {"workload": "sysbench-oltp-read-write"},
}  # fmt: skip
"""Forms that any product has, by name, as options of a run."""
SLOW: Final[dict[str, dict[str, Any]]] = {
    "insert": {"workload": "insert", "settings": {"rows": "300", "settle": "short"}, "scales": (1,), "threads": 2,
               "duration": 0.5},
    "insert, shared": {"workload": "insert", "settings": {"rows": "300", "tables": "shared", "rates": "100"},
                       "scales": (1,), "threads": 2, "duration": 0.5},
    "tpch": {"workload": "tpch", "settings": {"size": "0.01", "streams": "2"}, "scales": (1,), "cycles": 1},
    "ch": {"workload": "ch", "settings": {"size": "0.01"}, "scales": (1,), "cycles": 1, "duration": 1},
}  # fmt: skip
"""Those that take seconds and stores rows, drawn more seldom."""
_MOCK: Final = ("mock:", "mock:?latency_us=300", "mock:?latency_us=2000&latency=exponential", "mock:?fail_every=40",
                "mock:?latency_us=500&still_every_ms=300&still_ms=40")  # fmt: skip
_DRIVERS: Final = {
    "sqlite": ("sqlite3",), "postgresql": ("psycopg", "psycopg2", "pg8000", "pgbench"), "mariadb": ("pymysql",),
    "mysql": ("pymysql",), "firebird": ("firebird-driver",),
}  # fmt: skip
_UNLIKE: Final = {"sqlite": ("procedure",), "mock": ("grown", "overloaded", "procedure", "cutoff", "objective", "capacity, graduated", "tpcc, objective")}
"""Forms that are nothing there, or take long where an engine answers at once."""


class _Ending(Silent):
    """Ends a run when its first cycle is kept."""

    def message(self, text: str) -> None:
        if "cycle 1:" in text:
            raise RunError("enough", "go on")


def _drawn(draw: random.Random, target: str) -> tuple[str, dict[str, Any]]:
    """A form and its options, with threads, cycles, scales and seconds at random where it leaves them open."""
    chosen = {**FORMS, **(SLOW if target != "mock" and draw.random() < 0.15 else {})}
    special = ["resumed", "killed", "nodes", *(("existing", "driver", "perf") if target != "mock" else ())]
    names = [name for name in chosen if name not in _UNLIKE.get(target, ())]
    name = draw.choice([*names, *special])
    options = {
        "threads": draw.choice((1, 2, 3, 4)), "cycles": draw.choice((1, 2, 3)), "scales": draw.choice(((1,), (1,), (1, 2))),
        "duration": draw.choice((0.2, 0.3, 0.5, 0.8)), "samples": draw.choice((0, 20)), "seed": draw.randrange(1, 10**6),
        "placement": draw.choice(("free", "free", "try")),
        **chosen.get(name, {}),
    }  # fmt: skip
    if "load" in options:
        del options["duration"]
    if name in ("resumed", "killed"):
        options |= {"cycles": 3, "scales": (1,)}
    if name == "driver":
        options |= {"client": draw.choice(_DRIVERS[target]), "duration": 1.0, "threads": 2}
    if name == "perf":
        options |= {"perf": draw.choice(("calls", "profile")), "scales": (1,)}
    return name, options


def _make(name: str, url: str, options: dict[str, Any], folder: Path) -> Path:
    """Makes the archive of one form; gives its folder."""
    if name == "existing":
        return _existing(url, options, folder)
    if name == "nodes":
        return _on_nodes(url, options, folder)
    if name == "killed":
        return _killed(url, options, folder)
    spec = specify(url, **options)
    if name != "resumed":
        return execute(spec, folder, Silent()).archive
    cut = execute(spec, folder, _Ending())
    return resume(cut.archive, Target(url=url), Silent()).archive


def _words(options: dict[str, Any]) -> list[str]:
    """Options of a run as its command line has them."""
    found = []
    for key, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        found += [f"--{key.replace('_', '-')}", text]
    return found


def _existing(url: str, options: dict[str, Any], folder: Path) -> Path:
    """Scripts on the tables that another run kept."""
    execute(specify(url, workload="tpcb", scales=(1,), cycles=1, duration=0.1, threads=1, keep=True), folder, Silent())
    script = folder / "own.sql"
    script.write_text(f"\\set aid random(1, 1000)\nSELECT 1 + :aid{' FROM RDB$DATABASE' * url.startswith('firebird')};\n")
    asked = {**options, "scales": (1,), "duration": 0.3}
    try:
        return execute(specify(url, script=str(script), existing=True, **asked), folder / "own", Silent()).archive
    finally:
        subprocess.run([sys.executable, "-m", "dsbench", "drop", url, "--yes"], check=True, stdout=subprocess.DEVNULL)


def _on_nodes(url: str, options: dict[str, Any], folder: Path) -> Path:
    with Bed(folder / "bed", 2) as bed:
        run = bed.run(url, *_words({**options, "scales": (1,), "cycles": 2, "duration": 1}))
        for number in (1, 2):
            bed.node(number)
        out, _ = run.communicate(timeout=240)
        if run.returncode:
            raise RunError(out[-400:], "")
        return bed.archive().path


def _killed(url: str, options: dict[str, Any], folder: Path) -> Path:
    """Goes on with a run that was killed after its first cycle."""
    words = [sys.executable, "-m", "dsbench", "run", url, *_words(options), "--out", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until and not list(folder.glob("*/cycles/*.parquet")):
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    (found,) = (path.parent for path in folder.glob("*/run.json"))
    return resume(found, Target(url=url), Silent()).archive


@contextmanager
def _target(target: str, folder: Path) -> Iterator[str]:
    """A URL of ``target``: for SQLite a file, else one server for all of its archives."""
    if target in ("mock", "sqlite"):
        yield f"sqlite:///{folder / 'd.db'}" if target == "sqlite" else "mock:"
        return
    with servers.start(Target(url=f"private:{target}"), 40) as server:
        yield server.url


def _try(path: Path, folder: Path) -> str:
    """Why a commons refuses the archive at ``path``; empty where it takes it."""
    if wrong := audit(Archive.open(path)):
        return "; ".join(f"{one.rule}: {one.sentence}" for one in wrong)
    try:
        verify(write(prepare(path, About()), folder))
    except Problem as error:
        return str(error)
    return ""


def main() -> int:
    """Says how many archives were made, and how many of them a commons refused."""
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("targets", nargs="*", default=["mock", "sqlite"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "honest")
    asked = parser.parse_args()
    draw, until = random.Random(asked.seed), time.monotonic() + asked.minutes * 60
    made, refused, unmade = Counter[str](), Counter[str](), Counter[str]()
    asked.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        urls = {}
        for target in asked.targets:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            urls[target] = stack.enter_context(_target(target, place))
        for number in range(asked.number):
            if time.monotonic() > until:
                break
            target = asked.targets[number % len(asked.targets)]
            name, options = _drawn(draw, target)
            url = draw.choice(_MOCK) if target == "mock" else urls[target]
            folder = asked.out / f"{number:04}"
            folder.mkdir()
            try:
                path = _make(name, url, options, folder)
                if Archive.open(path).run.status != "complete":
                    raise RunError(f"it is {Archive.open(path).run.status}", "")
                why = _try(path, folder / "commons")
            except (Problem, ValueError, OSError, subprocess.SubprocessError) as error:
                unmade[f"{target}, {name}: {str(error)[:200]}"] += 1
                shutil.rmtree(folder)
                continue
            made[f"{target}, {name}"] += 1
            if why:
                refused[f"{target}, {name}"] += 1
                print(f"refused: {folder} {name} {url} {options}\n  {why}", flush=True)
            else:
                shutil.rmtree(folder)
    for what, count in sorted(unmade.items()):
        print(f"not made, {count}: {what}")
    print(f"{made.total()} archives of {len(made)} forms and targets, {refused.total()} refused; {unmade.total()} not made")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
