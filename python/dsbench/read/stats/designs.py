"""Which combinations of levels a study tries: rows of level numbers, a column for each factor.

Sources: Box, Hunter and Hunter, "Statistics for Experimenters" (2005), chapters 5, 6 and 7; Plackett and Burman,
"The design of optimum multifactorial experiments", Biometrika 33 (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
from scipy.linalg import hadamard

from dsbench.read.stats.values import Ints

_FIRST_ROWS: Final = {
    12: "++-+++---+-",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""Of Plackett and Burman, by the number of rows; the other rows are this one turned round, and one of ``-``."""
MOST_SCREENED: Final = 31


def full(counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Every combination; ``counts`` are the levels of each factor."""
    return list(product(*(range(count) for count in counts)))


def one_at_a_time(counts: Sequence[int], references: Sequence[int]) -> list[tuple[int, ...]]:
    """The combination of all references, then each other level of each factor beside the references of the rest."""
    base = tuple(references)
    others = [
        (*base[:factor], level, *base[factor + 1 :])
        for factor, count in enumerate(counts) for level in range(count) if level != base[factor]
    ]  # fmt: skip
    return [base, *others]


def screening(factors: int) -> list[tuple[int, ...]]:
    """Rows of 0 and 1 in which every two columns are balanced: main effects of many factors by few trials.

    The number of rows is the least of 4, 8, 12, 16, 20, 24 and 32 above ``factors`` (1 to 31). With a power of two it
    is a fractional factorial, else Plackett and Burman's. With 2 factors, and with 4, no main effect is mixed with an
    interaction of two others. With all other numbers it is, wholly or in part: what is found may be an interaction.
    """
    rows = next(size for size in (4, 8, 12, 16, 20, 24, 32) if size > factors)
    signs = _plackett_burman(rows) if rows in _FIRST_ROWS else _fractional(rows)
    return [tuple(int(sign > 0) for sign in row[:factors]) for row in signs]


def _plackett_burman(rows: int) -> Ints:
    first = np.array([1 if sign == "+" else -1 for sign in _FIRST_ROWS[rows]])
    turned = [np.roll(first, shift) for shift in range(rows - 1)]
    return np.vstack([*turned, -np.ones(rows - 1, dtype=int)]).astype(np.int64)


def _fractional(rows: int) -> Ints:
    """Columns of the Hadamard matrix: the factors of a full design first, then products of odd numbers of them."""
    order = sorted(range(1, rows), key=lambda n: (n.bit_count() != 1, n.bit_count() % 2 == 0, n.bit_count(), n))
    return np.asarray(hadamard(rows)[:, order], dtype=np.int64)
