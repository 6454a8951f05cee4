"""What an archive is asked about, in one place for each: its results, its words, tables and diagrams, its measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsbench.read.blocks import Block

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

Read = Callable[["Evaluation"], Any]
Measure = Callable[["Evaluation"], Mapping[int, float]]


@dataclass(frozen=True)
class Subject:
    """A subject. Its file says all there is to say about it; ``read.subjects`` lists it by one line."""

    name: str
    """``dsbench show --by NAME``, the section of the page, the key of the docs."""
    title: str
    reads: Mapping[str, Read] = field(default_factory=dict)
    """Name of a result, as ``archive.evaluate()`` and ``--json`` have it, to what computes it from one series."""
    whole: Mapping[str, Read] = field(default_factory=dict)
    """The same from a run of several series, where its result is not that of the last of them."""
    tell: Callable[[Evaluation], Iterable[Block]] = lambda _: ()
    """What there is to show; nothing where the run has nothing of it."""
    nothing: str = ""
    """What ``show --by`` says where there is nothing to show."""
    measures: Mapping[str, Measure] = field(default_factory=dict)
    """Figures by scale that comparisons, histories and studies can be about."""
