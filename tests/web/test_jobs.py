"""What a newcomer does in a real browser, from the form to the answer: runs, comparisons, studies, checks."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from dsbench import servers
from dsbench import study as room
from dsbench.archive import Archive
from dsbench.library.ab import load
from dsbench.spec import Script, Target, parted_scripts
from dsbench.stats.comparison import Verdict
from fixtures.psql import Psql
from fixtures.stalled import unless_stalled
from fixtures.web import Seen

NAMED = "<img src=x onerror=window.hacked=1>"
STUDY = """
name = "{}"
run = {{ target = "mock:", scales = [1], cycles = 1, duration = 0.2 }}
factor = [{{ name = "clients", path = "clients", levels = [1, 2] }}]
trials = {{ repeat = {} }}
"""
ORDER = """\\set customer random(1, 100)
BEGIN;
UPDATE customers SET balance = balance - 1 WHERE id = :customer;
INSERT INTO orders (customer) VALUES (:customer);
COMMIT;
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("jobs") / "archives"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def guarded() -> Iterator[Target]:
    """A database that asks for a password, which the URL has, with tables of a shop."""
    settings = {"fsync": "off", "listen_addresses": "127.0.0.1"}
    with servers.start(Target(url="private:postgresql", settings=settings), 40) as server:
        psql = Psql.open(server.url)
        psql.fetch("CREATE TABLE customers AS SELECT id, 0 AS balance FROM generate_series(1, 100) AS id")
        psql.fetch("CREATE TABLE orders (id serial, customer int)")
        yield Target(url=server.url)
        psql.fetch("DROP TABLE orders, customers")
        psql.close()


def test_a_run_from_the_form_to_its_report(context: Any, base: str, archives: Path) -> None:
    page = context.new_page()
    seen = Seen(page)
    page.goto(f"{base}/?for=all")
    page.get_by_label("Scales").fill("1")
    page.get_by_label("Cycles", exact=True).fill("2")
    page.get_by_label("Duration of a cycle").fill("1")
    page.get_by_label("Clients", exact=True).fill("2")
    page.get_by_label("Label").fill(NAMED)
    page.get_by_label("Clients", exact=True).focus()
    page.wait_for_function("document.getElementById('command').textContent.includes('--label')")
    assert "2 cycles of 1 s with 2 clients" in page.locator("#plan").text_content()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/live?run=*")
    page.get_by_text("going on", exact=False).or_(page.get_by_text("scale 1")).first.wait_for()
    page.reload()
    at, seen_well = page.url, seen.well()
    page.close()
    first, second = context.new_page(), context.new_page()
    for one in (first, second):
        one.goto(at)
        assert one.get_by_role("table", name="Cycles so far").wait_for() is None
    first.get_by_role("link", name="Open the report").click()
    report = first.frame_locator("iframe.report")
    report.get_by_role("heading", level=1).wait_for()
    second.get_by_role("link", name="Open the report").wait_for()
    rows = second.get_by_role("table", name="Cycles so far").get_by_role("row")
    assert rows.count() == 3, "a head and two cycles"
    assert seen_well
    assert all(one.evaluate("window.hacked === undefined") for one in (first, second))
    second.close()
    _again_and_beside_the_first(first)
    first.close()


def _again_and_beside_the_first(page: Any) -> None:
    """The rest of a newcomer's path: the same once more with another number of clients, and both side by side."""
    page.get_by_role("link", name="Repeat").click()
    page.wait_for_url("**/?repeat=*")
    page.get_by_label("Clients", exact=True).fill("4")
    page.get_by_label("Label").focus()
    page.wait_for_function("document.getElementById('command').textContent.includes('--clients 4')")
    page.get_by_role("button", name="Start the run").click()
    page.get_by_role("link", name="Open the report").click()
    page.get_by_role("link", name="Compare", exact=True).last.click()
    page.get_by_role("checkbox", checked=True).wait_for()
    page.get_by_role("checkbox", name=re.compile(r"Compare \d+T"), checked=False).click()
    page.get_by_role("button", name="Compare 2").click()
    beside = page.frame_locator("iframe.report")
    beside.locator("[data-diagram=freq]").scroll_into_view_if_needed()
    beside.locator("[data-diagram=freq] svg.marks").wait_for()
    assert beside.get_by_role("heading", level=1).count() == 1


