"""The pages in a real browser: every page, a whole run, stopping, and texts of others that want to be scripts."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copy
from typing import Any, Final

import psutil
import pytest

from dsbench import study as room
from dsbench.archive import Archive
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.read.evaluation import evaluate
from dsbench.read.page import page as render
from dsbench.several import trend
from dsbench.spec import build
from dsbench.study import shown
from dsbench.web.pages import PAGES as menu
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.thorough import mostly_thorough
from fixtures.web import Seen

STORED = Path(__file__).parents[1] / "data" / "archives"
BAD = "<img src=x onerror='window.hacked=1'></script><script>window.hacked=1</script>{{window.hacked=1}}`${window.hacked=1}`"
NAMED = "<img src=x onerror=window.hacked=1>"
PAGES = ("/", "/?for=server", "/?for=script", "/?for=two", "/?for=clients", "/?for=all", "/live", "/archives", "/archive?name=pg", "/compare",
         "/compare?a=pg&a=sqlite-tpcb", "/study", "/study?name=tried&effects=yes", "/new-study", "/check", "/doctor", "/learn")  # fmt: skip
STUDY = """
name = "{}"
about = "<img src=x onerror='window.hacked=1'>"
run = {{ target = "mock:", scales = [1], cycles = 1, duration = 0.2 }}
factor = [{{ name = "clients", path = "clients", levels = [1, 2] }}]
trials = {{ repeat = {} }}
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("web") / "archives"
    (folder / ".live").mkdir(parents=True)
    for name in ("pg", "sqlite-tpcb"):
        copy(STORED / f"{name}.zip", folder)
    _of_a_stranger(STORED / "mock-open.zip", folder / f"{NAMED}.zip")
    (folder / "notes.json").write_text(json.dumps({"pg": {"tags": [BAD], "text": BAD}}))
    begun = psutil.Process().create_time()
    state = {"key": "bad", "pid": os.getpid(), "born": begun, "target": BAD, "workload": BAD, "label": BAD, "began": 1.0,
             "ended": 2.0, "log": [BAD], "problem": BAD, "remedy": BAD, "phase": BAD, "status": BAD}  # fmt: skip
    (folder / ".live" / "bad.json").write_text(json.dumps(state))
    _studied(folder.parent / "studies" / "tried")
    return folder


def _studied(folder: Path) -> None:
    """A study in all states of trials; its archives are all the same one."""
    study, _ = room.begin(room.of_text(STUDY.format("tried", 3).encode(), "test"), folder)
    (folder / "archives").mkdir(parents=True)
    for trial, status in zip(study.trials, ("done", "done", "done", "done", "failed", "planned"), strict=True):
        archive = f"trial-{trial.number}" if status == "done" else ""
        if archive:
            copy(STORED / "mock-tpcc.zip", folder / "archives" / f"{archive}.zip")
        reason = BAD if status == "failed" else ""
        study = study.with_trial(replace(trial, status=status, archive=archive, reason=reason))
    room.store(study)


