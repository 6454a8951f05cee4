"""Flame graphs as SVG: a frame is as wide as the share of the samples that it was in, below the one that called it.

Widths are per cent, so that a picture fits any width, and a frame cuts its text off. Colours are the page's: classes
``k`` (kernel) and ``u`` (functions without a name), and of differences ``g`` (grew) and ``s`` (shrank).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape
from typing import Final

from dsbench.dataclass import dataclass

Stacks = Mapping[tuple[str, ...], float]
"""Frames from the outermost on to their share of all samples (0-1)."""

_ROW: Final = 17
"""Height of a frame in pixels."""
_LEAST: Final = 0.002
"""Share of the whole from which on a frame is drawn."""
_NAMED: Final = 0.008
"""Share from which on its name stands in it."""
_DEEPEST: Final = 80
_STRONG: Final = 0.05
"""Change of the share that has the full colour."""


@dataclass
class _Node:
    shares: tuple[float, ...]
    below: dict[str, _Node] = field(default_factory=dict)

    @property
    def width(self) -> float:
        return sum(self.shares) / len(self.shares)


def draw_flame(stacks: Stacks, about: str) -> str:
    """The picture; ``about`` is its text for those who do not see it."""
    return _draw((stacks,), about)


def draw_difference(before: Stacks, after: Stacks, about: str) -> str:
    """Both in one: a frame is as wide as its mean share, and coloured by how far it grew or shrank."""
    return _draw((before, after), about)


def _draw(sides: Sequence[Stacks], about: str) -> str:
    root = _grow(sides)
    frames = list(_lay_out(root, len(sides)))
    height = _ROW * (1 + max((depth for depth, _ in frames), default=0))
    inner = "".join(text for _, text in frames)
    return f'<svg class="flame" width="100%" height="{height}" role="img" aria-label="{escape(about)}">{inner}</svg>'


def _grow(sides: Sequence[Stacks]) -> _Node:
    root = _Node((0.0,) * len(sides))
    for at, stacks in enumerate(sides):
        for stack, share in stacks.items():
            node = root
            for name in stack[:_DEEPEST]:
                node = node.below.setdefault(name, _Node((0.0,) * len(sides)))
                node.shares = tuple(one + share * (other == at) for other, one in enumerate(node.shares))
    return root


def _lay_out(root: _Node, sides: int) -> Iterator[tuple[int, str]]:
    """Depth and element of each frame, the outermost first."""
    waiting = [(0, 0.0, root)]
    for depth, left, node in waiting:
        for name, one in sorted(node.below.items()):
            if one.width >= _LEAST:
                yield depth, _frame(name, depth, left, one, differs=sides > 1)
                waiting.append((depth + 1, left, one))
            left += one.width


def _frame(name: str, depth: int, left: float, node: _Node, *, differs: bool) -> str:
    shown = name.removesuffix("_[k]")
    style = ""
    if differs:
        change = node.shares[1] - node.shares[0]
        kind = "g" if change > 0 else "s"
        style = f' style="--by:{min(abs(change) / _STRONG, 1):.0%}"'
        figure = f"{100 * change:+.1f} points, {node.shares[1]:.1%} instead of {node.shares[0]:.1%}"
    else:
        kind = "k" if name.endswith("_[k]") or name == "[kernel]" else "u" if name.startswith("[") else ""
        figure = f"{node.width:.1%}"
    text = f'<text x="3" y="12">{escape(shown)}</text>' if node.width >= _NAMED else ""
    place = f'x="{100 * left:.3f}%" y="{depth * _ROW}" width="{100 * node.width:.3f}%" height="{_ROW}"'
    of = f' class="{kind}"' if kind else ""
    return (
        f"<svg {place}{of}{style}><title>{escape(shown)}: {figure}</title>"
        f'<rect width="100%" height="{_ROW}"/>{text}</svg>'
    )
