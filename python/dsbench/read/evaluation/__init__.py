"""From an archive to values: rates, distributions, costs, doubts, and archives side by side. Nothing here draws."""

from __future__ import annotations

from dsbench.read.evaluation.evaluated import Change, Evaluation, NodeShare, Series
from dsbench.read.evaluation.of_archive import evaluate

__all__ = ["Change", "Evaluation", "NodeShare", "Series", "evaluate"]