def _of_a_stranger(source: Path, target: Path) -> None:
    """A copy of an archive whose texts, and whose page, hold scripts."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("run.json"):
                values = json.loads(data)
                values["host"] = values["server_version"] = values["spec"]["label"] = BAD
                data = json.dumps(values).encode()
            new.writestr(name, data)
        calls = "new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:9'}]}); location.href = 'http://127.0.0.1:9/'"
        head = old.namelist()[0].partition("/")[0]
        new.writestr(f"{head}/report.html", f"<!doctype html><title>x</title><h1>theirs</h1><script>{calls}</script>")


@pytest.mark.parametrize("path", mostly_thorough(PAGES, "/", "/archive?name=pg"))
def test_every_page_opens_and_screen_readers_can_read_it(page: Any, base: str, path: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    seen, axe, found = Seen(page), Axe(), []
    page.goto(base + path)
    page.wait_for_selector("h1")
    page.wait_for_function("!document.querySelector('.page').innerText.match(/Reading the|Looking at the/)")
    for dark in ("light", "dark"):
        page.get_by_label("Colours").select_option(dark)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{dark}'")
        for wrong in axe.run(page).response["violations"]:
            found += [f"{dark}: {wrong['id']}: {node['html'][:300]}" for node in wrong["nodes"]]
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    if page.locator(".page > iframe.report").count():
        assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight"), "the page scrolls beside its report"
    assert seen.well()


@pytest.mark.parametrize("width", mostly_thorough([360, 390, 640], 360))
def test_the_menu_is_one_row_on_a_telephone(page: Any, base: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for path in [one.path for one in menu if one.title]:
        page.goto(base + path)
        ways = page.locator(".bar nav a")
        ways.first.wait_for()
        assert page.evaluate("new Set([...document.querySelectorAll('.bar nav a')].map((one) => one.offsetTop)).size") == 1, path
        assert page.evaluate("[...document.querySelectorAll('.bar nav a')].at(-1).getBoundingClientRect().right <= innerWidth"), path


@pytest.mark.parametrize("path", mostly_thorough(["/report?name=pg", "/comparison?a=pg&a=sqlite-tpcb"], "/report?name=pg"))
def test_a_report_can_be_read_sorted_and_switched(page: Any, base: str, path: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    seen, axe, found = Seen(page), Axe(), []
    page.goto(base + path)
    name = "cycle" if path.startswith("/report") else "rate"
    page.locator(f"[data-diagram={name}]").scroll_into_view_if_needed()
    page.locator(f"[data-diagram={name}] svg.marks").wait_for()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for wrong in axe.run(page).response["violations"]:
            found += [f"{scheme}: {wrong['id']}: {node['html'][:300]}" for node in wrong["nodes"]]
    assert found == []
    figure = page.locator(f"#figure-{name}")
    figure.get_by_role("button", name=re.compile("axis$")).click()
    if name == "rate":
        figure.get_by_text(re.compile("^Series$")).click()
        figure.get_by_role("checkbox").first.uncheck()
    figure.locator("svg.marks").wait_for()
    head = page.locator("table thead th", has=page.get_by_role("button")).first
    for order in ("ascending", "descending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("region", name=f"Diagram {name}").focus()
    assert axe.run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    pale = page.locator(".chart svg [fill='#e8e6e3']")
    assert pale.count() > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert pale.count() == 0
    assert seen.well()


_RUNS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "legs": ("mock:?latency_us=300", {"load": "0s:50, 0.3s:200, 0.6s:50, 1s:end", "cycles": 1, "clients": 2}),
    "capacity": ("mock:?latency_us=1000", {"workload": "select", "objective": "p90=10ms", "cycles": 2, "duration": 0.1,
                                           "ramp_up": 0.05, "clients": 2}),
    "ch": ("private:sqlite", {"workload": "ch", "workload_settings": {"size": "0.01", "answers": "unchecked"}, "cycles": 1,
                              "duration": 0.3, "clients": 2}),
}  # fmt: skip
"""Short runs, each of another kind of page: their targets and what they were asked."""
_SCHEMES: Final = {"legs": ("light",), "capacity": ("dark",), "tpch": ("dark",), "ch": ("light",)}
"""Each of their pages is looked at in one: their colours are those of the other pages."""


@pytest.fixture(scope="module")
def short_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Archive]:
    found = {"tpch": Archive.open(STORED.parent / "published" / "tpch.zip")}
    for name, (target, asked) in _RUNS.items():
        spec = build({"target": {"url": target}, "scales": (1,), "seed": 7, **asked})
        found[name] = Archive.open(execute(spec, tmp_path_factory.mktemp("short") / name, Silent()).archive)
    return found


def _kinds(folder: Path, short_runs: dict[str, Archive]) -> Iterator[tuple[str, Path]]:
    """A report with folds, those of short runs, a study and a trend: their names and files."""
    for name, one in short_runs.items():
        (folder / f"{name}.html").write_text(render(evaluate(one), one.run))
    archive = Archive.open(STORED / "mock-clients.zip")
    (folder / "clients.html").write_text(render(evaluate(archive), archive.run))
    _studied(folder / "study")
    (folder / "study.html").write_text(shown.html(room.outcomes(room.load(folder / "study"))))
    for day in range(12):
        run = run_json({"scales": [1], "cycles": 2, "duration": 1.0}, name=f"n{day:02}", started=f"2026-10-{day + 1:02}T10:00:00+00:00")
        rows = [cycle_row(1, cycle, [MS] * (500 - 20 * (day > 6) + day % 3)) for cycle in (1, 2)]
        write(folder / "nights", run, {"cycles": rows})
    files = trend.files(*trend.histories(folder / "nights", 0.03))
    (folder / "trend.html").write_bytes(files["trend.html"])
    yield from ((path.stem, path) for path in sorted(folder.glob("*.html")))


@pytest.mark.thorough
def test_all_kinds_of_pages_can_be_read_by_all_and_are_printed_whole(
    context: Any, tmp_path: Path, short_runs: dict[str, Archive]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    axe, found = Axe(), []
    for name, path in _kinds(tmp_path, short_runs):
        page = context.new_page()
        seen = Seen(page)
        page.goto(path.as_uri())
        page.locator("svg.marks").first.wait_for()
        for scheme in _SCHEMES.get(name, ("light", "dark")):
            page.emulate_media(color_scheme=scheme)
            for wrong in axe.run(page).response["violations"]:
                found += [f"{name}, {scheme}: {wrong['id']}: {node['html'][:300]}" for node in wrong["nodes"]]
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        folds = page.locator("main details:not([open]):not(.tools *)")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert folds.count() == 0, f"{name}: paper has no folds"
        assert page.locator("main > [data-tab][hidden]").count() == 0, name
        page.wait_for_function("[...document.querySelectorAll('[data-diagram], [data-course]')].every((one) => one.querySelector('svg.marks'))")
        assert page.locator(".chart svg [fill='#e8e6e3']").count() == 0, f"{name}: paper is light"
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert seen.well()
        page.close()
    assert found == []


def test_a_diagram_is_drawn_when_it_comes_near(context: Any, tmp_path: Path) -> None:
    archive = Archive.open(STORED / "mock-clients.zip")
    (tmp_path / "report.html").write_text(render(evaluate(archive), archive.run))
    page = context.new_page()
    seen = Seen(page)
    page.goto((tmp_path / "report.html").as_uri())
    page.locator("#figure-hero svg.marks").wait_for()
    far, course = page.locator("[data-diagram=freq]"), page.locator("[data-course]").first
    assert far.is_visible()
    for place in (far, course):
        assert place.locator("svg").count() == 0
    far.scroll_into_view_if_needed()
    far.locator("svg.marks").wait_for()
    assert course.locator("svg").count() == 0
    page.goto(page.url + "#course")
    course.locator("svg.marks").wait_for()
    assert seen.well()
    page.close()


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an archive in a file."""
    archive = Archive.open(STORED / "pg.zip")
    path: Path = tmp_path_factory.mktemp("reported") / f"{archive.name}.html"
    path.write_text(render(evaluate(archive), archive.run))
    return path


