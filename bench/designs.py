"""``python -m bench.designs FOLDER``: what ``dsbench ab`` finds on this machine while other programs come and go, one
side after the other and both at the same time.

B is PostgreSQL as it is, or with a planted CPU cost per message, which a library makes that is loaded before it, or
with a setting: it logs a sample of its statements, as many as take that share of the CPU time. Each round makes both
designs with each B. Beside them a process burns CPU time for 5 to 60 s and rests as long. Comparisons that FOLDER has
are not made again; ``--write`` puts their rows into the table of docs/noise.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Final

from bench.tables import put, taken

PAGE: Final = Path(__file__).parent.parent / "docs" / "noise.md"
LOAD: Final = ("--workload", "select", "--scales", "4", "--clients", "4", "--cycles", "3", "--duration", "3")
_SHIM: Final = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
ssize_t recv(int socket, void *data, size_t size, int flags)
{
    static ssize_t (*next)(int, void *, size_t, int);
    static long cost;
    if (!next) {
        next = dlsym(RTLD_NEXT, "recv");
        cost = atol(getenv("PLANTED_NS"));
    }
    ssize_t found = next(socket, data, size, flags);
    if (found > 0)
        for (long until = now() + cost; now() < until;);
    return found;
}
"""


PLANTED: Final = ("cpu", "setting")


@dataclass(frozen=True)
class Comparison:
    """One comparison."""

    duet: bool
    planted: str
    """One of ``PLANTED``; empty where B is equal."""
    verdict: str
    ratio: float | None
    low: float | None
    high: float | None
    blocks: int
    seconds: float


