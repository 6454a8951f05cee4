"""``python -m tests.fuzz``: see ``--help``."""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from . import KINDS, module, seeded, shares
from .sandbox import WAITING_S, Verdict

_ROOT: Final = Path(__file__).parents[2]
_EXAMPLE: Final = """\
example: python -m tests.fuzz --inputs 100000 --seed 1 --out findings
         python -m tests.fuzz --kind tables --file findings/tables-1-5.input"""


@dataclass
class Tally:
    """What became of the inputs of one kind."""

    words: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)
    """Number of the input and what was found."""

    def add(self, number: int, verdict: Verdict) -> None:
        """One more."""
        self.words[verdict.word] += 1
        if verdict.word == "finding":
            self.findings.append((number, verdict.told))


def verdicts(kind: str, seed: int, inputs: int, file: Path | None = None) -> Iterator[tuple[int, Verdict]]:
    """Tries ``inputs`` of them, or ``file``, in processes of which each goes on until an input ends it."""
    begin = 0
    while begin < inputs:
        with tempfile.TemporaryDirectory(prefix="dsbench-fuzz-") as folder:
            last, told = begin - 1, False
            for number, verdict in _process(kind, seed, begin, inputs, Path(folder) / "work", file):
                last, told = number, verdict is not None
                if verdict is not None:
                    yield number, verdict
            if last < begin and not told:
                raise RuntimeError(f"the process for {kind} does not start")
            if not told:
                yield last, Verdict("finding", "it ends the process, or stops it for good")
            begin = last + 1


def _process(
    kind: str, seed: int, begin: int, end: int, folder: Path, file: Path | None
) -> Iterator[tuple[int, Verdict | None]]:
    """(number, verdict) of each input; no verdict where it has begun."""
    coming, going = os.pipe()
    paths = os.pathsep.join(str(path) for path in (_ROOT, _ROOT / "tests", _ROOT / "python"))
    passed = ("PATH", "LANG", "VIRTUAL_ENV", "TMPDIR", "DSBENCH_FUZZ_SECONDS")
    kept = {name: value for name, value in os.environ.items() if name in passed}
    command = [sys.executable, "-m", "tests.fuzz.worker", kind, *map(str, (seed, begin, end, going, folder))]
    process = subprocess.Popen(
        [*command, *([str(file)] if file else [])], pass_fds=(going,), cwd=_ROOT, stdin=subprocess.DEVNULL,
        env={**kept, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"},
    )  # fmt: skip
    os.close(going)
    try:
        rest = b""
        while select.select([coming], [], [], 10 * WAITING_S)[0] and (piece := os.read(coming, 65536)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                number, _, said = line.decode().partition(" ")
                yield int(number), None if said == "begun" else Verdict(*json.loads(said))
    finally:
        os.close(coming)
        process.kill()
        process.wait()


def table(tallies: dict[str, Tally]) -> str:
    """The kinds with their numbers."""
    lines = ["| kind | inputs | accepted | refused | findings |", "|---|---|---|---|---|"]
    for kind, tally in tallies.items():
        counts = [tally.words.total(), *(tally.words[word] for word in ("accepted", "refused", "finding"))]
        lines.append(f"| {KINDS[kind].about} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(lines)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Has the program read inputs that nobody means, and tells which it does not take well: "
        "a traceback, another exit code than the documented ones, more than a second of the processor or a gigabyte, a file outside of its folder.",
        epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--inputs", type=int, default=1000, help="how many, over all kinds [1000]")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same inputs [1]")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="may be repeated [all]")
    parser.add_argument("--out", type=Path, help="folder for the inputs that were not taken well, and findings.json")
    parser.add_argument("--file", type=Path, help="try this input, which --out has saved; needs --kind")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """1 where something was found."""
    asked = _arguments(words)
    kinds = asked.kind or list(KINDS)
    tallies = {}
    for kind, inputs in shares(asked.inputs, kinds).items():
        tally = tallies[kind] = Tally()
        for number, verdict in verdicts(kind, asked.seed, 1 if asked.file else inputs, asked.file and asked.file.resolve()):
            tally.add(number, verdict)
            if verdict.word == "finding":
                print(f"{kind}, seed {asked.seed}, input {number}: {verdict.told}\n", flush=True)
                _save(asked.out, kind, asked.seed, number, verdict)
        print(f"{kind}: {dict(tally.words)}", file=sys.stderr, flush=True)
    print(table(tallies))
    return int(any(tally.findings for tally in tallies.values()))


def _save(out: Path | None, kind: str, seed: int, number: int, verdict: Verdict) -> None:
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{kind}-{seed}-{number}.input").write_bytes(module(kind).make(seeded(seed, kind, number)))
    with (out / "findings.json").open("a") as file:
        file.write(json.dumps({"kind": kind, "seed": seed, "input": number, "told": verdict.told}) + "\n")


if __name__ == "__main__":
    sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "python")]
    sys.exit(main())