# Of the width of its frame, with a legend and labels beside the plot, with a legend.
@pytest.mark.parametrize("diagram", mostly_thorough(["hero", "freq", "collisions"], "freq"))
def test_a_diagram_is_taken_out_of_a_page_from_a_file(page: Any, reported: Path, diagram: str) -> None:
    seen = Seen(page)
    page.goto(reported.as_uri())
    page.evaluate("void (window.print = () => { window.printed = document.title; })")
    title = page.title()
    named = f"{reported.stem}-{diagram}"
    page.evaluate(f"void (location.hash = 'figure-{diagram}')")
    figure = page.locator(f"#figure-{diagram}")
    figure.locator("svg.marks").wait_for()
    figure.get_by_text("Save", exact=True).click()
    for name, suffix, head in (
        ("PNG for slides", "-slide.png", b"\x89PNG"), ("PNG for a paper", ".png", b"\x89PNG"),
        ("SVG, 17 cm", ".svg", b"<svg"), ("SVG, 8.5 cm, a column", "-column.svg", b"<svg"), ("Vega-Lite", ".vl.json", b"{"),
    ):  # fmt: skip
        with page.expect_download() as loaded:
            figure.get_by_role("button", name=name).click()
        assert loaded.value.suggested_filename == named + suffix
        content = Path(loaded.value.path()).read_bytes()
        assert content.startswith(head)
        if suffix.endswith(".png"):
            assert int.from_bytes(content[16:20], "big") == (1920 if suffix == "-slide.png" else 2008)
        if suffix.endswith(".svg"):
            mm = 85 if suffix == "-column.svg" else 170
            assert f' width="{mm}mm" '.encode() in content
            across, = re.findall(rb'viewBox="0 0 (\d+)', content)  # fmt: skip
            assert 0.98 < int(across) / mm * 170 / 640 < 1.1, "words keep their size"
    for size, end, mm in (("17 cm", "", 170), ("8.5 cm", "-column", 85)):
        figure.get_by_role("button", name=f"PDF, {size}").click()
        page.wait_for_function("window.printed")
        assert page.evaluate("window.printed") == named + end
        printed = page.pdf(prefer_css_page_size=True)
        assert printed.count(b"/Type /Page\n") == 1, "the diagram alone"
        across, = re.findall(rb"/MediaBox \[0 0 ([\d.]+)", printed)  # fmt: skip
        assert float(across) * 25.4 / 72 == pytest.approx(mm, abs=0.5)
        page.evaluate("window.printed = ''; dispatchEvent(new Event('afterprint'))")
        assert page.locator("#sheet").count() == 0
        assert page.title() == title
    assert seen.well()


