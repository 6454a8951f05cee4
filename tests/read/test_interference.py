"""What one group of clients does to another, in words."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.read.subjects.interference import Beside, say_ratio


@pytest.mark.parametrize(
    ("alone", "beside", "words"),
    [(1_915_123.0, 912_345.0, "912,300 NOPM together with the others and 1,915,000 alone"),
     (3.4567, 0.5, "0.5 NOPM together with the others and 3.457 alone")],
)  # fmt: skip
def test_rates_have_four_digits_and_no_exponent(alone: float, beside: float, words: str) -> None:
    one = Beside(4, "both", "transactions", "transactions", "NOPM", np.array([alone]), np.array([beside]), {}, 0)
    assert words in say_ratio(one)
