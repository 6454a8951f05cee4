"""Errors as a user sees them: ``error: what, where``, then ``hint: what to do``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dsbench.archive import ArchiveError
from dsbench.cluster import ClusterError
from dsbench.generator import CoreError
from dsbench.runner import RunError
from dsbench.servers import ServerError
from dsbench.spec import SpecError

FAILED = 1
USAGE = 2


def tell(problem: str, remedy: str = "") -> None:
    """Prints an error, and what to do about it."""
    print(f"error: {problem}", file=sys.stderr)
    if remedy:
        print(f"hint: {remedy}", file=sys.stderr)


@contextmanager
def told() -> Iterator[None]:
    """Ends the program with a message where a room below raised one of dsbench's errors."""
    try:
        yield
    except SpecError as error:
        tell(str(error), error.remedy)
        sys.exit(USAGE)
    except (RunError, ClusterError) as error:
        tell(str(error), error.remedy)
        sys.exit(USAGE if error.usage else FAILED)
    except ServerError as error:
        tell(str(error), error.remedy)
        sys.exit(FAILED)
    except ArchiveError as error:
        tell(str(error), error.remedy)
        sys.exit(USAGE if error.usage else FAILED)
    except CoreError as error:
        tell(str(error))
        sys.exit(USAGE if error.kind == "configuration" else FAILED)
    except BrokenPipeError:
        # The reader of a pipe has had enough, as with head: that is no error.
        sys.stderr.close()
        sys.exit(FAILED)