def test_a_table_is_taken_out_of_a_page_from_a_file(page: Any, reported: Path) -> None:
    seen = Seen(page)
    page.goto(reported.as_uri())
    page.evaluate("""void (document.execCommand = () => {
        const clipboardData = new DataTransfer();
        dispatchEvent(new ClipboardEvent('copy', {clipboardData, cancelable: true}));
        [window.took, window.cells] = ['text/plain', 'text/html'].map((kind) => clipboardData.getData(kind));
    })""")
    table = page.locator("#rate table").first
    table.scroll_into_view_if_needed()
    table.hover()
    page.locator("#rate").get_by_role("button", name=re.compile("^Copy the table")).first.click()
    head, under, *rows = page.evaluate("window.took").splitlines()
    assert head.startswith("| scale | ")
    assert under.startswith("| --- | ---: | ")
    assert len(rows) == 3
    assert len({line.count("|") for line in (head, under, *rows)}) == 1
    assert page.evaluate("window.cells").count("<tr>") == 4
    assert seen.well()


def test_all_data_of_an_archive_is_taken_out_of_its_page(page: Any, base: str, archives: Path) -> None:
    packed = archives / "pg.zip"
    page.goto(f"{base}/archive?name=pg")
    with page.expect_download() as loaded:
        page.get_by_role("link", name="All data (zip)").click()
    assert loaded.value.suggested_filename == "pg.zip"
    assert Path(loaded.value.path()).read_bytes() == packed.read_bytes()
    for name in ("nobody", "../pg", ""):
        assert page.request.get(f"{base}/data", params={"name": name}).status == 404, name


def test_texts_of_others_are_no_scripts(page: Any, base: str, archives: Path) -> None:
    seen = Seen(page)
    page.goto(f"{base}/archives")
    page.get_by_label("Search").fill("onerror")
    page.get_by_text(re.compile("^[234] of")).wait_for()
    page.locator(".books").get_by_role("link").last.click()
    page.wait_for_url("**/archive?name=*")
    page.goto(f"{base}/archive?name=pg")
    page.get_by_label("Note").fill(BAD + " more")
    page.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_text("kept", exact=True).wait_for()
    assert json.loads((archives / "notes.json").read_text())["pg"] == {"tags": [BAD[:60]], "text": BAD + " more"}
    page.goto(f"{base}/live?run=bad")
    page.get_by_role("log").wait_for()
    assert BAD in page.get_by_role("log").text_content()
    page.goto(f"{base}/archive?name={NAMED}")
    theirs = page.frame_locator("iframe.report")
    theirs.get_by_text(BAD).first.wait_for(state="attached")
    frame = next(one for one in page.frames if "/report" in one.url)
    assert "theirs" not in frame.locator("h1").all_text_contents()
    assert seen.well()


def test_an_archive_is_deleted_once_it_was_confirmed(page: Any, base: str, archives: Path) -> None:
    page.goto(f"{base}/archive?name=sqlite-tpcb")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Keep it").click()
    assert (archives / "sqlite-tpcb.zip").is_file()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url("**/archives")
    assert not (archives / "sqlite-tpcb.zip").exists()


def test_another_site_reaches_nothing(page: Any, base: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>theirs</title>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        answers = page.evaluate(
            """async (base) => {
              const socket = new WebSocket(base.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket");
              const opened = await new Promise((told) => {
                socket.onopen = () => told("open"); socket.onerror = () => told("refused"); });
              const asked = await fetch(base + "/", {credentials: "include"}).then(() => "read", () => "refused");
              const sent = await fetch(base + "/", {credentials: "include", mode: "no-cors", method: "POST"}).then(
                () => "sent", () => "refused");
              return [opened, asked, sent];
            }""",
            base,
        )
        server.shutdown()
    assert answers == ["refused", "refused", "refused"]
