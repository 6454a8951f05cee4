"""action.yml, and the workflows of docs/ci.md, step by step in a shell as a runner does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from fixtures.stalled import unless_stalled

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
PAGE = (ROOT / "docs/ci.md").read_text()
QUICK = "--scales 1 --cycles 1 --duration 0.2 --clients 1 --max-blocks 3 --quiet"


class Forge(ThreadingHTTPServer):
    """Keeps comments as a forge does, and refuses where it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = [{"id": 1, "body": "<!-- dsbench ab --> mine", "user": {"type": "User"}}]
        self.refuses = False
        self.tokens: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    server: Forge

    def log_message(self, *_: object) -> None:
        pass

    def answer(self) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        data = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        if self.server.refuses:
            self.send_error(403)
            return
        found: Any = self.server.comments
        if self.command == "POST":
            assert self.path == "/repos/o/r/issues/7/comments"
            found = {"id": len(self.server.comments) + 1, "user": {"type": "Bot"}, **data}
            self.server.comments.append(found)
        elif self.command == "PATCH":
            number = int(self.path.removeprefix("/repos/o/r/issues/comments/"))
            found = next(one for one in self.server.comments if one["id"] == number)
            found.update(data)
        text = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = answer


@pytest.fixture
def forge() -> Iterator[Forge]:
    with Forge() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Runner:
    """As much of a runner as the action needs: contexts, files for outputs, and steps that are run or not."""

    def __init__(self, folder: Path, forge: Forge | None = None) -> None:
        self.folder, self.work = folder, folder / "work"
        self.work.mkdir(parents=True)
        (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
        port = forge.server_address[1] if forge else 9
        self.environment = {
            **os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder),
            "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": f"http://127.0.0.1:{port}", "GITHUB_SERVER_URL": "https://forge",
            "GITHUB_RUN_ID": "42", **{name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")},
        }  # fmt: skip
        self.used: list[str] = []
        self.printed = ""

    def act(self, **inputs: str) -> tuple[int, dict[str, str]]:
        """The exit code of the step that failed, or 0, and the outputs of the action."""
        declared = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        assert not set(inputs) - set(declared)
        required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
        assert required <= set(inputs)
        context = {"inputs": {**declared, **inputs}, "github": {"event_name": "pull_request", "token": "secret"},
                   "runner": {"temp": str(self.folder)}, "steps": {}}  # fmt: skip
        context["inputs"] = {name: filled(value, context) for name, value in context["inputs"].items()}
        code = 0
        for step in ACTION["runs"]["steps"]:
            condition = step.get("if", "")
            if (code and "always()" not in condition) or not holds(condition, context):
                continue
            if "uses" in step:
                self.used.append(filled(str(step["with"]["path"]), context))
                continue
            (self.folder / "GITHUB_OUTPUT").write_text("")
            own = {name: filled(value, context) for name, value in step.get("env", {}).items()}
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", filled(step["run"], context)], cwd=self.work, text=True,
                                  env={**self.environment, **own}, capture_output=True)  # fmt: skip
            self.printed += done.stdout + done.stderr
            code = code or done.returncode
            lines = (self.folder / "GITHUB_OUTPUT").read_text().splitlines()
            context["steps"][step.get("id", "")] = {"outputs": dict(line.split("=", 1) for line in lines)}
        return code, {name: filled(one["value"], context) for name, one in ACTION["outputs"].items()}


def filled(text: str, context: dict[str, Any]) -> str:
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: str(value(match[1], context)), text)


def value(path: str, context: dict[str, Any]) -> Any:
    found: Any = context
    for name in path.split("."):
        found = found.get(name, {})
    return found if found != {} else ""


def holds(condition: str, context: dict[str, Any]) -> bool:
    """What stands in ``if``: comparisons, joined by and."""
    for part in filter(None, condition.split(" && ")):
        if part != "always()":
            left, sign, right = part.split(" ")
            if (value(left, context) == right.strip("'")) is not (sign == "=="):
                return False
    return True


