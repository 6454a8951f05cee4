"""What the parts of a transaction allow: McDonell (1987), section 3, table "TP1 minimum time".

Where each transaction of a workload consists of n_k transactions like those of part k, and part k alone is done at most
T_k times per second, a transaction takes sum of n_k / T_k seconds of what the parts wait for one after another, and
there are no more than 1 / (sum of n_k / T_k) of them per second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def minimum_time_s(parts: Sequence[tuple[float, int]]) -> float:
    """Sum of n / T over ``parts``, each as (T in transactions per second, n); nan where a T is not above 0."""
    return sum(n / rate for rate, n in parts) if parts and all(rate > 0 for rate, _ in parts) else np.nan


def bound_tps(parts: Sequence[tuple[float, int]]) -> float:
    """1 / ``minimum_time_s``, in transactions per second."""
    return 1 / minimum_time_s(parts)
