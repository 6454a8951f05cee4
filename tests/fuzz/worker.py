"""The process that reads inputs: ``python -m tests.fuzz.worker KIND SEED BEGIN END REPORT FOLDER [FILE]``.

It writes a line for each input to the descriptor REPORT: its number and ``begun``, then its number and its verdict
in JSON. Whoever started it knows by the last line which input it did not survive.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import warnings
from pathlib import Path

from . import KINDS, module, seeded
from .sandbox import Guard, judged, limit_memory
from .stopped import stop_commands


def main(kind: str, seed: int, begin: int, end: int, report: int, folder: Path, file: Path | None) -> None:
    """Reads the inputs ``begin`` to ``end``, or the one that was saved as ``file``."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TMPDIR"] = os.environ["HOME"] = str(folder)
    found = module(kind)
    saved = file.read_bytes() if file is not None else None
    # Once, so that what is loaded late is there before memory and time are counted; an alarm would leave half of it.
    guard = Guard(folder, places=KINDS[kind].places)
    guard.on = False
    stop_commands()
    for number in range(20):
        judged(found.run, found.make(seeded(0, kind, number)), folder, guard, times=60)
    guard.on = True
    limit_memory()
    for number in range(begin, end):
        os.write(report, f"{number} begun\n".encode())
        data = found.make(seeded(seed, kind, number)) if saved is None else saved
        verdict = judged(found.run, data, folder, guard)
        os.write(report, f"{number} {json.dumps([verdict.word, verdict.told])}\n".encode())
        if number % 100 == 0:
            gc.collect()


if __name__ == "__main__":
    _kind, _seed, _begin, _end, _report, _folder, *_file = sys.argv[1:]
    _saved = Path(_file[0]).resolve() if _file else None
    main(_kind, int(_seed), int(_begin), int(_end), int(_report), Path(_folder), _saved)
