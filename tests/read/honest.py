"""Makes honest archives of many forms and publishes each: a commons must refuse none of them.

``python -m tests.read.honest NUMBER [TARGET…]``, from the root of the tree: NUMBER archives, shared out among the targets
(``mock``, ``sqlite``, ``postgresql``, ``mariadb``, ``mysql``, ``firebird``; the first two where none is named). The seed
``--seed`` draws the forms, ``--forms`` says from which of them, and ``--least`` how many seconds a cycle has at least. A
study and an ``ab`` leave several archives, of which each is one. A refusal is printed with the options that made it, and
its archive is kept in ``--out``.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from dsbench import servers
from dsbench.archive import Archive
from dsbench.commons.about import PublisherNotes
from dsbench.commons.audit import audit
from dsbench.commons.entry import write
from dsbench.commons.packing import prepare
from dsbench.commons.verifying import verify
from dsbench.library.running import specify
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute, resume
from dsbench.problem import Problem
from dsbench.spec import Target
from fixtures.nodes import Bed

FORMS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "clients": {"clients": (1, 2, 3)},
    "peak": {"peak": True, "clients": 4, "cycles": 1},
    "statements": {"call": "statements"},
    "prepared": {"call": "statements", "prepare": True},
    "procedure": {"population": "procedure", "scales": (1,), "cycles": 1},
    "grown": {"grow": True, "scales": (1, 2)},
    "cutoff": {"refine": "cutoff", "scales": (1, 2), "cycles": 1},
    "serializable": {"isolation": "serializable", "retry": True},
    "reconnect": {"reconnect": True},
    "connections": {"connections": 3},
    "os_threads": {"os_threads": 1, "clients": 5},
    "ramp-up": {"ramp_up": 0.3},
    "found ramp-up": {"find_ramp_up": True, "scales": (1,)},
    "precision": {"precision": 20, "max_cycles": 6, "scales": (1,)},
    "min_duration": {"precision": 20, "max_cycles": 6, "min_duration": 1, "duration": 2, "scales": (1,)},
    "open": {"rate": 200},
    "constant": {"rate": 150, "arrival": "constant"},
    "overloaded": {"rate": 30_000},
    "legs": {"load": "0s:100, 1s:50..400, 2s:sine 50..300/1s, 3s:end", "cycles": 1},
    "sleepers": {"load": "0s:200, 1s:100x2, 2s:end", "clients": 4, "cycles": 1},
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
    "insert": {"workload": "insert", "settings": {"rows": "300", "settle": "short"}, "scales": (1,), "clients": 2,
               "duration": 0.5},
    "insert, shared": {"workload": "insert", "settings": {"rows": "300", "tables": "shared", "rates": "100"},
                       "scales": (1,), "clients": 2, "duration": 0.5},
    "tpch": {"workload": "tpch", "settings": {"size": "0.01", "streams": "2"}, "scales": (1,), "cycles": 1},
    "ch": {"workload": "ch", "settings": {"size": "0.01"}, "scales": (1,), "cycles": 1, "duration": 1},
}  # fmt: skip
"""Those that take seconds and stores rows, drawn more seldom."""
SEVERAL: Final = ("study", "ab", "ab, one database")
"""Those that leave several archives, drawn more seldom."""
STORED: Final = sorted(path for path in (Path(__file__).parents[1] / "data/archives").glob("*.zip") if path.stem != "cut")
_MOCK: Final = ("mock:", "mock:?latency_us=300", "mock:?latency_us=2000&latency=exponential", "mock:?fail_every=40",
                "mock:?latency_us=500&still_every_ms=300&still_ms=40")  # fmt: skip
_DRIVERS: Final = {
    "sqlite": ("sqlite3",), "postgresql": ("psycopg", "psycopg2", "pg8000", "pgbench"), "mariadb": ("pymysql",),
    "mysql": ("pymysql",), "firebird": ("firebird-driver",),
}  # fmt: skip
_UNLIKE: Final = {"sqlite": ("procedure",), "mock": ("grown", "overloaded", "procedure", "cutoff", "objective", "capacity, graduated", "tpcc, objective", "ab, one database")}
"""Forms that are nothing there, or take long where an engine answers at once."""


class _Ending(Silent):
    """Ends a run when its first cycle is kept."""

    def message(self, text: str) -> None:
        if "cycle 1:" in text:
            raise RunError("enough", "go on")


def _drawn(draw: random.Random, target: str, least: float, of: Collection[str]) -> tuple[str, dict[str, Any]]:
    """A form, one ``of`` these where some are named, and its options: clients, cycles, scales and seconds at random where it
    leaves them open."""
    chosen = {**FORMS, **(SLOW if target != "mock" and (of or draw.random() < 0.15) else {})}
    special = ["resumed", "interrupted", "killed", "nodes", *(("existing", "driver", "perf") if target != "mock" else ())]
    special += SEVERAL if of or draw.random() < 0.2 else ()
    special += ("stored",) if of or draw.random() < 0.05 else ()
    names = [name for name in [*chosen, *special] if name not in _UNLIKE.get(target, ())]
    name = draw.choice([name for name in names if not of or name in of])
    options = {
        "clients": draw.choice((1, 2, 3, 4)), "cycles": draw.choice((1, 2, 3)), "scales": draw.choice(((1,), (1,), (1, 2))),
        "duration": draw.choice((0.2, 0.3, 0.5, 0.8)), "samples": draw.choice((0, 20)), "seed": draw.randrange(1, 10**6),
        "placement": draw.choice(("free", "free", "try")),
        **chosen.get(name, {}),
    }  # fmt: skip
    options["duration"] = max(options["duration"], least)
    if "load" in options:
        del options["duration"]
    if name in ("resumed", "interrupted", "killed"):
        options |= {"cycles": 3, "scales": draw.choice(((1,), (1, 2)))}
    if name in SEVERAL:
        options |= {"cycles": 1, "scales": (1,)}
    if name == "driver":
        options |= {"driver": draw.choice(_DRIVERS[target]), "duration": 1.0, "clients": 2}
    if name == "perf":
        options |= {"perf": draw.choice(("calls", "profile")), "scales": (1,)}
    return name, options


def _make(name: str, url: str, options: dict[str, Any], folder: Path, number: int) -> list[Path]:
    """Makes the archives of one form; gives where they are."""
    if name == "stored":
        return [STORED[number % len(STORED)]]
    if name == "study":
        return _study(url, options, folder)
    if name.startswith("ab"):
        return _against(url, options, folder, one_database=name != "ab")
    if name in _ALONE:
        return [_ALONE[name](url, options, folder)]
    spec = specify(url, **options)
    if name != "resumed":
        return [execute(spec, folder, Silent()).archive]
    cut = execute(spec, folder, _Ending())
    return [resume(cut.archive, Target(url=url), Silent()).archive]


def _called(*words: str, within: Path, good: tuple[int, ...] = (0,)) -> None:
    """Calls the program; ``RunError`` where it ends otherwise."""
    done = subprocess.run([sys.executable, "-m", "dsbench", *words], cwd=within, capture_output=True, text=True, check=False)
    if done.returncode not in good:
        raise RunError(f"{words[0]}: {done.stderr[-400:]}", "")


def _study(url: str, options: dict[str, Any], folder: Path) -> list[Path]:
    """Two levels, each in two blocks: of clients, of calls or of the placement of clients."""
    factors: tuple[dict[str, Any], ...] = (
        {"name": "clients", "path": "clients", "levels": [1, 2]},
        {"name": "calls", "levels": [{"name": "default"}, {"name": "statements", "set": {"call": "statements"}}]},
        {"name": "placement", "path": "placement", "levels": ["free", "try"]},
    )
    factor = factors[options["seed"] % 3]
    run = {"target": url, **{key: value for key, value in options.items() if key not in ("seed", factor.get("path"))}}
    lines = ['name = "honest"', "[run]", *(f"{key} = {_toml(value)}" for key, value in run.items())]
    lines += ["[[factor]]", *(f"{key} = {_toml(value)}" for key, value in factor.items())]
    (folder / "study.toml").write_text("\n".join([*lines, "[trials]", "repeat = 2", ""]))
    _called("study", "run", "study.toml", "--quiet", "--out", "study", "--trust", within=folder)
    return sorted((folder / "study").rglob("*.zip"))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list | tuple) else json.dumps(value)


_PRODUCTS: Final = {"sqlite": "sqlite", "postgresql": "postgresql", "mysql": "mariadb", "firebird": "firebird"}
"""By the scheme of a URL, which product has servers of dsbench's own."""


