"""What a machine costs: ``1.2 EUR/h``, ``250 USD/month``, ``12000 EUR/3y``."""

from __future__ import annotations

import math
import re
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from dsbench.spec.words import Unfit, number

_WRITTEN: Final = re.compile(r"([0-9][0-9.]*|\.[0-9]+)\s*([A-Za-z]{3})?(?:\s*/\s*([0-9][0-9.]*)?\s*([a-z]+))?")
HOURS_OF_YEAR: Final = 8760.0
"""Of 365 days; a month is a twelfth, 730 hours, as clouds bill it."""
_UNITS: Final = (
    (("h", "hour", "hours"), 1.0), (("d", "day", "days"), 24.0), (("mo", "month", "months"), HOURS_OF_YEAR / 12),
    (("y", "year", "years"), HOURS_OF_YEAR),
)  # fmt: skip
_HOURS: Final = {name: hours for names, hours in _UNITS for name in names}
HOW: Final = "write 1.2 EUR/h, 250 USD/month, 3000 EUR/y, or a purchase with its years of use, 12000 EUR/3y"
_LEAST: Final = 1e-6
_MOST: Final = 1e6
"""Of any currency for an hour; of less, an entry of a commons would have as many transactions for it as it likes."""
CURRENCY: Final = "USD"
"""Where none is named."""


class Price(BaseModel):
    """What the machine costs."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    per_hour: float = Field(ge=_LEAST, le=_MOST, allow_inf_nan=False)
    currency: str = Field(default=CURRENCY, pattern="^[A-Z]{3}$")

    @property
    def words(self) -> str:
        """``1.2 EUR per hour``."""
        return f"{self.per_hour:.6g} {self.currency} per hour"


def read_price(text: str, currency: str = "") -> Price | None:
    """The price that ``text`` says, ``None`` of an empty one. ``ValueError`` for what is none.

    Without a span it is that of an hour; a number before the unit of the span divides it: 12000 EUR/3y. ``currency`` is
    that of a text which names none.
    """
    if not text.strip():
        return None
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise Unfit(f"cannot read {text[:60]!r}", HOW)
    amount, named, count, unit = found.groups()
    if unit and unit not in _HOURS:
        raise Unfit(f"cannot read {unit[:20]!r} of {text[:60]!r}", HOW)
    hours = number(count or "1") * _HOURS[unit or "h"]
    per_hour = number(amount) / hours if hours > 0 else math.nan
    if not _LEAST <= per_hour <= _MOST:
        raise Unfit(f"{text[:60]!r} must be 0.000001 to 1,000,000 per hour", HOW)
    return Price(per_hour=per_hour, currency=(named or currency or CURRENCY).upper())
