"""A study: many runs over factors, interleaved, in one folder with a ``study.json`` that says which trial each is.

Read ``spec`` for what is asked, ``plan`` for the trials that come of it, ``conduct`` for how they are made.
"""

from __future__ import annotations

from dsbench.study.best import best
from dsbench.study.conduct import conduct, joined
from dsbench.study.estimate import Estimate, estimate
from dsbench.study.making import Make, StudyObserver
from dsbench.study.merging import merge
from dsbench.study.plan import Trial, combination
from dsbench.study.record import (
    FAILED,
    Study,
    again,
    begin,
    extend,
    is_study,
    load,
    risks_of,
    sort_archives,
    store,
    tried,
)
from dsbench.study.results import Made, Outcomes, Point, mean, outcomes
from dsbench.study.spec import Factor, StudySpec, of_text, read, template, templates, value_of

__all__ = [
    "FAILED", "Estimate", "Factor", "Made", "Make", "Outcomes", "Point", "Study", "StudyObserver", "StudySpec", "Trial",
    "again", "begin", "best", "combination", "conduct", "estimate", "extend", "is_study", "joined", "load", "mean",
    "merge", "of_text", "outcomes", "read", "risks_of", "sort_archives", "store", "template", "templates", "tried",
    "value_of",
]  # fmt: skip