def plant(base: Path, folder: Path, cost_ns: int) -> Path:
    """An installation like ``base`` whose server takes ``cost_ns`` more for each message."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    (folder / "planted.c").write_text(_SHIM)
    library = folder / "planted.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, folder / "planted.c", "-ldl"], check=True)
    for program in (base / "bin").iterdir():
        if program.name != "postgres":
            (folder / "bin" / program.name).symlink_to(program)
    wrapper = folder / "bin/postgres"
    given = f"PLANTED_NS={cost_ns} LD_PRELOAD={shlex.quote(str(library))}"
    wrapper.write_text(f'#!/bin/sh\n{given} exec {shlex.quote(str(base))}/bin/postgres "$@"\n')
    wrapper.chmod(0o755)
    for name in ("lib", "share"):
        if (base / name).exists():
            (folder / name).symlink_to(base / name)
    return folder


@contextmanager
def coming_and_going(share: float) -> Iterator[None]:
    """A process that burns one CPU for ``share`` of the time."""
    words = [sys.executable, "-c", "import bench.designs as d, sys; d.burn(float(sys.argv[1]))", str(share)]
    process = subprocess.Popen(words) if share else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def burn(share: float) -> None:
    """Burns and rests until it is ended, or who began it has."""
    draw, parent = random.Random(), os.getppid()
    while os.getppid() == parent:
        until = time.monotonic() + draw.uniform(5, 60) * share * 2
        while time.monotonic() < until:
            pass
        time.sleep(draw.uniform(5, 60) * (1 - share) * 2)


def called(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """dsbench with these words."""
    done = subprocess.run([sys.executable, "-m", "dsbench", *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode in (1, 2):
        sys.exit(f"error: dsbench {' '.join(map(str, words))} ended with {done.returncode}")
    return done


def logging(url: str, share: float) -> str:
    """The server at ``url`` with a setting that logs this share of its statements."""
    return f"{url}&log_min_duration_sample=0&log_statement_sample_rate={share:.4f}"


def cpu_ns(url: str, out: Path) -> float:
    """CPU time of the machine for a transaction where all CPUs are busy."""
    shutil.rmtree(out, ignore_errors=True)
    called("run", url, *LOAD, "--out", out, "--report", "none")
    (archive,) = (path for path in out.iterdir() if path.is_dir())
    found = json.loads(called("show", archive, "--json").stdout)
    return 1e9 * len(os.sched_getaffinity(0)) / float(found["scales"][0]["rate_median_tps"])


def compare(sides: Sequence[str], out: Path, duet: bool, planted: str, blocks: int) -> Comparison:
    """The servers ``sides``."""
    begun = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)  # What a comparison left that was cut short.
    done = called("ab", *sides, *LOAD, "--max-blocks", str(blocks), "--difference", "0.5%", "--json", "--quiet",
                  "--out", out, *(["--duet"] if duet else []))  # fmt: skip
    found = json.loads(done.stdout)
    within = found["ratio"]
    return Comparison(duet, planted, found["verdict"], within["value"], within["low"], within["high"],
                      len(found["blocks"]), time.monotonic() - begun)  # fmt: skip


def table(made: Sequence[Comparison], size: float) -> str:
    """Both designs beside each other."""
    lines = [
        "| sides | B | comparisons | ratio, median (all) | interval, median | called slower, faster | minutes |",
        "|---|---|--:|---|---|--:|--:|",
    ]
    for duet in (False, True):
        for planted in ("", *PLANTED):
            some = [one for one in made if (one.duet, one.planted) == (duet, planted)]
            if not some:
                continue
            ratios = sorted(one.ratio for one in some if one.ratio is not None)
            wide = [sqrt_of(one.high / one.low) for one in some if one.low and one.high]
            known = f"±{median(wide) - 1:.1%}" if wide else "unknown"
            slower, faster = (sum(one.verdict == word for one in some) for word in ("slower", "faster"))
            sides = "at the same time" if duet else "in turn"
            what = {"": "equal", "cpu": f"{size:.0%} more CPU time", "setting": f"a setting, {size:.0%}"}[planted]
            lines.append(
                f"| {sides} | {what} | {len(some)} "
                f"| {median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}) | {known} "
                f"| {slower}, {faster} | {median(one.seconds for one in some) / 60:.1f} |"
            )
    return "\n".join(lines) + "\n"


def together(old: str, new: str) -> str:
    """The rows of ``new``, and those of ``old`` that it has not, by design."""
    head, rule, *rows = new.splitlines()
    kinds = [row.split("|")[1:3] for row in rows]
    rows += [row for row in old.splitlines()[2:] if row.split("|")[1:3] not in kinds]
    return "\n".join([head, rule, *sorted(rows, key=lambda row: "in turn" not in row)]) + "\n"


def sqrt_of(ratio: float) -> float:
    """Half of an interval on the scale of ratios."""
    return exp(log(ratio) / 2)


def _url(base: Path) -> str:
    return f"private:postgresql?basedir={base}"


def main() -> None:
    """Makes the rounds that are missing, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.designs", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for what is made")
    parser.add_argument("--base", type=Path, default=Path("/usr/lib/postgresql/15"), help="folder of PostgreSQL")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--duet", action="store_true", help="make only comparisons of both sides at the same time")
    parser.add_argument("--only", choices=PLANTED, help="make only comparisons with B planted in this way")
    parser.add_argument("--size", type=float, default=0.05, help="planted share of a transaction's CPU time (0.05)")
    parser.add_argument("--foreign", type=float, default=0.5, help="share of the time that burns a CPU (0.5)")
    parser.add_argument("--blocks", type=int, default=12, help="blocks at most in turn; twice as many at the same time")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    asked = parser.parse_args()
    folder: Path = asked.folder.resolve()  # Servers start in another one.
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "designs.json"
    made = [Comparison(**one) for one in json.loads(kept.read_text())] if kept.exists() else []
    planted, same = folder / "planted", _url(asked.base)
    if not (sizes := folder / "planted.json").exists():
        cost = cpu_ns(same, folder / "before")
        more = cpu_ns(_url(plant(asked.base, planted, round(10 * asked.size * cost))), folder / "ten") / cost - 1
        if not 3 * asked.size < more < 30 * asked.size:
            sys.exit(f"error: ten times the plant costs {more:.1%}: it does not act")
        logged = cpu_ns(logging(same, 1), folder / "logged") / cost - 1
        if logged < asked.size:
            sys.exit(f"error: to log every statement costs {logged:.1%}: it is no plant of {asked.size:.0%}")
        plant(asked.base, planted, round(asked.size * cost))
        sizes.write_text(json.dumps({"transaction_ns": cost, "ten_times": more, "logged": logged}))
        print(f"a transaction takes {cost / 1000:.1f} µs of CPU time; ten times the plant costs {more:.1%}, "
              f"to log every statement {logged:.1%}")  # fmt: skip
    share = asked.size / json.loads(sizes.read_text())["logged"]
    other = {"": same, "cpu": _url(planted), "setting": logging(same, share)}
    had = Counter((one.duet, one.planted) for one in made)
    with coming_and_going(asked.foreign):
        kinds = [(duet, slower) for slower in ([asked.only] if asked.only else other)
                 for duet in (False, True) if duet or not asked.duet]  # fmt: skip
        for duet, slower in kinds * asked.rounds:
            had[duet, slower] -= 1
            if had[duet, slower] >= 0:
                continue
            one = compare([same, other[slower]], folder / f"ab-{len(made)}", duet, slower,
                          asked.blocks * (2 if duet else 1))  # fmt: skip
            made.append(one)
            kept.write_text(json.dumps([asdict(each) for each in made], indent=1))
            print(one, flush=True)
    text = table(made, asked.size)
    print(text)
    if asked.write:
        put(PAGE, "designs", together(taken(PAGE, "designs"), text))


if __name__ == "__main__":
    main()
