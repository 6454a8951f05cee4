"""A commons from the command line to a page in a real browser, opened from a file."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dsbench.archive import Archive
from dsbench.commons.about import EntryError, PublisherNotes
from dsbench.commons.entry import CommonsEntry, read_entry, write
from dsbench.commons.figures import describe
from dsbench.commons.packing import prepare
from dsbench.commons.site import build, check
from dsbench.problem import Problem
from dsbench.spec.price import Price
from fixtures.program import Program
from fixtures.web import Seen, served

STORED = Path(__file__).parents[1] / "data/archives"
BAD = "<img src=x onerror='window.hacked=1'></script><script>window.hacked=1</script>"
PUBLISHED = ("sqlite-clients", "pg-tpcc", "pg", "sqlite-tpcb", "insert", "tp1")


def _undisturbed(commons: Path) -> CommonsEntry:
    """An entry to make up others of."""
    found = read_entry(next(iter((commons / "entries").glob("*sqlite-tpcb*"))))
    return found.model_copy(update={"verdict": {"soundness": "valid", "why": []}})


@pytest.fixture(scope="module")
def commons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commons") / "results"
    for name in PUBLISHED:
        about = PublisherNotes(by=BAD, machine="m", price=Price(per_hour=0.5, currency="EUR"), notes=BAD)
        write(prepare(STORED / f"{name}.zip", about), folder)
    return folder


@pytest.fixture(scope="module")
def site(commons: Path) -> Path:
    return build(commons, commons.parent / "site").path


def test_from_a_run_to_a_site_by_four_commands(called: Program, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    assert called("commons", "init", str(folder)).returncode == 0
    assert {path.name for path in folder.iterdir()} == {"README.md", "LICENSE", "about.toml", ".github", ".gitignore", "entries"}
    again = called("commons", "init", str(folder))
    assert (again.returncode, "already exists" in again.stderr) == (2, True)

    shown = called("commons", "publish", str(STORED / "pg.zip"), "--to", str(folder), "--preview")
    assert "hidden  host" in shown.stdout
    assert not any(folder.glob("entries/2*"))
    published = called("commons", "publish", str(STORED / "pg.zip"), "--to", str(folder), "--by", "Ada", "--price", "0.1")
    assert published.returncode == 0, published.stderr
    entry = json.loads((Path(published.stdout.strip()) / "entry.json").read_text())
    assert entry["about"] == {"by": "Ada", "machine": "", "notes": "", "price": {"per_hour": 0.1, "currency": "USD"}}

    several = (str(STORED / f"{name}.zip") for name in ("pg", "cut", "sqlite-tpcb"))
    again = called("commons", "publish", *several, "--to", str(folder))
    assert (again.returncode, len(again.stdout.splitlines())) == (1, 1)
    assert "cut.zip: the run is cut-short" in again.stderr
    assert "already exists: this run is published" in again.stderr
    shutil.rmtree(again.stdout.strip())

    # As the workflow does it, in a clean clone.
    clone = tmp_path / "clone"
    me = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "."), (*me, "commit", "-qm", "Add a result"), ("clone", "-q", ".", str(clone))):
        subprocess.run(["git", *words], cwd=folder, check=True)
    workflow = yaml.safe_load((clone / ".github/workflows/results.yml").read_text())
    assert set(workflow["jobs"]) == {"check", "deploy"}
    lines = [step.get("run", "") for step in workflow["jobs"]["check"]["steps"]]
    (line,) = (line for line in lines if line.startswith("dsbench "))
    words = [sys.executable, "-m", *shlex.split(line.replace("$RUNNER_TEMP", str(tmp_path / "runner")))]
    built = subprocess.run(words, cwd=clone, capture_output=True, text=True, check=True)
    page = tmp_path / "runner/site/index.html"
    assert built.stderr == "1 of 1 entry holds\n"
    assert built.stdout == f"{page}\n"
    assert page.is_file()
    assert workflow["jobs"]["check"]["steps"][-1]["with"]["path"] == "${{ runner.temp }}/site"
    left = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert left.stdout == ""

    entry["figures"]["rate"]["value"] *= 2
    (Path(published.stdout.strip()) / "entry.json").write_text(json.dumps(entry))
    refused = called("commons", "check", str(folder))
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"refused: {entry['id']}: figures.rate.value is ")


@pytest.mark.parametrize(("words", "said"), [
    (("commons", "publish", "nowhere", "--to", "x"), "no archive at nowhere"),
    (("commons", "publish", str(STORED / "cut.zip"), "--to", "x"), "cut-short"),
    (("commons", "publish", str(STORED / "pg.zip"), "--to", "x"), "x is not a commons"),
    (("commons", "publish", str(STORED / "pg.zip"), "--to", "x", "--hide", "colour"), "--hide: 'colour' cannot be hidden"),
    (("commons", "publish", str(STORED / "pg.zip"), "--to", "x", "--price", "-1"), "--price"),
    (("commons", "publish", str(STORED / "pg.zip"), "--to", "x", "--currency", "euro", "--price", "1"), "--currency"),
    (("commons", "publish", str(STORED / "pg.zip"), "--to", "x", "--about", "nowhere.toml"), "--about: nowhere.toml"),
    (("commons", "check", "nowhere"), "nowhere is not a commons"),
])  # fmt: skip
def test_wrong_words_are_one_error(words: tuple[str, ...], said: str, called: Program) -> None:
    done = called(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert not Path("x").exists()


def test_what_is_gone_leaves_the_site_and_what_is_no_part_of_it_stays(tmp_path: Path) -> None:
    out, folder = tmp_path / "site", tmp_path / "some"
    for name in PUBLISHED[:2]:
        write(prepare(STORED / f"{name}.zip", PublisherNotes()), folder)
    assert len(build(folder, out).verified.sound) == 2
    (path,) = (path for path in (folder / "entries").iterdir() if "sqlite" in path.name)
    said = json.loads((path / "entry.json").read_text())
    said["measured"] = "2020-01-01"
    (path / "entry.json").write_text(json.dumps(said))
    changed = build(folder, out).verified
    assert (len(changed.sound), len(changed.refused)) == (1, 1)
    assert {one.name for one in (out / "entries").iterdir()} == {changed.sound[0].id}
    assert "sqlite" not in (out / "index.html").read_text().lower().split('id="entries"')[1].split("</script>")[0]
    mine = out / "entries/mine.txt"
    mine.write_text("somebody else's")
    with pytest.raises(EntryError, match=r"contains 'entries/mine\.txt', which no build created"):
        build(folder, out)
    assert mine.read_text() == "somebody else's"
    mine.unlink()
    assert {one.name for one in build(folder, out, reports=True).path.parent.rglob("*.html")} == {"index.html", "report.html"}


def test_a_commons_has_no_say_in_what_is_believed_of_it(tmp_path: Path) -> None:
    """Whatever lies in it, a forged entry is refused, and the site goes nowhere where it could have said something."""
    folder = tmp_path / "cm"
    path = write(prepare(STORED / "sqlite-tpcb.zip", PublisherNotes()), folder)
    said = json.loads((path / "entry.json").read_text())
    said["figures"]["rate"]["value"] = 987_654_321.0
    (path / "entry.json").write_text(json.dumps(said))
    (folder / "site").mkdir()
    (folder / "site/.verified.json").write_text("{}")
    for inside in (folder / "site", folder, folder / "site/more"):
        with pytest.raises(EntryError, match="is within the commons"):
            build(folder, inside)
    assert build(folder, tmp_path / "site").verified.sound == ()
    assert not list((tmp_path / "site").rglob("archive.zip"))


def test_a_build_writes_through_no_link(tmp_path: Path) -> None:
    folder, out, others = tmp_path / "cm", tmp_path / "site", tmp_path / "others"
    write(prepare(STORED / "sqlite-tpcb.zip", PublisherNotes()), folder)
    (others / "deep").mkdir(parents=True)
    (others / "victim.txt").write_text("mine")
    out.mkdir()
    (out / "index.html").symlink_to(others / "victim.txt")
    (out / "entries").symlink_to(others)
    build(folder, out)
    assert not (out / "index.html").is_symlink()
    assert len(list(out.rglob("archive.zip"))) == 1
    shutil.rmtree(out)
    (tmp_path / ".site.part").symlink_to(others)
    with pytest.raises(Problem, match="cannot write to"):
        build(folder, out)
    (tmp_path / ".site.part").unlink()
    out.symlink_to(others)
    with pytest.raises(EntryError, match="is a link"):
        build(folder, out)
    assert sorted(one.name for one in others.rglob("*")) == ["deep", "victim.txt"]
    assert (others / "victim.txt").read_text() == "mine"


def _rewritten(content: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for member in old.infolist():
            inside = old.read(member)
            new.writestr(member, change(inside) if member.filename.endswith(part) else inside)
    return made.getvalue()


def test_of_entries_of_one_run_all_are_refused_and_none_is_blamed(tmp_path: Path) -> None:
    """A thief's copy says another day; which of both was there first no archive can say."""
    honest = prepare(STORED / "pg.zip", PublisherNotes(by="Ada"))
    stolen = _rewritten(honest.archive, "run.json", lambda text: re.sub(rb"2026-\d\d-\d\dT", b"2020-01-01T", text))
    path = tmp_path / "stolen.zip"
    path.write_bytes(stolen)
    copy = prepare(path, PublisherNotes(by="Thief"))
    other = prepare(STORED / "sqlite-tpcb.zip", PublisherNotes())
    for package in (honest, copy, other):
        write(package, tmp_path)
    found = check(tmp_path)
    assert [entry.id for entry in found.sound] == [other.entry.id]
    both = sorted((honest.entry.id, copy.entry.id))
    assert sorted(found.refused) == [f"{one}: 2 entries are this run, {both[0]} and {both[1]}: keep one of them" for one in both]


