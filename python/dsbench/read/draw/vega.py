"""Charts of Vega-Lite as plain data: marks, channels and what belongs to them, as JSON has them.

There are libraries for it; the one for Python takes most of a second to import, in every run. Names are those of
Vega-Lite (https://vega.github.io/vega-lite/docs/). The tests hold the charts against its schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from dsbench.dataclass import dataclass

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one: JSON values."""

SCHEMA_URL: Final = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
_TYPES: Final = {"Q": "quantitative", "O": "ordinal", "N": "nominal"}
_SECONDARY: Final = frozenset({"x2", "y2"})
"""Channels of which the type is that of their first one."""


def channel(shorthand: str, **given: Any) -> Spec:
    """A channel on ``shorthand``, a field and the letter of its type: ``scale:Q``; ``given`` are its other parts."""
    field, _, letter = shorthand.rpartition(":")
    return {"field": field, "type": _TYPES[letter], **given}


def title(text: str | Sequence[str], subtitle: Sequence[str] = ()) -> Spec:
    """A title with the lines below it."""
    return {"text": text, **({"subtitle": list(subtitle)} if subtitle else {})}


def datum(value: Any) -> Spec:
    """A channel that has one ``value`` of its scale."""
    return {"datum": value}


def constant(value: Any) -> Spec:
    """A channel that has one ``value`` as it is drawn."""
    return {"value": value}


@dataclass(frozen=True)
class Chart:
    """A mark over the data set ``data``, with its channels."""

    data: str
    transforms: tuple[Spec, ...] = ()
    look: Spec | None = None
    channels: Spec | None = None

    def only(self, condition: str) -> Chart:
        """Over the rows for which the Vega expression ``condition`` holds."""
        return replace(self, transforms=(*self.transforms, {"filter": condition}))

    def fold(self, fields: Iterable[str], key: str, value: str) -> Chart:
        """Over a row for each of ``fields``: its name as ``key`` and its value as ``value``."""
        return replace(self, transforms=(*self.transforms, {"fold": list(fields), "as": [key, value]}))

    def mark(self, kind: str, **look: Any) -> Chart:
        """Drawn as ``kind``: line, point, rule, text, area, bar, rect or tick."""
        return replace(self, look={"type": kind, **look})

    def encode(self, **channels: Any) -> Chart:
        """With ``channels``: each a ``channel``, its shorthand, a ``datum``, a ``constant``, or a list of channels."""
        return replace(self, channels={name: _channel(name, given) for name, given in channels.items()})

    def spec(self) -> Spec:
        """What Vega-Lite is told of it."""
        transforms = {"transform": list(self.transforms)} if self.transforms else {}
        return {"data": {"name": self.data}, **transforms, "mark": self.look, "encoding": self.channels}


def layer(*charts: Chart, **given: Any) -> Spec:
    """``charts`` from back to front, with other parts ``given``."""
    return {"layer": [chart.spec() for chart in charts], **given}


def _channel(name: str, given: Any) -> Any:
    if isinstance(given, list):
        return [_channel(name, one) for one in given]
    found = channel(given) if isinstance(given, str) else given
    return {key: part for key, part in found.items() if key != "type"} if name in _SECONDARY else found
