"""Documentation that is generated is current, and what it links to exists."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_generated_pages_are_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/make-docs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_reference_is_what_help_prints() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    for words in (["run"], ["cluster", "invite"]):
        environment = {**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100"}
        command = [sys.executable, "-m", "dsbench", *words, "--help"]
        helped = subprocess.run(command, capture_output=True, text=True, env=environment).stdout
        helped = re.sub(r"  -h, --help +Show this message and exit\.?", "", helped)
        section = page.partition(f"## {' '.join(['dsbench', *words])}\n")[2].partition("\n## ")[0]
        # Lines are as long as the terminal is wide: a word with a hyphen may be cut there, and an example goes on.
        shown, told = (text.replace(" \\\n", "\n") for text in (section.replace("```", ""), helped))
        assert "".join(shown.split()) == "".join(told.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", page.read_text()):
        if "://" not in link:
            named = page.parent / link if link else page
            assert named.exists(), link
            assert not anchor or named.suffix != ".md" or anchor in _anchors(named.read_text()), f"{link}#{anchor}"


def _anchors(text: str) -> set[str]:
    """Of its headings, as GitHub makes them: the second of the same words has ``-1`` behind it."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", words).lower().replace(" ", "-")
        again = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", one) is not None for one in found)
        found.append(f"{anchor}-{again}" if again else anchor)
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_can_be_pasted_into_any_shell(page: Path) -> None:
    """zsh takes an unquoted question mark for a pattern, and every shell an ampersand for the end of a command."""
    for line in page.read_text().splitlines():
        command = re.match(r" *(?:\$ )?(dsbench (?:run|ab|check|study|servers|calibrate) .*)", line)
        bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "", command[1].partition(" # ")[0]) if command else ""
        assert not re.search(r"\w:?\S*[?&]\w", bare), line


def test_every_decision_has_its_number_once() -> None:
    numbers = [page.name[:3] for page in (ROOT / "docs/decisions").glob("*.md")]
    assert len(numbers) == len(set(numbers))


def test_nothing_is_installed_by_the_bare_name() -> None:
    shown = [*PAGES, *ROOT.glob("docs/**/*.yaml"), *ROOT.glob("docs/**/*.sh"), *ROOT.glob("python/**/*.py")]
    wrong = [path.name for path in shown if re.search(r"pip3? install +['\"]?dsbench\b(?!-db)", path.read_text())]
    assert not wrong, "the public index has another program called dsbench"


def test_every_path_that_the_architecture_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    paths = [name for name in re.findall(r"`([\w./-]+)`", text) if "/" in name and name != "measure/loaders"]
    assert len(paths) > 25
    assert [name for name in paths if not (ROOT / name).exists()] == []
    assert len(text.splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """By the end of its path; those that a reader is to write are left out."""
    known = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|rs|sql))`", page.read_text())
    missing = {name for name in named if not any(f"/{path}".endswith(f"/{name.lstrip('./')}") for path in known)}
    assert missing <= {"python/dsbench/read/subjects/retries.py", "crates/workloads/src/counter/mod.rs",
                       "crates/workloads/src/counter/sqlite.sql"}  # fmt: skip


RETIRED = r"tells?|told|wins|goes before|storage tools?|greatest|whoever|whomever|somebody|doubts?|stood still|to be had"
"""Words for which CONTRIBUTING.md has a better one."""
RETIRED_TEXTS = r"nobody|hardly|anew|asked for"
"""More of them, which pages use."""


@pytest.mark.parametrize("page", [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "docs/run.toml"], ids=lambda page: page.name)
def test_retired_words_are_gone_from_pages_and_help(page: Path) -> None:
    """Without code, but with the blocks of docs/cli.md, which are help. scripts.md quotes pgbench."""
    text = page.read_text()
    if page.name != "cli.md":
        text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"`[^`\n]*`|\[[^\]]*\]\([^)]*\)|somebody else's", "", text)
    assert re.findall(rf"(?i)\b(?:{RETIRED})\b", prose) == []


OTHERS = {
    "Cannot tell", "cannot tell", "cannot tell: ", " asked for)",
    "The client does not tell where its time went.", "Tables and diagrams that tell no series apart show the ",
}  # fmt: skip
"""Texts of the program with a retired word that fits there."""


@pytest.mark.parametrize("package", sorted({path.parent for path in (ROOT / "python/dsbench").rglob("*.py")}), ids=lambda path: path.name)
def test_retired_words_are_gone_from_what_the_program_prints(package: Path) -> None:
    """Strings of several words that are neither docstrings nor code; the pages of the browser are looked at apart."""
    if package.is_relative_to(ROOT / "python/dsbench/web"):
        pytest.skip("pages of the browser are prose of their own")
    found = []
    for path in sorted(package.glob("*.py")):
        tree = ast.parse(path.read_text())
        explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        for node in texts:
            prose = " " in node.value and id(node) not in explained and not node.value.startswith("SELECT ")
            if prose and node.value not in OTHERS and re.search(rf"(?i)\b(?:{RETIRED}|{RETIRED_TEXTS})\b", node.value):
                found.append(f"{path.name}:{node.lineno}: {node.value}")
    assert found == []