def test_ranking_entry_comparison_and_versions_in_a_browser(site: Path, browser: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": 390, "height": 844})
    seen, axe = Seen(page), Axe()

    def sound() -> None:
        assert [wrong["id"] for wrong in axe.run(page).response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert seen.well()

    page.goto(site.as_uri())
    assert page.locator("h1").inner_text() == f"{len(PUBLISHED)} results of database servers"
    sound()
    group = page.get_by_label("What is compared")
    values = [option.get_attribute("value") for option in group.locator("option").all()]
    group.select_option(next(value for value in values if value.startswith("TPC-C")))
    assert page.locator(".ranking tbody tr").count() == 1
    assert "per minute" in page.locator(".ranking .figure").inner_text().lower() \
        or "NOPM" in page.locator(".ranking .figure").inner_text()
    page.get_by_label("Ranked by").select_option("price EUR")
    assert "per EUR" in page.locator(".ranking .figure").inner_text()
    page.get_by_text("Filters", exact=True).click()  # Folded on a telephone.
    page.get_by_label("Search").fill("no such machine")
    assert "Nothing matches." in page.locator(".ranking").inner_text()
    group.select_option(next(value for value in values if value.startswith("Insert")))
    assert "Stage l.i0" in page.locator(".ranking thead").inner_text()

    page.locator(".ranking tbody a").click()
    assert "PostgreSQL" in page.locator("h1").inner_text() or "SQLite" in page.locator("h1").inner_text()
    sound()
    with page.expect_download() as loaded:
        page.get_by_role("link", name="The archive").click()
    assert loaded.value.suggested_filename.endswith(".zip")

    ids = sorted(path.name for path in (site.parent / "entries").iterdir() if "tpcb" in path.name)[:2]
    page.goto(f"{site.as_uri()}#compare={','.join(ids)}")
    assert page.locator("thead th").count() == 2
    assert page.locator("svg.curve polyline").count() >= 2
    sound()
    page.goto(f"{site.as_uri()}#versions")
    assert "version" in page.locator("h1").inner_text().lower()
    sound()
    page.goto(f"{site.as_uri()}#entry=nothing")
    assert page.locator("h1").inner_text() == "There is no such entry"


def test_an_archive_is_published_in_the_browser_and_shown_there(browser: Any, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    archives = tmp_path / "archives"
    archives.mkdir()
    shutil.copy(STORED / "pg.zip", archives)
    with served(archives) as address:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        seen, axe = Seen(page), Axe()
        page.goto(address)
        page.wait_for_selector("h1")
        base = address.partition("/?")[0]
        page.goto(f"{base}/commons")
        page.get_by_text("There are no published results in").wait_for()
        page.goto(f"{base}/archive?name=pg")
        page.get_by_role("link", name="Publish", exact=True).click()
        page.get_by_text("What will be hidden").wait_for()
        page.get_by_label("By", exact=True).fill(BAD)
        page.get_by_label("Price").fill("-1")
        page.get_by_label("Price").blur()
        page.get_by_text("--price").wait_for()
        page.get_by_label("Price").fill("0.5")
        page.get_by_label("Price").blur()
        page.get_by_text("What will be hidden").wait_for()
        assert [wrong["id"] for wrong in axe.run(page).response["violations"]] == []
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("link", name="To the published results").click()
        frame = page.frame_locator("iframe")
        assert frame.locator("h1").inner_text() == "One result of a database server"
        assert "PostgreSQL" in frame.locator(".ranking tbody").inner_text()
        page.get_by_text("1 of 1 entries").wait_for()
        assert seen.well()
    assert len(list((tmp_path / "commons" / "entries").iterdir())) == 1


def test_entries_whose_intervals_overlap_share_a_place(commons: Path, browser: Any, tmp_path: Path) -> None:
    """Places are computed by the page: four made-up entries, of which two overlap and one has no interval."""
    from dsbench.commons.site import render

    base = _undisturbed(commons)
    made = []
    for number, (value, low, high) in enumerate(((100, 95, 105), (98, 92, 99), (80, 79, 81), (90, None, None))):
        figures = {**base.figures, "rate": {**base.figures["rate"], "value": value, "low": low, "high": high}}
        made.append(base.model_copy(update={"figures": figures, "id": f"{base.id[:-1]}{number}"}))
    path = tmp_path / "index.html"
    path.write_text(render("made", made))
    page = browser.new_page()
    page.goto(path.as_uri())
    places = page.locator(".ranking tbody tr td:nth-child(2)").all_inner_texts()
    assert places == ["1 (tied)", "1 (tied)", "–", "3"]


@pytest.mark.parametrize("width", [390, 1440])
def test_two_entries_of_one_server_are_told_apart_and_their_curve_is_whole(
    width: int, commons: Path, browser: Any, tmp_path: Path
) -> None:
    """Rates of a million, whose labels are long; both sides of a comparison are in sight on a telephone."""
    from dsbench.commons.site import render

    base = _undisturbed(commons)
    made = []
    for number, clients in enumerate((1, 4)):
        curve = {"stage": "load", "clients": clients, "points": [[1, 0.1, 900_000 + number], [2, 0.2, 1_100_000 + number]]}
        told = {"figures": {**base.figures, "curves": [curve]}, "id": f"{base.id[:-1]}{number}"}
        made.append(base.model_copy(update={**told, "conditions": {**base.conditions, "clients": [clients]}}))
    path = tmp_path / "index.html"
    path.write_text(render("made", made))
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(f"{path.as_uri()}#compare={','.join(entry.id for entry in made)}")
    product = base.system["product"]
    assert page.locator("thead th a").all_inner_texts() == [f"{product}, 1 client", f"{product}, 4 clients"]
    assert "not measured alike" in page.locator("h1").inner_text()
    drawn = page.locator("svg.curve")
    assert "1,000,000" in drawn.locator("text").all_text_contents()
    box = drawn.bounding_box()
    for text in drawn.locator("text").all():
        one = text.bounding_box()
        assert one["x"] >= box["x"], text.text_content()
        assert one["x"] + one["width"] <= box["x"] + box["width"] + 1, text.text_content()
        assert one["height"] > 10, "as large as it is elsewhere"
    last = page.locator(".sides thead th").last.bounding_box()
    assert last["x"] + last["width"] <= width


def test_versions_of_one_product_are_one_history_in_their_order(commons: Path, browser: Any, tmp_path: Path) -> None:
    """Three versions, of which two overlap; two that found no rate, and one of another machine, are no part of it."""
    from dsbench.commons.site import render

    base = _undisturbed(commons)
    made = []
    for number, (version, rate, machine) in enumerate((
        ("3.20", (200, 190, 210), "m"), ("3.9", (100, 95, 105), "m"), ("3.45", (102, 99, 103), "m"), ("3.1", None, "m"), ("3.2", None, "m"),
        ("3.50", (300, 290, 310), "n"),
    )):  # fmt: skip
        figures = {**base.figures, "rate": {**base.figures["rate"], **dict(zip(("value", "low", "high"), rate, strict=True))}} if rate else {}
        made.append(base.model_copy(update={
            "id": f"{base.id[:-1]}{number}", "system": {**base.system, "product": f"SQLite {version}"}, "figures": figures,
            "about": base.about.model_copy(update={"machine": machine}),
        }))  # fmt: skip
    path = tmp_path / "index.html"
    path.write_text(render("made", made))
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{path.as_uri()}#versions")
    assert [title.startswith("SQLite on m, ") for title in page.locator("h2").all_inner_texts()] == [True]
    rows = [row.split("\t") for row in page.locator("tbody tr").all_inner_texts()]
    assert [(row[0], row[-2], row[-1]) for row in rows] == [("3.9", "1", ""), ("3.20", "2", ""), ("3.45", "1.02", "not told apart")]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_money_of_two_currencies_is_not_ranked_together_and_less_energy_comes_first(
    commons: Path, browser: Any, tmp_path: Path
) -> None:
    """Four made-up entries; power is measured for three of them, of which two overlap."""
    from dsbench.commons.site import render

    base = _undisturbed(commons)
    made = []
    for number, (currency, rate, joules) in enumerate(
        (("EUR", (100, 95, 105), 0.5), ("USD", (98, 92, 99), 0.49), ("EUR", (80, 79, 81), 0.2), ("EUR", (90, 89, 91), None))
    ):
        value, low, high = rate
        energy = {"joules": joules, "watts": 50.0, "by": "a meter"} if joules else None
        figures = {**base.figures, "rate": {**base.figures["rate"], "value": value, "low": low, "high": high}}
        about = base.about.model_copy(update={"price": Price(per_hour=1.0, currency=currency)})
        told = {"figures": {**figures, "energy": energy}, "id": f"{base.id[:-1]}{number}", "about": about}
        made.append(base.model_copy(update=told))
    path = tmp_path / "index.html"
    path.write_text(render("made", made))
    page = browser.new_page()
    seen = Seen(page)
    page.goto(path.as_uri())
    ranked = page.get_by_label("Ranked by")
    rows = page.locator(".ranking tbody tr")
    ranked.select_option("price USD")
    assert rows.count() == 1
    ranked.select_option("price EUR")
    assert page.locator(".ranking tbody td:nth-child(2)").all_inner_texts() == ["1", "2", "3"]
    ranked.select_option("energy")
    assert page.locator(".ranking tbody td:nth-child(2)").all_inner_texts() == ["1", "2 (tied)", "2 (tied)"]
    assert page.locator(".ranking tbody strong").all_inner_texts() == ["0.2 J", "0.49 J", "0.5 J"]
    page.goto(f"{path.as_uri()}#entry={made[0].id}")
    assert "0.5 J per transaction, 50 W, by a meter" in page.locator("dl").first.inner_text()
    page.goto(f"{path.as_uri()}#ranking")
    page.get_by_label("Durable only").check()
    assert rows.count() == 3
    assert seen.well()


def test_a_disturbed_entry_has_no_place_and_says_by_what(commons: Path, browser: Any, tmp_path: Path) -> None:
    from dsbench.commons.site import render

    base = _undisturbed(commons)
    made = []
    for number, (rate, why) in enumerate(((90, ""), (300, "other programs used 1.7 of 2 CPUs"), (80, ""))):
        figures = {**base.figures, "rate": {**base.figures["rate"], "value": rate, "low": rate - 1, "high": rate + 1}}
        verdict = {"soundness": "disturbed" if why else "valid", "why": [why] if why else []}
        told = {"figures": figures, "verdict": verdict, "id": f"{base.id[:-1]}{number}", "warnings": ("the clock <b>lies</b>",)}
        made.append(base.model_copy(update=told))
    path = tmp_path / "index.html"
    path.write_text(render("made", made))
    page = browser.new_page(viewport={"width": 390, "height": 844})
    seen = Seen(page)
    page.goto(path.as_uri())
    assert page.locator(".ranking tbody tr td:nth-child(2)").all_inner_texts() == ["1", "2", "disturbed"]
    assert page.locator(".ranking tbody strong").all_inner_texts() == ["90 tps", "80 tps", "300 tps"]
    page.goto(f"{path.as_uri()}#entry={made[1].id}")
    assert page.locator("p.disturbed").inner_text() == "Disturbed: other programs used 1.7 of 2 CPUs. Do not use this figure."
    assert "the clock <b>lies</b>" in page.locator("ul li").all_inner_texts()
    assert page.get_by_role("heading", name="Claimed").is_visible()
    page.goto(f"{path.as_uri()}#compare={made[0].id},{made[1].id}")
    assert "other work disturbed" in page.locator("h1").inner_text()
    page.goto(f"{path.as_uri()}#entry={made[0].id}")
    assert page.locator("p.disturbed").count() == 0
    assert seen.well()


def _group(archive: Any) -> str:
    from dsbench.commons.figures import describe_group

    return describe_group(CommonsEntry(id=f"20260101-x-y-{'0' * 10}", sha256="0" * 64, **describe(archive)))


OTHER_WORK = {
    "objective": {"objective": "p99=20ms"}, "another": {"objective": "p99=1s"}, "cycles": {"cycles": 99},
    "load": {"load": "0s:100, 9s:end"}, "scales": {"scales": (1, 3)}, "retry": {"retry": True}, "tries": {"max_tries": 5},
    "reconnect": {"reconnect": True}, "prepare": {"prepare": True}, "connections": {"connections": 50},
    "clients": {"clients": 7}, "nodes": {"nodes": 2}, "os_threads": {"os_threads": 1}, "existing": {"existing": True},
    "placement": {"placement": "pinned"}, "ramp-up": {"ramp_up": 5.0}, "arrival": {"arrival": "constant"},
    "keys": {"workload_settings": {"keys": "64"}},
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_WORK)
def test_what_was_measured_otherwise_is_in_another_group(name: str) -> None:
    archive, other = (Archive.open(STORED / "sqlite-tpcb.zip") for _ in range(2))
    other.__dict__["run"] = archive.run.model_copy(update={"spec": archive.run.spec.changed(**OTHER_WORK[name])})
    assert _group(other) != _group(archive), name


def test_another_call_is_another_group_and_what_is_no_work_stands_in_the_row() -> None:
    archive, other = (Archive.open(STORED / "pg.zip") for _ in range(2))
    other.__dict__["run"] = archive.run.model_copy(update={"call": "statements"})
    assert _group(other) != _group(archive)
    default = {"keys": "auto"}  # Said or not.
    spec = archive.run.spec.changed(population="procedure", reuse=True, label="night", profile="dsi", workload_settings=default)
    other.__dict__["run"] = archive.run.model_copy(update={"spec": spec})
    assert _group(other) == _group(archive)
    assert describe(other)["claimed"]["beside"] == {"population": "procedure", "reuse": "True"}
