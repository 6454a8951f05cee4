"""A study as text, JSON, diagrams and page."""

from __future__ import annotations

import datetime
import json
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsbench import study
from dsbench.read.blocks import Overview
from dsbench.read.draw.render import drawn_as
from dsbench.read.draw.theme import log_ticks
from dsbench.read.glance import Taken
from dsbench.read.verdict import RunVerdict, Soundness
from dsbench.several import compare
from dsbench.spec import SpecError
from dsbench.stats.values import Resource
from dsbench.study import Outcomes, Point, Study, begin, findings, outcomes, panels, record, results, shown
from dsbench.study.diagrams import specs
from dsbench.study.findings import Finding, Kind
from dsbench.study.record import extend, make_folder
from dsbench.study.spec import parse
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.program import Program
from fixtures.studies import archived


def test_effects_are_those_that_were_put_in(whole: Outcomes) -> None:
    found = shown.document(whole)
    values = {tuple(one["levels"].items()): one["ratio"] for one in found["effects"]["main"]}
    assert values[("isolation", "serializable"),]["value"] == pytest.approx(0.8, rel=0.03)
    assert values[("clients", "4"),]["low"] < 2.25 < values[("clients", "4"),]["high"]
    assert all(one["none"] for one in found["effects"]["interactions"])
    shares = {tuple(one["factors"]): one["share"] for one in found["effects"]["shares"]}
    assert shares["clients",] > shares["isolation",] > 0.05 > shares["isolation", "clients"]
    assert len([trial for trial in found["trials"] if trial["value"]]) == 17


def test_the_text_says_what_was_found_and_what_is_missing(whole: Outcomes) -> None:
    text = shown.text(whole)
    assert "17 of 18 trials in 3 blocks" in text
    assert re.search(r"(?i)isolation serializable has 0\.(79|80|8)", text)
    assert "failed: trial 1 (" in text
    assert "the server did not start" in text
    assert max(map(len, text.splitlines())) < 220


def test_times_are_a_measure_as_well(made: Study) -> None:
    found = outcomes(made, "p50")
    assert found.unit == "ms"
    assert all(one.none for one in found.effects.main) if found.effects else False
    with pytest.raises(SpecError, match="no measure"):
        outcomes(made, "speed")


def test_the_axis_of_effects_begins_near_them_and_names_each_tick(whole: Outcomes) -> None:
    spec = specs(whole)["effects"]
    axes = [layer["encoding"]["x"] for layer in spec["layer"] if layer["encoding"]["x"].get("axis")]
    assert len(axes) == 1
    low, high = axes[0]["scale"]["domain"]
    ends = [row[end] for row in spec["datasets"]["effects"] for end in ("low", "high")]
    assert (low, high) == pytest.approx((min(*ends, 1), max(*ends, 1)), rel=0.15)
    svg = drawn_as("effects", spec)["effects.svg"].decode()
    axis = svg[svg.index("X-axis") : svg.index("role-axis-title")]
    numbers = [float(label) for label in re.findall(r"<text[^>]*>([^<]+)</text>", axis)]
    assert len(numbers) == len(re.findall(r'y2="5"', axis)) > 1, "a label for each tick"
    assert low <= min(numbers) < max(numbers) <= high


def test_the_caption_of_effects_speaks_of_no_factors_that_are_not_there(whole: Outcomes, tmp_path: Path) -> None:
    assert "compared with the reference of its factor, averaged over the levels of the other factor. Bars" in shown.html(whole)
    assert "averaged over the levels of the other factors. Bars" in shown.html(outcomes(_one_at_a_time(tmp_path)))
    factor = {"name": "clients", "path": "clients", "levels": [1, 2]}
    run = {"target": "private:sqlite", "scales": [1], "cycles": 2, "duration": 1.0}
    alone, _ = begin(parse({"name": "clients", "run": run, "factor": [factor], "trials": {"repeat": 2}}), tmp_path / "alone")
    make_folder(alone)
    for trial in alone.trials:
        alone = alone.with_trial(archived(alone, trial, lambda at, _scale: 200 * 1.5 ** at[0]))
    assert "compared with the reference of its factor. Bars" in shown.html(outcomes(alone))


