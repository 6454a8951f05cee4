"""A verdict as JUnit's XML, which forges show beside a request to merge.

What is slower or worse is a failure, what is undecided is skipped, and a run that failed is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from dsbench.library.pair import Versus
from dsbench.read.blocks import Block
from dsbench.read.text import render_text
from dsbench.several import trend
from dsbench.several.trend import ResultHistory
from dsbench.stats.comparison import Verdict

_KINDS = ("failure", "skipped", "error")


def of_comparison(found: Versus) -> str:
    """One case: B against A."""
    said = found.sentence()
    kind = {Verdict.SLOWER: "failure", Verdict.OPEN: "skipped"}.get(found.ratio.verdict, "")
    if found.error is not None:
        kind, said = "error", f"{found.error}; {said}"
    name = f"{found.names[1]} against {found.names[0]}: {found.choice.how.name}"
    return _suite("dsbench ab", [(name, kind, said)], list(found.tell()))


def of_histories(histories: Sequence[ResultHistory], left: Sequence[str]) -> str:
    """A case for each configuration, which fails where its last change was for the worse."""
    cases = [(one.name, "failure" if one.fell else "", trend.say_last(one)) for one in histories]
    return _suite("dsbench trend", cases, list(trend.tell(histories, left)))


def _suite(name: str, cases: Sequence[tuple[str, str, str]], blocks: Sequence[Block]) -> str:
    """``cases``: name, one of ``_KINDS`` or empty, and what is to be said."""
    counts = {kind: sum(of == kind for _, of, _ in cases) for kind in _KINDS}
    plural = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    numbers = {"tests": str(len(cases)), **{plural[kind]: str(count) for kind, count in counts.items()}}
    root = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **numbers})
    for title, kind, said in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": name, "name": _plain(title)})
        if kind:
            ElementTree.SubElement(case, kind, {"message": _plain(said)})
    ElementTree.SubElement(suite, "system-out").text = _plain(render_text(blocks))
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True)


def _plain(text: str) -> str:
    """``text`` without what XML 1.0 cannot have."""
    known = {letter: letter in "\t\n" or (letter >= " " and letter not in "\ufffe\uffff") for letter in set(text)}
    return "".join(letter if known[letter] else "\ufffd" for letter in text)
