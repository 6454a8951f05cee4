"""One kill, from the run that is killed to the proofs."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.kill import proofs
from tests.kill.watched import PHASES, Watched, processes, shared_memory

from dsbench import servers
from dsbench.archive import Archive
from dsbench.spec import Target

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
CYCLES = 2
FOREIGN = "foreign postgresql"

PRODUCTS = {
    "sqlite": "private:sqlite",
    "postgresql": "private:postgresql",
    "mariadb": "private:mariadb",
    "mysql": "private:mysql",
    "firebird": "private:firebird@3",
    "firebird embedded": "private:firebird@5?embedded=on",
    FOREIGN: "",
}
"""Products by the names of the table; the last one is a server that is not the run's."""

_USUAL_S = {
    "import": 0.8, "server": 1.0, "begin": 0.8, "populate": 0.4, "keys": 0.2, "cycle": 1.2, "check": 0.05,
    "drop": 0.1, "report": 1.0, "seal": 0.1,
}  # fmt: skip
"""How long the phases last, about, until it was seen."""


@dataclass
class Killer:
    """Makes kills, and learns from each how long the phases last."""

    foreign: str
    """URL of the server that is not the run's."""
    _lasts: dict[str, dict[str, float]] = field(default_factory=dict)

    def kill(self, seed: str, product: str, phase: str, number: signal.Signals) -> Killed:
        """One kill of a run on ``product`` with ``number`` somewhere in ``phase``, by the dice of ``seed``."""
        dice = random.Random(seed)
        folder = Path(tempfile.mkdtemp(prefix="kill-")).resolve()
        folder.chmod(0o755)
        done = Killed(seed, product, phase, number)
        try:
            self._kill(done, dice, folder)
        finally:
            if not done.violations:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                done.violations.append(f"kept: {folder}")
        return done

    def _kill(self, done: Killed, dice: random.Random, folder: Path) -> None:
        scales = (1, 2) if done.product == "sqlite" else (1,)
        url = PRODUCTS[done.product] or self.foreign
        arguments = [url, "--scales", ",".join(map(str, scales)), "--cycles", str(CYCLES), "--duration", "0.3", "--clients", "2"]
        share, pause_s = dice.random(), 0.2 + dice.random()
        run = Watched(arguments, folder, mark := folder.name)
        lasts = self._lasts.setdefault(done.product, {})
        where = run.wait_for(done.phase, share * lasts.get(done.phase, _USUAL_S[done.phase]))
        pids = [process.pid for process in processes(mark)]
        files = shared_memory(pids)
        if where is not None:
            done.phase = where
            run.send(done.signal, pause_s)
        code = run.end()
        lasts |= {name: 0.5 * lasts.get(name, seconds) + 0.5 * seconds for name, seconds in run.durations().items()}
        # What SIGKILL found at work does not end with 0.
        done.late = where is None or (done.signal == signal.SIGKILL and code == 0)
        if done.late and code == 0:
            return
        done.violations += [*proofs.of_the_end(done.signal, done.phase, code, run.lines), *proofs.of_processes(mark)]
        archive = run.archive
        if archive is None or not (archive / "run.json").exists():
            # Nothing was begun: the next run on the same machine clears away what is left.
            after = Watched(arguments, folder, mark)
        else:
            done.violations += proofs.of_the_cut(archive, code)
            cut = proofs.finished(Archive.open(archive))
            before = proofs.rows_of(archive, cut)
            again = [url] if done.product == FOREIGN else []
            after = Watched([*again, "--resume", str(archive)], folder, mark)
        code = after.end()
        nothing_left = code == 2 and any("nothing to resume" in line for line in after.lines)
        if code != 0 and not nothing_left:
            done.violations.append(f"the next run ended with {code}: {' / '.join(after.lines[-3:])}")
        elif archive is not None and (archive / "run.json").exists():
            done.violations += proofs.of_the_whole(archive, before, cut, scales, CYCLES)
        done.violations += [*proofs.of_processes(mark), *proofs.of_the_machine(folder, pids, files)]
        if done.product == FOREIGN:
            done.violations += proofs.of_the_database(url)


@dataclass
class Killed:
    """What came of a kill."""

    seed: str
    product: str
    phase: str
    """The one that was meant, until the signal was sent: then where the run was."""
    signal: signal.Signals
    late: bool = False
    """Whether the run had ended before the signal could be sent."""
    violations: list[str] = field(default_factory=list)


def here() -> list[str]:
    """Products of which a server is installed."""
    known = {one.product for one in servers.installations() if one.version}
    return [name for name in PRODUCTS if name.split()[-1 if name == FOREIGN else 0] in known]


def choice(seed: int, number: int, products: Sequence[str]) -> tuple[str, str, signal.Signals]:
    """Product, phase and signal of the kill ``number``: all of them in turn, in an order of ``seed``."""
    every = [
        (product, phase, sign) for product in products for phase in PHASES for sign in SIGNALS
        if not (phase == "server" and product == FOREIGN)
    ]  # fmt: skip
    random.Random(seed).shuffle(every)
    return every[number % len(every)]


def foreign() -> servers.Server:
    """A server that no run starts."""
    return servers.start(Target(url="private:postgresql", settings={"fsync": "off"}), 40)