def _against(url: str, options: dict[str, Any], folder: Path, *, one_database: bool) -> list[Path]:
    """A target against itself: three blocks of four runs."""
    asked = {key: value for key, value in options.items() if key not in ("seed", "placement")}
    more = ("--one-database",) if one_database else ()
    side = f"private:{_PRODUCTS[url.partition(':')[0]]}" if one_database else url
    words = ("ab", side, side, "--quiet", "--max-blocks", "3", *more, *_words(asked), "--out", "ab")
    _called(*words, within=folder, good=(0, 3, 4))
    return sorted((folder / "ab").rglob("*.zip"))


def _words(options: dict[str, Any]) -> list[str]:
    """Options of a run as its command line has them."""
    found = []
    for key, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        found += [f"--{key.replace('_', '-')}", text]
    return found


def _existing(url: str, options: dict[str, Any], folder: Path) -> Path:
    """Scripts on the tables that another run kept."""
    execute(specify(url, workload="tpcb", scales=(1,), cycles=1, duration=0.1, clients=1, keep=True), folder, Silent())
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


def _interrupted(url: str, options: dict[str, Any], folder: Path) -> Path:
    """Goes on, by the command line, with a run that Ctrl-C ended after its first cycle."""
    found = _ended(url, options, folder, signal.SIGINT)
    _called("run", url, "--resume", str(found), "--quiet", within=folder)
    return found