def test_the_choices_ask_for_what_they_say(page: Any, base: str) -> None:
    seen, command = Seen(page), page.locator("#command")
    page.goto(base)
    page.get_by_label("MariaDB").check()
    command.get_by_text("dsbench run private:mariadb", exact=True).wait_for()
    page.get_by_text("All options").click()
    page.get_by_text("Size and time").click()
    page.get_by_label("Scales").fill("3")
    command.get_by_text("dsbench run private:mariadb --scales 3").wait_for()
    page.get_by_role("link", name="Benchmark my server").click()
    page.get_by_text("Name the database first").wait_for()
    assert page.get_by_role("button", name="Start the run").is_disabled()
    page.get_by_label("Database").fill("private:sqlite")
    page.get_by_label("Three sizes").check()
    command.get_by_text("--scales 1,10,100 --cycles 5 --duration 20 --clients 4,16").wait_for()
    page.get_by_label("All sizes, long cycles").check()
    command.get_by_text("dsbench run private:sqlite --profile dsi", exact=True).wait_for()
    assert seen.well()


def test_empty_fields_show_what_the_plan_has(page: Any, base: str) -> None:
    def left_open(*expected: str) -> None:
        names = ("cycles", "duration", "clients")
        script = f"JSON.stringify({list(names)}.map(name => document.getElementById('field-' + name).placeholder))"
        page.wait_for_function(f"{script} === {json.dumps(json.dumps(expected, separators=(',', ':')))}")

    page.goto(f"{base}/?for=all")
    page.get_by_label("Scales").fill("1,2")
    left_open("3", "4 s", "1")
    page.get_by_label("Profile").select_option("dsi")
    left_open("10", "60 s", "16")
    plan = page.locator("#plan")
    plan.get_by_text("10 cycles of 60 s with 16 clients").wait_for()
    page.get_by_label("Database").fill("privat:postgresql")
    page.get_by_role("alert").wait_for()
    assert plan.text_content() == page.locator("#command").text_content() == ""


def test_stop_ends_a_run_and_only_one_goes_on(page: Any, base: str) -> None:
    page.goto(f"{base}/?for=all")
    page.get_by_label("Database").fill("mock:?latency_us=500")
    page.get_by_label("Duration of a cycle").fill("600")
    page.wait_for_function("document.getElementById('command').textContent.includes('--duration 600')")
    page.get_by_role("button", name="Start the run").click()
    page.get_by_role("button", name="Stop").wait_for()
    page.wait_for_function("/\\d tps.*\\d ms.*\\d ms.*\\d of \\d/s.test(document.querySelector('.tiles').innerText)")
    live = page.url
    page.goto(base)
    assert page.get_by_role("button", name="Start the run").is_disabled()
    page.goto(live)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("stopped", exact=True).first.wait_for()
    page.get_by_role("link", name="Open the report").wait_for()


@pytest.mark.thorough
def test_a_server_that_is_lost_is_told_on_the_page(page: Any, base: str, archives: Path) -> None:
    page.goto(f"{base}/?for=all")
    page.get_by_label("Database").fill("private:postgresql")
    page.get_by_label("Scales").fill("1")
    page.get_by_label("Duration of a cycle").fill("600")
    page.wait_for_function("document.getElementById('command').textContent.includes('--duration 600')")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_function("/\\d tps/.test(document.querySelector('.tiles strong')?.textContent)")
    key = page.url.partition("run=")[2]
    state = json.loads((archives / ".live" / f"{key}.json").read_text())
    for process in psutil.Process(state["pid"]).children(recursive=True):
        if "postgres" in process.name():
            with suppress(psutil.NoSuchProcess):
                process.kill()
    told = page.get_by_role("alert")
    told.get_by_text("the connection was lost").wait_for()
    assert f"dsbench run --resume {archives}" in told.text_content()
    assert "failed" in page.locator(".status").text_content()
    page.get_by_role("link", name="Open the report").wait_for()