@unless_stalled
def test_a_slower_change_fails_with_a_comment_that_the_next_commit_replaces(tmp_path: Path, forge: Forge) -> None:
    runner = Runner(tmp_path, forge)
    asked = {"a": "mock:", "options": QUICK, "install": "none", "comment": "true"}
    code, outputs = runner.act(**asked, b="mock:?latency_us=3000")
    assert (code, outputs["verdict"]) == (3, "slower"), runner.printed
    assert float(outputs["low"]) < float(outputs["ratio"]) < float(outputs["high"]) < 1
    assert "::error title=dsbench ab::B is slower or worse" in runner.printed
    assert runner.used == [outputs["folder"]]
    assert (Path(outputs["folder"]) / "ab.svg").exists()
    assert "**Slower: B has 0." in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert len(forge.comments) == 2
    assert "**Slower: B has 0." in forge.comments[1]["body"]
    assert "https://forge/o/r/actions/runs/42" in forge.comments[1]["body"]
    assert forge.tokens == {"Bearer secret"}
    assert "secret" not in runner.printed
    code, outputs = Runner(tmp_path / "again", forge).act(**asked, b="mock:")
    assert (code, len(forge.comments)) == (0, 2)
    assert forge.comments[0]["body"] == "<!-- dsbench ab --> mine"
    assert "Slower" not in forge.comments[1]["body"]


def test_what_is_undecided_is_what_the_workflow_says(tmp_path: Path) -> None:
    # A comparison that is undecided whatever the machine does.
    (program := tmp_path / "dsbench").write_text(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do out=$2; shift; done; mkdir -p $out; echo Undecided.\n"
        """echo '{"verdict": "undecided", "ratio": {"value": 1.01, "low": null, "high": null}}' > $out/ab.json; exit 4\n"""
    )
    program.chmod(0o755)
    for undecided, code in (("warning", 0), ("error", 4), ("nothing", 2)):
        runner = Runner(tmp_path / undecided)
        runner.environment["PATH"] = f"{tmp_path}:{runner.environment['PATH']}"
        found, outputs = runner.act(a="mock:", b="mock:", install="none", undecided=undecided)
        assert found == code, runner.printed
        assert f"::{undecided} title=dsbench ab::undecided" in runner.printed or code == 2
        assert outputs["verdict"] == ("undecided" if code != 2 else "")


@unless_stalled
def test_a_refusal_to_comment_is_a_warning_and_a_wrong_target_fails(tmp_path: Path, forge: Forge) -> None:
    forge.refuses = True
    runner = Runner(tmp_path, forge)
    code, _ = runner.act(a="mock:", b="mock:", options=QUICK, install="none", comment="true", undecided="notice")
    assert code == 0
    assert "::warning title=dsbench ab::no comment: HTTP Error 403" in runner.printed
    runner = Runner(tmp_path / "other", forge)
    code, outputs = runner.act(a="mock:", b="nothing:", options=QUICK, install="none")
    assert (code, outputs["verdict"], runner.used) == (2, "", [])
    assert "::error title=dsbench ab::dsbench ab failed with exit code 2" in runner.printed


