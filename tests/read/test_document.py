"""report.html: complete, self-contained, safe against what it shows, and drawn by a real browser."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsbench.archive import RunRecord
from dsbench.format import format_number
from dsbench.read import page as document
from dsbench.read.blocks import Column, Table
from dsbench.read.draw import course
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import Html, escape_script, find_filled, number, table, tag
from dsbench.read.page import command_line, config_file
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.rate import RateResult
from dsbench.spec import RunSpec
from dsbench.stats.machine import CycleUse, MachineUse, Program
from dsbench.stats.values import Collision, Doubt, Interval
from fixtures import sample
from fixtures.sample import replace
from fixtures.waiting import PATIENCE_S
from fixtures.web import Seen


def page(evaluation: Evaluation, run: RunRecord) -> str:
    """That of an evaluation made by hand, which knows no run yet."""
    return document.page(sample.replace(evaluation, run=run), run)


EVIL = """</script><script>document.body.id='taken'</script><img src=x onerror="document.body.id='taken'">'"&"""


class Reader(HTMLParser):
    """Elements of a page in order: (name, attributes), and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))
        self._inside = (dict(attributes).get("id") or name) if name in ("script", "style") else ""

    def handle_endtag(self, name: str) -> None:
        self._inside = ""

    def handle_data(self, text: str) -> None:
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + text
        else:
            self.text += text + " "

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == name]


def hogged(name: str) -> CycleUse:
    """A machine on which a program of that name took most of two CPUs, in a cycle of a second."""
    numbers = {one.name: 10**8 for one in fields(MachineUse)}
    use = MachineUse(**{**numbers, "span_ns": 10**9, "cpus": 2, "others_ns": 18 * 10**8, "device": name})
    return CycleUse(use, (Program(name, 12, children=False, cpu_ns=16 * 10**8, io_bytes=None),), 3, name)


def hostile() -> tuple[Evaluation, RunRecord]:
    """Everything that a target, a node or a user can name is an attack."""
    found = sample.evaluation(scales=(1, 2), nodes=(EVIL, "alba"))
    found = replace(
        found, name=EVIL, errors={1: {EVIL: 3}}, doubts=(Doubt(EVIL, EVIL, EVIL, 1, True),),
        resources={1: tuple(replace(r, name=EVIL, unit=EVIL) for r in found.of(CostResult).resources[1])}, machine={1: (hogged(EVIL),)},
    )  # fmt: skip
    run = sample.run(
        spec={"nodes": 2, "workload": EVIL, "target": {"url": EVIL, "settings": {EVIL: EVIL}}}, server_version=EVIL,
        host=EVIL, status=EVIL, reason=EVIL, settings={EVIL: EVIL}, marks={EVIL: 2e7}, dsbench=EVIL,
        stack=[{"layer": EVIL, "items": {EVIL: EVIL}}], checks={"1": [{"name": EVIL, "state": "broken", "detail": EVIL}]},
        durability=[{"switch": EVIL, "value": EVIL, "safe": False, "meaning": EVIL}],
    )  # fmt: skip
    return found, run


@pytest.fixture(scope="module")
def tpcb() -> Evaluation:
    return sample.evaluation(nodes=sample.NODES, void=frozenset({5}))


@pytest.fixture(scope="module")
def text(tpcb: Evaluation) -> str:
    return page(tpcb, sample.run(spec={"nodes": 3}))


def test_page_loads_nothing_from_elsewhere(text: str) -> None:
    reader = Reader(text)
    loading = ("src", "href", "srcset", "action", "data", "poster", "formaction", "xlink:href", "background")
    links = [value for _, attributes in reader.elements for key, value in attributes.items() if key in loading]
    assert links
    assert all(str(link).startswith("#") for link in links)
    assert not {"link", "iframe", "object", "embed", "base", "img"} & {name for name, _ in reader.elements}
    assert not re.search(r"url\(|@import", reader.scripts["style"])
    policy = next(m["content"] for m in reader.named("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'; ")
    assert "http" not in str(policy)
    assert len(text.encode()) < 2_000_000


def test_contents_lead_to_every_section(text: str) -> None:
    reader, contents = Reader(text), Reader(text[text.index("<nav") : text.index("</nav>")])
    sections = [attributes["id"] for attributes in reader.named("section")]
    linked = [str(a["href"]).removeprefix("#") for a in contents.named("a") if "data-opens" not in a]
    alone = [str(a["href"]).removeprefix("#") for a in contents.named("a") if "data-opens" in a]
    assert sections[0] == "warnings", "what endangers the figures stands below them, in no tab"
    assert {*linked, *alone} == set(sections[1:])
    assert sorted(linked, key=sections.index) == linked
    tabs = [a["data-tab"] for a in reader.named("div") if "data-tab" in a]
    assert tabs == [a["data-opens"] for a in contents.named("a") if "data-opens" in a]
    identifiers = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    assert {a["aria-labelledby"] for a in reader.named("section")} <= set(identifiers)
    assert {str(a["href"]).removeprefix("#") for a in reader.named("a")} <= set(identifiers)


def test_the_tabs_stand_above_the_answer(text: str) -> None:
    assert text.index('aria-label="Contents"') < text.index("<h1>")


def test_columns_without_a_value_are_left_out() -> None:
    shown = Table("t", [Column("scale"), Column("a"), Column("b")], [(1, None, 2.0), (2, math.nan, 3.0)])
    assert [(at, column.head) for at, column in find_filled(shown)] == [(0, "scale"), (2, "b")]


def test_checks_that_hold_are_folded() -> None:
    def shown(*states: str) -> str:
        checks = {"1": [{"name": f"sum {at}", "state": one, "detail": "0"} for at, one in enumerate(states)]}
        return page(sample.evaluation(scales=(1,)), sample.run(checks=checks))

    assert "<summary>All 2 conditions hold</summary>" in shown("holds", "holds")
    assert "<summary>1 of 2 conditions hold, 1 was not made: 0</summary>" in shown("holds", "not made")
    assert "conditions hold</summary>" not in shown("holds", "broken")


def test_headline_gives_dsi_rating_and_status(text: str) -> None:
    shown = Reader(text).text
    first = shown[: shown.index("Warnings")]
    assert re.search(r"Index DSI\s+6\.52\s+6\.45 to 6\.58", first)
    assert re.search(r"T = X \(TPC-B clause 4\.1\): 214\.7", shown)
    assert "2026-11-21 10:00:00 UTC, took 3:11:12" in shown


def test_missing_figures_are_explained(tpcb: Evaluation) -> None:
    index = replace(tpcb.of(RateResult).index, dsi=None, crossing=None, crossing_note="the rate stays above the scale")
    shown = Reader(page(replace(tpcb, index=index, doubts=()), sample.run(status="cut-short", reason="SIGINT"))).text
    assert "Index DSI" not in shown
    assert "the rate stays above the scale" not in shown
    assert "DSI not defined" in shown
    assert "cut-short: SIGINT" in shown
    index = replace(tpcb.of(RateResult).index, dsi=Interval(6.5, math.nan, math.nan, 0.95), comparable=False)
    shown = Reader(page(replace(tpcb, index=index), sample.run())).text
    assert "nan" not in shown
    assert "Index DSI" not in shown, "it stands on the first screen of a run that compares with others only"


def test_doubts_come_with_remedies_and_the_severe_first(text: str) -> None:
    box = text[text.index('<section id="warnings"') : text.index('<section id="rate"')]
    assert '<li class="severe">' in box
    assert box.index("lost update at scale 5") < box.index("still falls") < box.index("fsync is off")
    assert "set fsync = on" in box


def test_a_void_scale_is_marked(text: str) -> None:
    part = Reader(text[text.index('<section id="rate"') : text.index("</section>", text.index('<section id="rate"'))])
    assert [a.get("class") for a in part.named("tr")].count("void") == 1
    assert "5!" in part.text.split()


def test_scrolling_parts_can_be_reached_by_keyboard(text: str) -> None:
    regions = [a for a in Reader(text).named("div") if a.get("class") == "scroll"]
    assert len(regions) >= 6
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in regions)


def test_conditions_are_shown(text: str) -> None:
    shown = Reader(text).text
    for fact in ("Xeon E3-1230V3", "effective_cache_size", "a power cut loses committed transactions", "balances agree",
                 "serialization 40001", "context switches", "It is not a confidence interval"):  # fmt: skip
        assert fact in shown


def test_collision_model_is_told_where_it_applies(tpcb: Evaluation) -> None:
    model = Collision(kappa=0.42, clients=48, rms=0.013, lowest_scale=1, highest_scale=100)
    ceilings = {"ceilings": [{"against": "mock engine", "clients": 16, "rate_tps": 91_234.5}], "ceiling_tps": 91_234.5}
    shown = Reader(page(replace(tpcb, collision=model, clients=16), sample.run(calibration=ceilings))).text
    assert "κ = 0.42, K = 48, from scale 1 to 100" in shown
    assert "91,234 tps, what the client made with a database that costs nothing" in shown


def test_hostile_names_stay_text() -> None:
    text = page(*hostile())
    reader = Reader(text)
    assert len(reader.named("script")) == 4
    assert not reader.named("img")
    assert "onerror" not in {key for _, attributes in reader.elements for key in attributes}
    assert EVIL in reader.text
    specs = json.loads(reader.scripts["specs"])
    assert EVIL in {row["node"] for row in specs["node"]["datasets"]["nodes"]}
    assert json.loads(reader.scripts["courses"])["1"]["boundaries"] == list(range(60, 600, 60))


@pytest.mark.parametrize(
    "case",
    [
        (sample.evaluation(scales=(10,)), sample.run()),
        (sample.evaluation(cycles=1, scales=(1, 2)), sample.run()),
        (sample.evaluation([], []), sample.run(status="failed", reason="the server cannot be reached", ended=None)),
        (sample.evaluation(scales=(1, 2), open_loop=True), RunRecord.of({"spec": {}})),
    ],
    ids=["one scale", "one cycle", "nothing measured", "bare run.json"],
)
def test_unusual_archives_have_a_page(case: tuple[Evaluation, RunRecord]) -> None:
    reader = Reader(page(*case))
    assert "How to read this page" in reader.text
    assert set(json.loads(reader.scripts["specs"])) - {"course"} == {
        a["data-diagram"] for a in reader.named("div") if "data-diagram" in a
    }


def _in_browser(browser: Any, tmp_path: Path, content: str, at: str = "", *, drawn: int) -> tuple[str, list[str]]:
    """The page as the browser made it, opened ``at`` a part of it, when ``drawn`` pictures are there, and what its scripts
    complained of. The screen is so high that all pictures of a tab are on it."""
    file = tmp_path / "report.html"
    file.write_text(content, "utf-8")
    shown = browser.new_page(viewport={"width": 1200, "height": 12_000})
    seen = Seen(shown)
    shown.goto(file.as_uri() + at)
    shown.locator("svg.marks").nth(drawn - 1).wait_for(state="attached", timeout=PATIENCE_S * 1000)
    content = shown.content()
    shown.close()
    return content, seen.errors


def test_browser_draws_all_diagrams_and_the_first_course(browser: Any, tmp_path: Path, text: str) -> None:
    dom, errors = _in_browser(browser, tmp_path, text, drawn=4)
    assert errors == []
    # The picture of the first screen, and those of the tab Rate that no fold hides.
    assert len(re.findall(r'<svg[^>]*class="marks"', dom)) == 4
    assert "cannot be drawn here" not in dom.partition("<script")[0]
    for words in ("effective_cache_size 13 GB", "pavonis", "99.7%"):
        assert re.search(rf"<text[^>]*>{re.escape(words)}</text>", dom)
    assert shown_tabs(dom) == ["Rate"]


def test_an_address_opens_the_tab_that_it_leads_into(browser: Any, tmp_path: Path, text: str) -> None:
    dom, errors = _in_browser(browser, tmp_path, text, "#course", drawn=1)
    assert errors == []
    assert shown_tabs(dom) == ["Times"]
    assert re.search(r"<text[^>]*>second of all cycles in order</text>", dom)


def shown_tabs(dom: str) -> list[str]:
    """Those parts of the page that are not hidden."""
    return [str(a["data-tab"]) for a in Reader(dom.partition("<script")[0]).named("div")
            if "data-tab" in a and "hidden" not in a]  # fmt: skip


def test_browser_runs_nothing_that_the_page_shows(browser: Any, tmp_path: Path) -> None:
    dom, _ = _in_browser(browser, tmp_path, page(*hostile()), drawn=4)
    assert len(re.findall(r'<svg[^>]*class="marks"', dom)) == 4
    body = re.search(r"<body[^>]*>", dom)
    assert body is not None
    assert "taken" not in body[0]


def test_course_keeps_every_second_of_a_usual_run() -> None:
    found = sample.evaluation(scales=(1,))
    columns = course.courses(found)["1"]
    assert columns["step"] == 1
    assert columns["boundaries"] == list(range(60, 600, 60))
    assert columns["columns"]["count"][:-1] == pytest.approx(found.of(CourseResult).seconds[1][:, 0].tolist(), rel=1e-3)
    assert columns["columns"]["p99"][:-1] == pytest.approx((found.of(CourseResult).seconds[1][:, 3] / 1e6).tolist(), rel=1e-3)


def test_long_course_is_shown_in_steps_with_mean_rates_and_worst_times() -> None:
    seconds = np.column_stack([np.arange(4000.0), np.zeros(4000), *[np.full(4000, 1e6)] * 2, np.arange(4000) * 1e6])
    found = replace(sample.evaluation(scales=(1,)), seconds={1: seconds}, durations_s={1: np.full(10, 400.0)})
    part = course.courses(found)["1"]
    assert part["step"] == 3
    assert len(part["columns"]["second"]) == 1334 + 1
    assert part["columns"]["second"][-2:] == [3999, 4000]
    assert part["columns"]["count"][:2] == [1.0, 4.0]
    assert part["columns"]["max"][:2] == [2.0, 5.0]
    assert part["boundaries"] == list(range(400, 4000, 400))


def test_the_end_of_a_cycle_that_is_no_whole_second_keeps_its_rate() -> None:
    even = np.array([[100.0, 10.0, 1e6, 2e6, 3e6], [25.0, 5.0, 1e6, 2e6, 3e6]] * 2)
    found = replace(sample.evaluation(scales=(1,)), seconds={1: even}, durations_s={1: np.full(2, 1.25)})
    columns = course.courses(found)["1"]["columns"]
    assert columns["count"] == [100, 100, 100, 100, 100]
    assert columns["failed"] == [10, 20, 10, 20, 20]


def test_the_open_loop_shows_both_kinds_of_times() -> None:
    found = sample.evaluation(scales=(1,), open_loop=True)
    text = page(found, sample.run(spec={"rate": 100.0}))
    part = Reader(text[text.index('<section id="rate"') : text.index('<section id="latency"')])
    assert part.text.index("response p99 [ms]") < part.text.index("Latency from the actual start")
    cells = part.text.split()
    for curve in (found.of(LatencyResult).response[1], found.of(LatencyResult).frequency[1]):
        assert format_number(curve.quantiles_ns[0.99] / 1e6) in cells


def test_void_scales_make_no_headline(tpcb: Evaluation) -> None:
    """The fastest scale is void: the rate on top is that of the next one."""
    best, second = sorted(tpcb.of(RateResult).scales, key=lambda row: row.rate_median_tps)[:-3:-1]
    shown = Reader(page(replace(tpcb, void_scales=frozenset({best.scale})), sample.run())).text
    told = re.search(r"Highest rate\s+[\d.,]+ tps\s+[^·]+ · scale ([\d,]+)", shown)
    assert told is not None
    assert told[1] == f"{second.scale:,}"


def test_seconds_without_a_transaction_have_no_times() -> None:
    nothing = [0.0, 0.0, math.nan, math.nan, math.nan]
    found = replace(sample.evaluation(scales=(1,)), seconds={1: np.array([[5.0, 1.0, 1e6, 2e6, 3e6], nothing])},
                    durations_s={1: np.array([1.5])})  # fmt: skip
    columns = course.courses(found)["1"]["columns"]
    assert columns == {
        "second": [0, 1, 2], "middle": [0.5, 1.5, None], "count": [5, 0, 0], "failed": [1, 0, 0],
        "p50": [1, None, None], "p99": [2, None, None], "max": [3, None, None],
    }  # fmt: skip


def test_what_has_no_option_goes_into_a_file() -> None:
    asked = RunSpec(target={"url": "private:postgresql", "version": '1"5'})
    assert command_line(asked.described()).endswith("--config repeat.toml")
    assert config_file(asked.described()) == '# repeat.toml\n[target]\nversion = "1\\"5"\n'


def test_passwords_are_not_shown() -> None:
    described = RunSpec(target={"url": "postgresql://me:geheim@h/d"}).described()
    shown = page(sample.evaluation(scales=(1,)), sample.run(spec=described))
    assert "geheim" not in shown
    assert "Write the password where *** stands" in shown


def test_markup_escapes_text_and_attributes() -> None:
    assert tag("p", "a<b", Html("<b>c</b>"), cls='"x"', data_a="<", hidden=True, open=False) == (
        '<p class="&quot;x&quot;" data-a="&lt;" hidden>a&lt;b<b>c</b></p>'
    )
    assert "<" not in escape_script({"a": "</script><!--"})
    assert json.loads(escape_script({"a": "</script>\u2028"})) == {"a": "</script>\u2028"}
    assert '<tr class="void"><th scope="row">2</th>' in table("t", ["n"], [["1"], ["2"]], marked=[1])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(math.nan, "–"), (0.0, "0"), (12, "12"), (123456, "123,456"), (1234.56, "1,235"), (0.0123456, "0.01235")],
)
def test_numbers_are_short(value: float, shown: str) -> None:
    assert number(value) == shown


def test_what_else_the_machine_did_stands_beside_the_resources() -> None:
    found = replace(sample.evaluation(scales=(1,)), machine={1: (hogged("stress-ng"),)})
    text = Reader(page(found, sample.run())).text
    assert "stress-ng 1.6" in text
    assert "1.80" in text, "CPUs of others"
    assert "Machine by cycle" not in Reader(page(sample.evaluation(scales=(1,)), sample.run())).text