@pytest.mark.thorough
def test_a_study_from_its_text_to_its_matrix(page: Any, base: str, archives: Path) -> None:
    seen = Seen(page)
    page.goto(f"{base}/study")
    page.get_by_role("link", name="Begin a study").click()
    text = page.get_by_label("The study, as TOML")
    text.fill(STUDY.format("new", 1) + 'nodes = ["touch hacked"]\n')
    page.get_by_role("alert").get_by_text("begins no commands").wait_for()
    assert page.get_by_role("button", name="Start the study").is_disabled()
    text.fill(STUDY.format("new", 1).replace("mock:", "postgresql://me:geheim77@127.0.0.1:1/d?x"))
    page.get_by_role("alert").get_by_text("begins no commands").wait_for(state="detached")
    assert "geheim77" not in page.content()
    text.fill(STUDY.format("new", 1))
    page.get_by_text("2 trials in 1 block (2 planned)").wait_for()
    page.get_by_role("button", name="Start the study").click()
    page.get_by_role("link", name="Open the study").click()
    page.get_by_role("table", name="Trials").get_by_role("link", name=re.compile("tps$")).nth(1).wait_for()
    folder = archives.parent / "studies" / "new"
    assert len(room.load(folder).counted("done")) == 2
    page.get_by_role("button", name="Make 2 more blocks").click()
    page.get_by_role("link", name="Open the study").click()
    page.get_by_role("table", name="Trials").get_by_role("columnheader", name="block 3").wait_for()
    assert len(room.load(folder).counted("done")) == 6
    assert seen.well()


@pytest.mark.thorough
def test_a_check_tells_what_a_server_without_flushes_loses(page: Any, base: str) -> None:
    seen = Seen(page)
    page.goto(f"{base}/check")
    page.get_by_label("Database").fill("postgresql://me@host/db")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("button", name="Start the check").is_disabled()
    page.get_by_label("Database").fill("private:postgresql?fsync=off")
    page.wait_for_function("document.getElementById('command').textContent.includes('--storage forgetful')")
    page.get_by_role("button", name="Start the check").click()
    page.wait_for_url("**/check?run=*")
    page.get_by_text("FAILED:", exact=False).wait_for()
    assert page.get_by_role("status").text_content() == "complete"
    option, file = shlex.split(page.locator("#result").text_content())
    assert option == "--checked"
    assert json.loads(Path(file).read_text())["durability"]
    page.goto(f"{base}/live")
    page.get_by_role("link", name="The check of private:postgresql").click()
    page.get_by_text("FAILED:", exact=False).wait_for()
    assert seen.well()


def test_a_check_begins_no_command_that_is_not_trusted(page: Any, base: str) -> None:
    page.goto(f"{base}/check")
    page.get_by_label("Database").fill("private:postgresql?archive_command=touch+/tmp/x")
    page.get_by_role("alert").get_by_text("archive_command", exact=False).wait_for()
    assert page.get_by_role("button", name="Start the check").is_disabled()
    page.get_by_role("button", name="I trust it").click()
    page.locator("button:not([disabled])", has_text="Start the check").wait_for()
    page.get_by_label("Database").fill("private:postgresql?archive_command=touch+/tmp/y")
    page.get_by_role("button", name="I trust it").wait_for()
    assert page.get_by_role("button", name="Start the check").is_disabled()


def test_a_password_comes_back_in_no_page(page: Any, base: str) -> None:
    page.goto(f"{base}/?for=all")
    page.get_by_label("Database").fill("postgresql://me:inurl77@nowhere.invalid/db")
    page.get_by_label("Label").fill("x")
    page.wait_for_function("document.getElementById('command').textContent.includes('me:***@nowhere.invalid')")
    page.get_by_label("Database").fill("postgresql://me@127.0.0.1:1/db")
    page.get_by_label("Password").fill("infield77")
    page.get_by_label("Label").fill("y")
    page.wait_for_function("document.getElementById('command').textContent.includes('--label y')")
    page.get_by_role("button", name="Start the run").click()
    page.get_by_role("alert").wait_for()
    assert not re.search("(infield|inurl)77", page.content())
    assert "failed" in page.locator(".status").text_content()

