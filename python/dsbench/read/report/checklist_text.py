"""The checklist of a run as text."""

from __future__ import annotations

from collections.abc import Sequence

from dsbench.read.evaluation.checklist import Answer

HEADS = ("question", "answer", "told by", "verdict")
NOTE = (
    "The questions are those of K. J. McDonell's list of pitfalls (AUUG Newsletter, 1987). Told: neither good nor bad "
    "in itself, but to be the same where figures are compared."
)


def text(answers: Sequence[Answer]) -> str:
    """A question and its answer in two lines each, with the verdict before them."""
    lines = []
    for one in answers:
        verdict = "BEWARE" if one.verdict == "beware" else one.verdict
        lines += [f"{verdict:9}  {one.question}", f"{'':9}  {one.answer}", f"{'':9}  [{one.source}]"]
    return "\n".join([*lines, "", NOTE])