def test_an_interval_that_excludes_nothing_is_not_told_by_its_ends(whole: Outcomes) -> None:
    found = whole
    assert found.effects is not None
    first, *others = found.effects.main
    wide = replace(first, ratio=replace(first.ratio, value=2.0, low=2e-15, high=1.8e17))
    found = replace(found, effects=replace(found.effects, main=(wide, *others)))
    text, spec = shown.text(found), specs(found)["effects"]
    assert "e-15" not in text
    assert "e+17" not in text
    assert re.search("epeated trials are too few, or their spread is too large, to show anything about isolation", text)
    row = spec["datasets"]["effects"][0]
    assert (row["low"], row["high"]) == (0.002, 2000)


def test_plots_beside_each_other_have_the_same_axes(whole: Outcomes) -> None:
    plots = [{"layer": [{"encoding": {"x": _axis(*domain)}}]} for domain in ((1, 10), (0.5, 200), (0.1, 8))]
    panels._share_domain(plots, "x")
    axes = [plot["layer"][0]["encoding"]["x"] for plot in plots]
    assert {tuple(one["scale"]["domain"]) for one in axes} == {(0.1, 200)}
    # Those of the widest, and what lies outside of it.
    assert [one["axis"]["values"] for one in axes] == [[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200]] * 3
    drawn = specs(whole)["freq-1-by-2"]["vconcat"][0]["hconcat"]
    assert len({json.dumps(plot["layer"][0]["encoding"]["x"]) for plot in drawn}) == 1


def test_frequencies_are_those_of_the_smallest_and_the_largest_scale(whole: Outcomes) -> None:
    scales = sorted({point.scale for point in whole.points})
    drawn = specs(whole)["freq-1"]
    assert {row["scale"] for row in drawn["datasets"]["freq"]} == {str(scales[0]), str(scales[-1])}
    assert drawn["title"]["subtitle"] == [f"all trials of a level together; solid: scale {scales[-1]}, dashed: scale {scales[0]}"]


def test_a_measure_that_most_trials_lack_is_said_to_be_unknown_and_not_unrepeated(called: Program) -> None:
    said = called("study", "show", str(Path(__file__).parents[1] / "data/kept/study"), "--of", "p99").stdout
    assert "\nThe p99 is known in 1 of 8 trials, too few to show an effect.\n" in said
    assert re.search(r"^isolation +read-committed \(reference\) +– +0$", said, re.M)
    assert re.search(r"^isolation +serializable +2.883 +1$", said, re.M)


def _axis(low: float, high: float) -> dict[str, Any]:
    ticks = {"values": log_ticks(low, high)}
    return {"type": "quantitative", "scale": {"type": "log", "domain": [low, high]}, "axis": ticks}


def test_every_diagram_is_there_and_the_page_holds_it(whole: Outcomes) -> None:
    found = whole
    assert set(specs(found)) == {
        "effects", "relative-1", "relative-2", "heat-1-2", "lines-2", "freq-1", "freq-2", "rate-1", "rate-2",
        "freq-1-by-2", "freq-2-by-1",
    }  # fmt: skip
    files = shown.files(found)
    page = files["results.html"].decode()
    for name in specs(found):
        assert f'data-diagram="{name}"' in page
        assert files[f"results-{name}.svg"].startswith(b"<svg")
    assert "http-equiv=\"Content-Security-Policy\"" in page
    assert json.loads(files["results.json"])["unit"] == "tps"


def test_a_name_is_shown_as_text_only(made: Study) -> None:
    spec = made.spec.model_copy(update={"name": "<script>alert(1)</script>", "about": "<b>"})
    found = outcomes(replace(made, spec=spec))
    page = shown.html(found)
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_a_trial_is_divided_by_the_one_beside_it_only(made: Study, whole: Outcomes) -> None:
    found = whole
    both = [replace(one, values=dict.fromkeys(one.values, 100.0 * 3 ** one.at[1] / (1 + one.at[0]))) for one in found.made]
    # Trial 1 failed: whatever is missing, serializable has half of the rate, and not half of that of fewer clients.
    one = replace(found, made=tuple(both))
    assert one.relative(0, 1, one.points[0]) == pytest.approx((0.5, 0.5, 0.5))
    assert one.uneven
    assert any("ran equally often" in line for line in shown.notes(one))


