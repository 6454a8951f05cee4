"""Errors as a user sees them: ``error: what, where``, then ``hint: what to do``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dsbench.cli.terminal import wrap
from dsbench.problem import Problem
from dsbench.redaction import redact_words

FAILED = 1
USAGE = 2
INTERRUPTED = 130
TERMINATED = 143

_LONGEST = 2000
"""Characters of an error: what was read may be long, and nobody reads more."""


def tell(problem: str, remedy: str = "") -> None:
    """Prints an error, and what to do about it."""
    print(wrap(f"error: {_shown(problem)}", sys.stderr), file=sys.stderr)
    if remedy:
        print(wrap(f"hint: {_shown(remedy)}", sys.stderr), file=sys.stderr)


def _shown(text: str) -> str:
    """``text`` as a terminal takes it, whatever was read: cut where it is long, no control characters, no password."""
    text = redact_words(text)
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + " …"
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in cut)


def refuse(sentence: str) -> None:
    """Prints why one of several things is refused, in one line whatever it was called."""
    print(f"refused: {_shown(' '.join(sentence.split()))}", file=sys.stderr)


@contextmanager
def told() -> Iterator[None]:
    """Ends the program with a message where a room below raised one of dsbench's errors."""
    try:
        yield
    except Problem as error:
        tell(str(error), error.remedy)
        sys.exit(USAGE if error.usage else FAILED)
    except ImportError as error:
        # Ctrl-C while a compiled part is loaded comes as an error of that part.
        if not _was_interrupted(error):
            raise
        sys.exit(INTERRUPTED)
    except FileNotFoundError as error:
        if "No usable temporary directory" not in str(error):
            raise
        tell("no folder for temporary files can be written", "set TMPDIR to one that can")
        sys.exit(USAGE)
    except BrokenPipeError:
        # The reader of a pipe has had enough, as with head: that is no error.
        sys.stderr.close()
        _write_nowhere()
        sys.exit(FAILED)
    except OSError as error:
        try:
            print(flush=True)  # Whether it is this one: what failed may be in no buffer.
        except OSError:
            _write_nowhere()
            tell(f"standard output cannot be written: {error.strerror}", "write it to another file, or free up space")
            sys.exit(FAILED)
        raise


def _write_nowhere() -> None:
    """What is left for standard output would fail when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _was_interrupted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