def _killed(url: str, options: dict[str, Any], folder: Path) -> Path:
    """Goes on with a run that was killed after its first cycle."""
    found = _ended(url, options, folder, signal.SIGKILL)
    return resume(found, Target(url=url), Silent()).archive


def _ended(url: str, options: dict[str, Any], folder: Path, by: signal.Signals) -> Path:
    """The folder of a run that got a signal after its first cycle."""
    words = [sys.executable, "-m", "dsbench", "run", url, *_words(options), "--out", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until and not list(folder.glob("*/cycles/*.parquet")):
            time.sleep(0.05)
        process.send_signal(by)
    (found,) = (path.parent for path in folder.glob("*/run.json"))
    return found


_ALONE: Final = {"existing": _existing, "nodes": _on_nodes, "killed": _killed, "interrupted": _interrupted}


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
    if (status := Archive.open(path).run.status) != "complete":
        raise RunError(f"it is {status}", "")
    if wrong := audit(Archive.open(path)):
        return "; ".join(f"{one.rule}: {one.sentence}" for one in wrong)
    try:
        verify(write(prepare(path, PublisherNotes()), folder))
    except Problem as error:
        return str(error)
    return ""


@dataclass
class _Found:
    """What became of the archives, by target and form."""

    made: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unmade: Counter[str] = field(default_factory=Counter)

    def make(self, target: str, name: str, url: str, options: dict[str, Any], folder: Path, number: int) -> None:
        """Makes and tries the archives of one form; keeps ``folder`` where one was refused."""
        folder.mkdir()
        bad = False
        try:
            for path in _make(name, url, options, folder, number):
                why = _try(path, folder / "commons")
                self.made[f"{target}, {name}"] += 1
                if why:
                    bad = True
                    self.refused[f"{target}, {name}"] += 1
                    print(f"refused: {path} {name} {url} {options}\n  {why}", flush=True)
        except (Problem, ValueError, OSError, subprocess.SubprocessError) as error:
            self.unmade[f"{target}, {name}: {str(error)[:300]}"] += 1
        if not bad:
            shutil.rmtree(folder)

    def tell(self) -> None:
        for what, times in sorted(self.made.items()):
            print(f"{times:4}  {what}")
        for what, times in sorted(self.unmade.items()):
            print(f"not made, {times}: {what}")
        refused, unmade = self.refused.total(), self.unmade.total()
        print(f"{self.made.total()} archives of {len(self.made)} forms and targets, {refused} refused; {unmade} not made")


def main() -> int:
    """Says how many archives were made, and how many of them a commons refused."""
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("targets", nargs="*", default=["mock", "sqlite"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--forms", default="", help="names with ; between, as in FORMS and beside it")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "honest")
    asked = parser.parse_args()
    known = {*FORMS, *SLOW, *SEVERAL, *_ALONE, "resumed", "driver", "perf", "stored"}
    forms = [one for one in asked.forms.split(";") if one]
    if unknown := set(forms) - known:
        parser.error(f"--forms: {min(unknown)!r} is none of {'; '.join(sorted(known))}")
    draw, until = random.Random(asked.seed), time.monotonic() + asked.minutes * 60
    found = _Found()
    asked.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        urls = {}
        for target in asked.targets:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            urls[target] = stack.enter_context(_target(target, place))
        for number in count():
            if found.made.total() >= asked.number or time.monotonic() > until or found.unmade.total() > asked.number:
                break
            target = asked.targets[number % len(asked.targets)]
            try:
                name, options = _drawn(draw, target, asked.least, forms)
            except IndexError:  # A form that this target has not.
                continue
            url = draw.choice(_MOCK) if target == "mock" else urls[target]
            found.make(target, name, url, options, asked.out / f"{number:04}", number)
    found.tell()
    return 1 if found.refused else 0


if __name__ == "__main__":
    sys.exit(main())