def test_a_scale_that_some_trials_have_is_not_compared(made: Study, whole: Outcomes) -> None:
    found = whole
    first, *rest = found.made
    more = replace(first, values={**first.values, Point(0, 5): 1e9})
    points = results._points((more, *rest), varied=False)
    assert points == found.points
    assert replace(found, made=(more, *rest)).value(more) == found.value(first)
    assert "excluded: 5" in shown.text(replace(found, made=(more, *rest)))
    assert results._points((more, *rest), varied=True) == ()


def test_a_trial_without_a_rate_is_named(made: Study, whole: Outcomes) -> None:
    found = whole
    none = replace(found.made[0], values=dict.fromkeys(found.points, 0.0))
    text = shown.text(replace(found, made=(none, *found.made[1:])))
    assert f"not in the effects: trial {none.trial.number} (the rate is 0 or unknown)" in text


def test_of_a_factor_with_one_level_nothing_is_told(made: Study) -> None:
    some = replace(made, trials=tuple(one for one in made.trials if one.levels[0] == "serializable"))
    told = findings.find(outcomes(some))
    assert any(one.text.startswith("nothing is known about isolation") for one in told)
    assert not any(one.quiet for one in told)


@pytest.mark.parametrize(("spread", "said"), [
    (4.0, r"undecided: journal wal may have 0\.29\d to 3\.[34]\d? times the rate of delete; "
     r"about 11 more blocks would show a factor of 2"),
    (1.02, r"no effect of journal above 10% was found"),
])  # fmt: skip
def test_a_factor_that_nobody_can_tell_is_undecided_and_not_without_effect(
    tmp_path: Path, spread: float, said: str
) -> None:
    """By hand: ln ratios of -s, 0, 0, 0, s have the standard error s/√10, and t is 2.776 at 4 degrees of freedom. So with
    s = ln 4 the interval is exp(±1.217), and 1.217/√(16/5) is below ln 2, with 15 for 16 it is not."""
    run = {"target": "private:sqlite", "scales": [1], "cycles": 2, "duration": 1.0}
    factor = {"name": "journal", "path": "target.settings.journal_mode", "levels": ["delete", "wal"]}
    begun, _ = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 5}}), tmp_path / "s")
    make_folder(begun)
    power = {trial.block: at for trial, at in zip(begun.trials[::2], (-1, 0, 0, 0, 1), strict=True)}
    for trial in begun.trials:
        begun = begun.with_trial(archived(begun, trial, lambda at, _, by=power[trial.block]: 400 * spread ** (at[0] * by)))
    found = outcomes(begun)
    (one,) = findings.find(found)
    assert re.fullmatch(said, one.whole)
    (row,) = next(iter(shown.tables(found))).rows
    assert (row[-1], one.kind) in (("none", Kind.NONE), ("undecided", Kind.OPEN))
    told = shown.answer(found, [one])
    assert f"{one.text[:1].upper()}{one.text[1:]}." in told.sentence
    assert "would not show" not in told.about, "the sentence says it"
    others = [Finding(Kind.EFFECT, "real")] * 3
    assert re.search(r"an effect below [13]\.\d+ times cannot be detected", shown.answer(found, [*others, one]).about)


