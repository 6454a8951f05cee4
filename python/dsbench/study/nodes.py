"""The nodes of a trial: started for it alone, as processes of this machine or by commands that reach others."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dsbench.measure.journal import RunError
from dsbench.measure.nodes.remote import Joining
from dsbench.servers.process import free_port
from dsbench.spec import RunSpec

_PATIENCE_S: Final = 120.0
"""How long nodes and run look for each other. Nodes of a study that was killed end after as long."""
_END_S: Final = 10.0
"""How long a node may take to end once its run is over."""


@contextmanager
def joined(spec: RunSpec, commands: Sequence[str], address: str = "") -> Iterator[Joining | None]:
    """How the nodes of a run come to it; ``None`` where it has none. All are ended afterwards.

    Node n is started by the nth of ``commands``, and where there is none as a process of this machine. Its bundle comes
    through its standard input, so that no file is left elsewhere. ``address`` is that of this machine, by which they
    find it. ``RunError`` where a command is not there.
    """
    if not spec.nodes:
        yield None
        return
    from dsbench.measure.nodes.bundle import Invitation, issue  # Late: an extra.

    # No key is in a file: a study that is killed leaves none.
    here = spec.nodes > len(commands)
    coordinator, bundles = issue(spec.nodes, address or ("127.0.0.1" if here else ""), free_port())
    started: list[subprocess.Popen[str]] = []
    try:
        for number, bundle in enumerate(bundles, start=1):
            started.append(_start(number, commands[number - 1 : number], bundle.text))
        yield Joining(patience_s=_PATIENCE_S, invitation=Invitation(coordinator))
    finally:
        for node in started:
            _end(node)


def _start(number: int, command: Sequence[str], bundle: str) -> subprocess.Popen[str]:
    here = [sys.executable, "-m", "dsbench", "node", "--join", "-", "--name", f"node-{number}", "--quiet"]
    words = shlex.split(command[0]) if command else [*here, "--patience", f"{_PATIENCE_S:g}"]
    try:
        # A Ctrl-C is for the study, whose run tells its nodes.
        node = subprocess.Popen(words, stdin=subprocess.PIPE, text=True, start_new_session=True)
    except OSError as error:
        raise RunError(f"nodes: {words[0]}: {error.strerror}", "name a command that is here", usage=True) from None
    assert node.stdin is not None
    try:
        with node.stdin:
            node.stdin.write(bundle)
    except BrokenPipeError:
        node.wait()
        raise RunError(f"nodes: {words[0]} ended by {node.returncode} before it took its bundle",
                       "try the command by hand: its words stand above") from None  # fmt: skip
    return node


def _end(node: subprocess.Popen[str]) -> None:
    for ask in (None, node.terminate, node.kill):
        if ask is not None:
            ask()
        try:
            node.wait(_END_S)
        except subprocess.TimeoutExpired:
            continue
        return