@unless_stalled
def test_two_are_compared_as_on_the_command_line(page: Any, base: str, archives: Path) -> None:
    seen, command = Seen(page), page.locator("#command")
    page.goto(f"{base}/?for=two")
    for label, text in (
        ("A", "mock:?latency_us=2000"), ("B", "mock:?latency_us=500"), ("Scales", "1"), ("Clients", "2"), ("Cycles", "1"),
        ("Duration of a cycle [s]", "0.3"), ("Difference that matters", "many"),
    ):  # fmt: skip
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("alert").get_by_text("--difference").wait_for()
    assert page.get_by_role("button", name="Start the comparison").is_disabled()
    page.get_by_label("Difference that matters").fill("5%")
    page.get_by_label("Isolation").select_option("serializable")
    command.get_by_text("--isolation serializable").wait_for()
    page.get_by_label("Isolation").select_option("")
    words = "dsbench ab 'mock:?latency_us=2000' 'mock:?latency_us=500' --scales 1 --cycles 1 --duration 0.3 --clients 2 --difference 5% --out"
    command.get_by_text(words).wait_for()
    page.locator("#plan").get_by_text("3 to 20 blocks of 4 runs").wait_for()
    folder = Path(shlex.split(command.text_content())[-1])
    assert folder.parent == archives.parent / "comparisons"
    page.get_by_role("button", name="Start the comparison").click()
    page.get_by_text("of 12 or more").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("stopped", exact=True).first.wait_for()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("link", name="Open the comparison").and_(page.locator(".primary")).click()
    verdict = page.frame_locator("iframe.report").get_by_role("heading", level=1)
    assert verdict.text_content().startswith("Faster: B has")
    found = load(folder)
    assert (found.ratio.verdict, found.difference, found.names) == (
        Verdict.FASTER, 0.05, ("mock:?latency_us=2000", "mock:?latency_us=500"))  # fmt: skip
    assert f"{found.ratio.interval.value:.3f} times" in verdict.text_content()
    page.get_by_role("link", name="Its runs side by side").click()
    page.frame_locator("iframe.report").locator("[data-diagram=freq]").scroll_into_view_if_needed()
    page.get_by_role("link", name="Compare two others").click()
    row = page.get_by_role("table", name="Earlier comparisons").get_by_role("row").last
    row.get_by_role("cell").last.wait_for()
    assert row.get_by_role("cell").all_text_contents()[-2:] == ["faster", str(len(found.blocks))]
    assert seen.well()


@unless_stalled
def test_two_are_compared_at_the_same_time(page: Any, base: str, archives: Path) -> None:
    seen, command = Seen(page), page.locator("#command")
    page.goto(f"{base}/?for=two")
    for label, text in (("A", "mock:?latency_us=2000"), ("B", "sqlite:///here.db"), ("Scales", "1"), ("Clients", "2"), ("Cycles", "1"),
                        ("Duration of a cycle [s]", "0.3")):  # fmt: skip
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_label("Runs", exact=True).select_option("duet")
    page.get_by_role("alert").get_by_text("B is a file, for one run at a time").wait_for()
    page.get_by_label("B", exact=True).fill("mock:?latency_us=500")
    command.get_by_text("--duet --out").wait_for()
    page.locator("#plan").get_by_text("3 to 20 blocks of 2 pairs of runs").wait_for()
    folder = Path(shlex.split(command.text_content())[-1])
    page.get_by_role("button", name="Start the comparison").click()
    page.get_by_role("link", name="Open the comparison").and_(page.locator(".primary")).click()
    found = load(folder)
    assert (found.duet, found.ratio.verdict) == (True, Verdict.FASTER)
    assert seen.well()


def test_a_comparison_that_failed_is_told_with_its_side(page: Any, base: str) -> None:
    page.goto(f"{base}/?for=two")
    page.get_by_label("A", exact=True).fill("postgresql://me@127.0.0.1:1/a")
    page.get_by_label("B", exact=True).fill("mock:")
    page.get_by_label("Password of A").fill("inpair77")
    page.get_by_label("Scales").fill("1")
    page.locator("#command").get_by_text("postgresql://me@127.0.0.1:1/a mock: --scales 1").wait_for()
    page.get_by_role("button", name="Start the comparison").click()
    page.get_by_role("alert").get_by_text("A: postgresql://").wait_for()
    page.get_by_label("Password of A for me").wait_for()
    page.get_by_role("link", name="Change the settings").click()
    page.locator("#command").get_by_text("postgresql://me@127.0.0.1:1/a mock: --scales 1").wait_for()
    assert page.get_by_label("Password of A").input_value() == ""
    assert "inpair77" not in page.content()