def test_of_many_stages_without_a_decision_one_line_is_told(whole: Outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {name: Finding(Kind.OPEN, f"undecided: {name}") for name in "abcd"} | {"e": Finding(Kind.EFFECT, "e is faster")}
    monkeypatch.setattr(findings, "_of_one", lambda part: [lines[part]])
    told = [one.text for one in findings._of_stages({name: name for name in lines})]
    assert told == ["stage e: e is faster", "undecided in 4 of 5 stages: a, b, c, d; the tables have the intervals"]
    few = [one.text for one in findings._of_stages({name: name for name in "ae"})]
    assert few == ["stage e: e is faster", "stage a: undecided: a"]


def test_a_median_of_two_lies_between_them() -> None:
    assert shown._median([1.0, float("nan"), 3.0]) == 2.0


def test_a_study_without_a_trial_says_so(tmp_path) -> None:  # type: ignore[no-untyped-def]
    factor = {"name": "clients", "path": "clients", "levels": [1, 2]}
    begun, _ = begin(parse({"name": "x", "factor": [factor]}), tmp_path / "s")
    text = shown.text(outcomes(begun))
    assert "0 of 6 trials" in text
    assert "6 trials have not run yet" in text


def test_a_factor_that_varies_stays_one_beside_best_and_reference(made: Study, whole: Outcomes) -> None:
    """As the talk sets optimum against default for each architecture."""
    spec = parse(tomllib.loads(study.best(whole, vary=["isolation"])))
    configuration, isolation = spec.factor
    assert [level.sets for level in configuration.resolved] == [{"clients": 1}, {"clients": 4}]
    assert isolation.name == "isolation"
    assert [level.sets for level in isolation.resolved] == [level.sets for level in made.factors[0].resolved]
    with pytest.raises(SpecError, match="no factor 'disk'"):
        study.best(whole, vary=["disk"])


def test_the_best_levels_become_a_study_against_the_references(made: Study, whole: Outcomes) -> None:
    spec = parse(tomllib.loads(study.best(whole)))
    reference, best = spec.factor[0].resolved
    assert (reference.sets, best.sets) == ({"isolation": "read-committed", "clients": 1}, {"isolation": "read-committed", "clients": 4})
    assert spec.run == made.spec.run
    only = replace(made, trials=tuple(one for one in made.trials if one.number < 4))
    with pytest.raises(SpecError, match="no level was found"):
        study.best(outcomes(only))
    short = replace(made, trials=tuple(one for one in made.trials if one.block == 1))
    assert '"best", set = { isolation = "read-committed", clients = 4 }' in study.best(outcomes(short), likely=True)


def test_the_best_levels_come_without_a_password_and_say_so(made: Study, whole: Outcomes) -> None:
    url = "postgresql://me:secret@host/db?sslmode=require&sslpassword=secret"
    spec = made.spec.model_copy(update={"run": {**made.spec.run, "target": url}})
    day = datetime.date(2026, 1, 2)
    factors = tuple(one.model_copy(update={"levels": tuple(
        {"name": str(level), "set": {one.path: level, "target.settings.note": float("inf"), "target.settings.day": day}} for level in one.levels)}) for one in made.factors)
    found = replace(whole, study=replace(made, spec=spec, factors=factors),
                    levels=tuple(one.resolved for one in factors))  # fmt: skip
    text = study.best(found)
    assert "secret" not in text
    assert "***" not in text
    assert "# a study contains no password" in text
    read = tomllib.loads(text)
    assert read["run"]["target"] == "postgresql://me@host/db?sslmode=require"
    found_values = read["factor"][0]["levels"][1]["set"]
    assert (found_values["target.settings.note"], found_values["target.settings.day"]) == (float("inf"), day)
    assert "password" not in study.best(whole)


def test_what_ended_several_trials_is_told_once_with_their_level(made: Study) -> None:
    failed = tuple(replace(one, status="failed", reason="the kernel ended it") if one.levels[1] == "4" else one for one in made.trials)
    text = shown.text(outcomes(replace(made, trials=failed)))
    (line,) = [line for line in text.splitlines() if "the kernel ended it" in line]
    assert line.endswith("(clients 4): the kernel ended it")
    assert line.startswith("failed: trials ")
    assert "--again" in text


def _one_at_a_time(tmp_path: Path) -> Study:
    """Pages of 4, 8 and 16 KiB, buffers and slots, each alone beside 8 KiB, 1000 and 1: more buffers make twice as much."""
    factors = [{"name": "page size", "path": "target.settings.page_size", "levels": [4096, 8192, 16384], "reference": 8192},
               {"name": "buffers", "path": "target.settings.cache_size", "levels": [1000, 3000]},
               {"name": "clients", "path": "clients", "levels": [10, 20, 40]}]  # fmt: skip
    run = {"target": "private:sqlite", "scales": [1], "cycles": 2, "duration": 1.0}
    made, _ = begin(parse({"name": "one by one", "run": run, "factor": factors, "trials": {"design": "one-at-a-time", "repeat": 1}}), tmp_path / "s")
    make_folder(made)
    for trial in made.trials:
        made = made.with_trial(archived(made, trial, lambda at, _scale: 200 * 2 ** at[1] * 1.5 ** at[2]))
    return made


def test_diagrams_compare_like_with_like_as_the_tables_do(tmp_path: Path) -> None:
    found = outcomes(_one_at_a_time(tmp_path))
    drawn = specs(found)
    rates = {row["number"]: row["rate"] for row in drawn["lines-1"]["datasets"]["lines"]}
    assert rates == pytest.approx({4096: 200, 8192: 200, 16384: 200}, rel=0.05)
    assert {row["archive"] for row in drawn["lines-1"]["datasets"]["lines"]} == {"page size"}
    heat = next(spec for name, spec in drawn.items() if name == "heat-2-3")
    cells = {(row["x"], row["y"]): row["value"] for row in heat["datasets"]["fields"]}
    assert cells["1000", "10"] == pytest.approx(200, rel=0.05)
    axis = drawn["lines-1"]["layer"][0]["encoding"]["x"]["axis"]
    assert "format" not in axis, "4096 reads 4,096"
    assert drawn["lines-1"]["title"]["subtitle"][0] == "TPC-B-like on PostgreSQL 15.18"
    assert "one block: spread unknown" in drawn["lines-1"]["title"]["subtitle"][1]
    assert drawn["effects"]["title"]["subtitle"] == ["TPC-B-like on PostgreSQL 15.18", "intervals unknown: one block"]


def test_a_number_in_a_legend_has_its_factor(whole: Outcomes) -> None:
    drawn = specs(whole)
    assert {row["archive"].partition(":")[0] for row in drawn["rate-2"]["datasets"]["rates"]} >= {"clients 1", "clients 4"}
    assert not any("isolation" in row["archive"] for row in drawn["rate-1"]["datasets"]["rates"])


def test_one_block_has_a_line_for_each_level_of_a_second_factor(made: Study) -> None:
    once = replace(made, trials=tuple(one for one in made.trials if one.block == 2))
    drawn = specs(outcomes(once))["lines-2"]
    assert {row["archive"] for row in drawn["datasets"]["lines"]} == {"isolation read-committed", "isolation serializable"}


def test_every_trial_has_a_row_with_its_value_and_what_it_found_in_memory(made: Study, whole: Outcomes) -> None:
    found = whole
    heads = [column.head for column in shown._tabulate_trials(found).columns]
    assert heads[:6] == ["trial", "block", "isolation", "clients", "state", "rate [tps]"]
    some = replace(found, made=(replace(found.made[0], resources=(
        Resource("blocks hit", "blocks", 1, 9, "server"), Resource("blocks read", "blocks", 1, 1, "server"))), *found.made[1:]))
    rows = {row[0]: row for row in shown._tabulate_trials(some).rows}
    assert len(rows) == 18, "the one that failed as well"
    assert rows["1"][4] == "failed"
    assert all(math.isnan(value) for value in rows["1"][5:9])
    by_counters = {number: row[-4] for number, row in rows.items()}
    assert by_counters.pop(str(found.made[0].trial.number)) == 0.9
    assert all(math.isnan(share) for share in by_counters.values()), "unknown is no 0, and leaves no row out"
    assert all(row[-3] == 1 for row in rows.values() if row[4] == "done"), "all took 1 ms, and none more"
    assert rows["2"][5] == found.value(next(one for one in found.made if one.trial.number == 2))


def test_levels_that_are_tables_are_added_as_tables(tmp_path: Path) -> None:
    factor = {"name": "nodes", "levels": [{"name": "local", "set": {"clients": 1}}, {"name": "1 node", "set": {"clients": 2}}]}
    run = {"target": "mock:", "workload": "select", "scales": [1], "cycles": 1, "duration": 1.0}
    begun, _ = begin(parse({"name": "x", "run": run, "factor": [factor]}), tmp_path / "s")
    with pytest.raises(SpecError, match="the levels of nodes are tables") as refused:
        extend(begun, {"nodes": ["5 nodes"]})
    assert '"clients" = …' in refused.value.remedy
    assert len(extend(begun, {"nodes": [{"name": "5 nodes", "set": {"clients": 5}}]}, 1).trials) == 8


def test_archives_of_a_study_are_compared_in_the_order_of_its_levels(made: Study, tmp_path: Path) -> None:
    paths, first = study.sort_archives([made.folder])
    levels = {made.archive_of(one).resolve(): one.levels for one in made.counted("done")}
    order = [levels[path.resolve()] for path in paths]
    assert order == sorted(order)
    assert len(order) == 17
    assert levels[Path(first).resolve()] == ("read-committed", "1")
    some = [path for path in paths if levels[path.resolve()][1] == "4"]
    assert study.sort_archives(some[::-1]) == (some, ""), "that with the references is none of them"
    elsewhere = [tmp_path / "b.zip", *some]
    assert study.sort_archives(elsewhere) == (elsewhere, "")
    assert compare.read(some[::3]).labels[0].startswith("isolation read-committed, clients 4")


def test_levels_tell_what_became_of_a_transactions_time(tmp_path: Path) -> None:
    """With two clients a transaction takes four times as long, and half of that is for locks."""
    run = {"target": "mock:", "workload": "select", "scales": [1], "cycles": 1, "duration": 1.0}
    factor = {"name": "clients", "path": "clients", "levels": [1, 2]}
    begun, _ = begin(parse({"name": "x", "run": run, "factor": [factor]}), tmp_path / "s")
    make_folder(begun)
    for trial in begun.trials:
        many, name = trial.levels == ("2",), f"trial-{trial.number}"
        key = {"scale": 1, "stage": "load", "cycle": 1, "second": 0, "looks": 20}
        looked = [{**key, "state": "active", "sessions": 20}, {**key, "state": "waiting", "class": "lock", "sessions": 20 * many}]
        cycles = [cycle_row(1, 1, [(4 if many else 1) * MS] * ((500 if many else 1000) + trial.block), clients=1 + many)]
        spec = run_json({**run, "clients": 1 + many, "target": {"url": "mock:"}}, name=name)
        write(begun.archives, spec, {"cycles": cycles, "samples": looked})
        begun = begun.with_trial(replace(trial, status="done", archive=name))
    record.store(begun)
    text = shown.text(outcomes(record.load(begun.folder)))
    assert re.search(r"clients 2 beside 1: a transaction takes (4|3\.9\d) ms instead of 1 ms: .*2 ms instead of 0 ms locks", text), text
    assert re.search(r"clients +2 +(4|3\.99\d*) ", text), text


def test_void_and_disturbed_trials_are_told_before_the_verdict(made: Study, whole: Outcomes) -> None:
    found = whole
    taken = RunVerdict(Soundness.DISTURBED, (), (Taken("other programs", 1.7, 0, 2, "", 1),))
    trials = tuple(replace(one, status="void", reason="its check failed") if one.status == "failed" else one for one in made.trials)
    found = replace(found, study=replace(made, trials=trials), made=tuple(replace(one, verdict=taken) for one in found.made))
    lines = ["1 of 18 trials is void: its check failed.", "17 of 18 trials are disturbed: other programs used 1.7 of 2 CPUs."]
    assert [line for block in shown.tell(found) if isinstance(block, Overview) for line in block.verdict] == lines
    assert shown.text(found).splitlines()[2:4] == lines, "below its name"
    told = shown.document(found)
    assert (told["runs"]["disturbed"], told["runs"]["void"]) == (17, 1)
    assert {one["verdict"]["soundness"] for one in told["trials"] if one["verdict"]} == {"disturbed"}