def test_mistakes_are_one_annotation(tmp_path: Path) -> None:
    for number, (words, more) in enumerate((
        ("options cannot be read: No closing quotation", {"options": "--scales '1"}),
        ("name consists of letters", {"name": "a b"}), ("undecided is 'no'", {"undecided": "no"}),
    )):  # fmt: skip
        runner = Runner(tmp_path / str(number))
        code, _ = runner.act(a="mock:", b="mock:", install="none", **more)
        assert (code, "Traceback" in runner.printed) == (2, False)
        assert re.search(rf"^::error.*::{words}", runner.printed, re.M), runner.printed
    runner = Runner(tmp_path / "secret")
    runner.environment["PATH"] = os.environ["PATH"]
    code, _ = runner.act(a="postgresql://me:hidden77@127.0.0.1:1/d", b="mock:", install="none", options=QUICK)
    assert code in (1, 2)
    assert "hidden77" not in runner.printed


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def test_the_workflows_of_the_page_give_the_action_what_it_takes() -> None:
    steps = []
    for block in blocks("yaml"):
        read = yaml.safe_load(block)
        steps += read["jobs"]["patch"]["steps"] if isinstance(read, dict) else read
    uses = [step for step in steps if re.match(r"[\w.-]+/dsbench@", step.get("uses", ""))]
    assert len(uses) == 3
    for step in uses:
        assert {"a", "b"} <= set(step["with"]) <= set(ACTION["inputs"])
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.M)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(ACTION["inputs"]) - {"token"} <= named


_BUILD = """#!/bin/sh
PYTHONPATH={root} exec {python} -c "
import sys; from pathlib import Path; from bench.designs import plant
plant(Path('/usr/lib/postgresql/15'), Path(sys.argv[1]), {cost_ns})" "$1"
"""
_ORDERS = """
[schema]
tables = "CREATE TABLE orders (id bigint NOT NULL {{key}});"
[tables.orders]
rows = "100 * :scale"
[tables.orders.columns]
id = {{ sequence = 1 }}
[transactions.look]
sql = "{sql};"
"""


def _commit(folder: Path, message: str, cost_ns: int, sql: str) -> None:
    """A project with a server, a workload and a run."""
    (folder / "build.sh").write_text(_BUILD.format(root=ROOT, python=sys.executable, cost_ns=cost_ns))
    (folder / "build.sh").chmod(0o755)
    (folder / "bench").mkdir(exist_ok=True)
    (folder / "bench/orders.toml").write_text(_ORDERS.format(sql=sql))
    (run,) = blocks("toml")
    (folder / "bench/run.toml").write_text(run)
    for words in (["add", "-A"], ["commit", "-qm", message]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)


@pytest.mark.thorough
@unless_stalled
def test_the_workflows_of_the_page_find_what_a_pull_request_changes(tmp_path: Path, forge: Forge) -> None:
    """A patched PostgreSQL, a setting, and the SQL of an application."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # Servers run as another user.
    runner = Runner(tmp_path, forge)
    runner.environment["GITHUB_BASE_REF"] = "main"
    subprocess.run(["git", "init", "-qb", "main", tmp_path / "origin"], check=True)
    _commit(tmp_path / "origin", "base", 0, "select 1")
    subprocess.run(["git", "clone", "-q", tmp_path / "origin", runner.work], check=True)
    subprocess.run(["git", "checkout", "-qb", "change"], cwd=runner.work, check=True)
    _commit(runner.work, "change", 20_000_000, "select pg_sleep(0.02)")
    found = {}
    for block in blocks("yaml"):
        read = yaml.safe_load(block)
        for step in read["jobs"]["patch"]["steps"] if isinstance(read, dict) else read:
            if "run" in step:
                subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=runner.work, env=runner.environment, check=True)
            elif "/dsbench@" in step["uses"]:
                given = {name: str(value).lower() if value is True else str(value) for name, value in step["with"].items()}
                given["options"] += f" {QUICK}" + " --workload select" * given["a"].startswith("private:")
                code, outputs = runner.act(**given, install="none")
                found[given.get("name", "ab")] = code, outputs["verdict"]
    assert found["ab"] == (3, "slower"), runner.printed
    assert found["sql"] == (3, "slower"), runner.printed
    assert found["wal_compression"][0] in (0, 3), runner.printed
    assert len(runner.used) == 3
    assert len(forge.comments) == 2, "the page asks for one of the patch"


def test_actions_are_pinned() -> None:
    for path in [ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml")]:
        for used in re.findall(r"uses: (\S+)", path.read_text()):
            assert re.search(r"@[0-9a-f]{40}$", used), f"{path.name}: {used}"
