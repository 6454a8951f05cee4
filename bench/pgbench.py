"""pgbench on dsbench's tables, by scripts with dsbench's statements."""

from __future__ import annotations

import math
import re

from bench.place import Place
from bench.process import BenchError, Ended, Measured, run
from dsbench.drivers.peers import script as path_of
from dsbench.servers.postgresql import binaries


def version() -> str:
    """As it says it."""
    return run([_program(), "--version"], {}).output.strip()


def measure(
    place: Place, transport: str, script: str, mode: str, clients: int, threads: int, duration: float
) -> Measured:
    """Runs ``script`` of dsbench's own client pgbench for ``duration`` seconds; ``mode`` is pgbench's query mode.

    Its CPU time is that of its whole process less that of the same process with one transaction for
    each client: what starting, connecting and ending cost.
    """
    command = [
        _program(), "-n", "-f", path_of(f"pgbench-{script}.sql"), "-D", f"scale={place.scale}", "-M", mode,
        "-c", str(clients), "-j", str(min(threads, clients)),
    ]  # fmt: skip
    env = place.environment(transport)
    start = run([*command, "-t", "1"], env)
    # The time that -T gives, in whole seconds, runs while pgbench still connects. Many clients would have none left,
    # also when they take longer than they just did. Few get no more than the other programs,
    # whose sessions are as cold.
    connecting = re.search(r"^initial connection time = ([\d.]+) ms", start.output, re.MULTILINE)
    connecting_s = float(connecting[1]) / 1000 if connecting else 0.0
    whole = round(duration + connecting_s) if connecting_s < 0.5 else math.ceil(duration + 2 * connecting_s)
    load = run([*command, "-T", str(whole)], env)
    return _measured(load, start)


def of_script(place: Place, script: list[str], threads: int, clients: int, duration: float, schema: str) -> Measured:
    """The same of a builtin or another script, prepared, on the tables of ``schema``."""
    command = [_program(), "-n", *script, "-M", "prepared", "-c", str(clients), "-j", str(min(threads, clients))]
    env = {**place.environment("unix socket"), "PGOPTIONS": f"-c search_path={schema}"}
    start = run([*command, "-t", "1"], env)
    return _measured(run([*command, "-T", str(round(duration))], env), start)


def initialise(place: Place, scale: int) -> Ended:
    """``pgbench -i`` with foreign keys, in a schema that is called like its user's own."""
    env = {**place.environment("unix socket"), "PGOPTIONS": "-c search_path=public"}
    return run([_program(), "-i", "-q", "-s", str(scale), "-I", "dtgvpf"], env, limit_s=900)


def phases(initialised: Ended) -> dict[str, float]:
    """Seconds of each step, as ``pgbench -i`` tells them in its last line. ``BenchError`` when it does not."""
    told = re.search(r"^done in [\d.]+ s \((.*)\)", initialised.remarks, re.MULTILINE)
    if told is None:
        raise BenchError(f"pgbench -i told no times:\n{initialised.remarks}")
    return {name: float(seconds) for name, seconds in re.findall(r"([a-z][a-z -]*?) ([\d.]+) s", told[1])}


def _measured(load: Ended, start: Ended) -> Measured:
    found = re.search(r"^number of transactions actually processed: (\d+)", load.output, re.MULTILINE)
    rate = re.search(r"^tps = ([\d.]+) \(without initial connection time\)", load.output, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: ([1-9]\d*)", load.output, re.MULTILINE)
    if found is None or rate is None or failed is not None:
        raise BenchError(f"pgbench said:\n{load.output}")
    user_s, system_s = max(load.user_s - start.user_s, 0), max(load.system_s - start.system_s, 0)
    return Measured(int(found[1]), float(rate[1]), user_s, system_s)


def _program() -> str:
    return str(binaries.find(None).program("pgbench"))
