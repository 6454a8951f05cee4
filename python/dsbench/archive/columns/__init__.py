"""What the tables of an archive hold: each column once, with its type, unit, sentence and how it adds up.

Plain data without a library: the core's counters, the files, the evaluation and the documentation follow it.
"""

from __future__ import annotations

from dsbench.archive.columns.column import Adds, Column, Table
from dsbench.archive.columns.tables import COUNTERS, LOCAL, ONLY_GROUP, ONLY_STAGE, TABLES

__all__ = ["COUNTERS", "LOCAL", "ONLY_GROUP", "ONLY_STAGE", "TABLES", "Adds", "Column", "Table"]
