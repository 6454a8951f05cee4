"""The system stack, layer by layer (the paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dsbench.read.blocks import Block, Part, Sentence, Terms
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    run = evaluation.run
    for layer in run.stack:
        yield Part(layer.layer, [Terms([(name, str(value)) for name, value in layer.items.items()])])
    if run.server_version and not any(run.server_version in str(v) for one in run.stack for v in one.items.values()):
        yield Sentence(f"Version of the server: {run.server_version}", "note")


SUBJECT: Final = Subject("stack", "System stack", tell=_tell, nothing="Nothing is known of it.")