def test_scripts_of_a_user_run_on_tables_that_are_there(
    page: Any, base: str, archives: Path, guarded: Target, tmp_path: Path
) -> None:
    seen, psql = Seen(page), Psql.open(guarded.url)
    url = guarded.url.replace(f":{guarded.password}@", "@")
    assert url != guarded.url
    (tmp_path / "order.sql").write_text(ORDER)
    page.goto(f"{base}/?for=script")
    page.get_by_label("Database").fill(url)
    page.get_by_text("Write a script, or choose a file.").wait_for()
    page.get_by_label("From a file").set_input_files(tmp_path / "order.sql")
    page.locator("#command").get_by_text("--script order.sql").wait_for()
    page.get_by_label("Name", exact=True).fill("order.sql@3")
    page.get_by_role("button", name="Add a script").click()
    page.get_by_label("SQL").nth(1).fill("SELECT count(*) FROM orders;\n\\sett")
    page.get_by_role("alert").get_by_text("script-2.sql:2").wait_for()
    page.get_by_label("SQL").nth(1).fill("SELECT count(*) FROM orders;")
    page.get_by_label("Duration of a cycle").fill("0.5")
    page.locator("#command").get_by_text("--duration 0.5 --clients 4 --existing --script order.sql@3 --script script-2.sql").wait_for()
    page.get_by_role("button", name="Start the run").click()
    # It asks for a password: a wrong one first.
    for password in ("wrong77", guarded.password):
        page.get_by_role("alert").get_by_text("password").first.wait_for()
        assert page.locator(".tiles strong").first.is_hidden()
        at = page.url
        page.get_by_label("Password for").fill(password)
        page.get_by_role("button", name="Try again").click()
        page.wait_for_url(lambda address, at=at: "run=" in address and address != at)
    page.get_by_role("link", name="Open the report").wait_for()
    shown = page.content()
    archive = max(archives.glob("*.zip"), key=lambda path: path.stat().st_mtime_ns)
    described = Archive.open(archive).run.spec
    assert parted_scripts(described.workload_settings["scripts"]) == [
        Script("order.sql@3", ORDER.rstrip()), Script("script-2.sql", "SELECT count(*) FROM orders;")]  # fmt: skip
    (sums,) = psql.fetch("SELECT count(*) AS orders, (SELECT -sum(balance) FROM customers) AS taken FROM orders")
    assert sums["orders"] == sums["taken"] != "0"
    page.get_by_role("link", name="Run it again").click()
    page.locator("#command").get_by_text("--script order.sql@3 --script script-2.sql").wait_for()
    assert page.get_by_label("SQL").first.input_value() == ORDER.rstrip()
    psql.close()
    kept = b"".join(path.read_bytes() for path in archives.rglob("*") if path.is_file())
    for secret in ("wrong77", guarded.password):
        assert secret not in shown
        assert secret.encode() not in kept
    assert seen.well()


@pytest.mark.parametrize(("limit", "answer"), [("100 ms", "kept 99% below 100 ms with up to 2 clients"), ("0.1 ms", "with none of 1, 2 clients")])
def test_how_many_clients_keep_a_limit(page: Any, base: str, limit: str, answer: str) -> None:
    seen = Seen(page)
    page.goto(f"{base}/?for=clients")
    page.get_by_label("99% of the transactions").fill("20 parsecs")
    page.get_by_role("alert").get_by_text("20parsecs").wait_for()
    for label, text in (("Database", "mock:?latency_us=200"), ("Scales", "1"), ("Clients", "1,2"), ("Duration of a cycle", "1")):
        page.get_by_label(label).first.fill(text)
    page.get_by_label("99% of the transactions").fill(limit)
    page.locator("#command").get_by_text("--scales 1 --duration 1 --clients 1,2 --objective p99=").wait_for()
    page.get_by_role("button", name="Start the run").click()
    page.get_by_role("heading", name=answer).wait_for()
    assert seen.well()


def test_an_address_that_is_no_page_leads_on(page: Any, base: str) -> None:
    answer = page.goto(f"{base}/nothing/<b>here")
    assert answer.status == 404
    page.get_by_role("alert").get_by_text("There is no page").wait_for()
    page.get_by_role("link", name="Archives").last.click()
    page.get_by_role("heading", name="Archives").wait_for()
    assert page.request.get(f"{base}/nothing.js").status == 404
