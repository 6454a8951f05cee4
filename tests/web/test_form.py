"""What a form asks for, and what is shown of it."""

from __future__ import annotations

import json
import math
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench.measure.journal import RunError
from dsbench.spec import RunSpec, Script, SpecError, examples, joined_scripts, load_toml, parted_scripts
from dsbench.web import form

TEXTS = {
    "target": "postgresql://me@host/db", "password": "s3cr/t", "scales": "1,2", "cycles": "3", "duration": "0.5",
    "clients": "2,4", "precision": "2%", "retry": "yes", "workload": "tpcb", "label": "it's", "call": "",
}  # fmt: skip


def test_form_command_and_file_ask_for_the_same_and_show_no_password(tmp_path: Path) -> None:
    asked = form.asked(TEXTS)[0].spec
    assert asked.target.url == "postgresql://me:s3cr%2Ft@host/db"
    assert (asked.scales, asked.several_clients, asked.precision, asked.label) == ((1, 2), (2, 4), 2.0, "it's")
    path = tmp_path / "run.toml"
    path.write_text(form.toml(TEXTS))
    values = load_toml(path)
    assert values.pop("target") == "postgresql://me@host/db"
    filed = dsbench.specify(asked.target, **values)
    assert filed.model_copy(update={"seed": asked.seed}) == asked
    words = shlex.split(form.command(TEXTS))
    assert words[:3] == ["dsbench", "run", "postgresql://me@host/db"]
    assert words[words.index("--label") + 1] == "it's"
    shown = form.command(TEXTS) + form.toml(TEXTS) + str(form.texts_of(asked.described()))
    assert "s3cr" not in shown


def test_a_specification_comes_back_from_json_as_it_was() -> None:
    asked = form.asked({**TEXTS, "password": ""})[0].spec
    assert RunSpec.model_validate(asked.model_dump(mode="json")) == asked
    again = form.asked(form.texts_of(asked.described()))[0].spec
    assert again == asked


@pytest.mark.parametrize(
    "asked",
    [
        {"target": "private:postgresql@15?work_mem=8MB&directory={}"}, {"target": "private:sqlite?directory={}"},
        {"target": "private:sqlite", "workload": "ycsb-a"}, {"target": "private:sqlite", "workload": "{}/own.toml"},
        {"target": "private:sqlite", "script": ["{}/a.sql@3", "{}/b.sql"], "define": ["x=a b", 'y="'], "max_tries": 3},
        {"target": "sqlite:///{}/x.db", "workload": "tpcc", "isolation": "read-committed", "retry": False},
    ],
)  # fmt: skip
def test_a_run_is_repeated_as_it_was(tmp_path: Path, asked: dict[str, Any]) -> None:
    (tmp_path / "a.sql").write_text("-- one\nSELECT 1;\n")
    (tmp_path / "b.sql").write_text('SELECT "x" AS y;\n')
    (tmp_path / "own.toml").write_text("# mine\n" + examples()["orders"].read_text())
    named = {name: _in(tmp_path, value) for name, value in asked.items()}
    target, said = named.pop("target"), {"scales": (1,), "cycles": 1, "duration": 0.5, "clients": 1, "seed": 5, **named}
    first = dsbench.specify(target, **said)
    texts = form.texts_of(json.loads(json.dumps(first.described())))
    again = form.asked(texts, trust=True)[0].spec
    assert again == first
    assert dsbench.specify(**load_toml(_written(tmp_path, form.toml(texts)))) == first
    if asked.get("workload") == "ycsb-a":
        assert texts["workload"] == "ycsb-a"


def test_a_file_says_what_toml_escapes_and_numbers_that_json_lacks() -> None:
    hard = 'a\x7f"b\\ 2026-01-02'
    texts = {"target": "private:sqlite", "workload_settings": f"note={hard}", "rate": "inf", "terminals": "7", "precision": "2%"}
    read = tomllib.loads(form.toml(texts))
    assert (read["workload_settings"], read["rate"], read["terminals"]) == ({"note": hard}, math.inf, 7)
    assert math.isnan(tomllib.loads(form.toml({"target": "private:sqlite", "rate": "nan"}))["rate"])


def _in(folder: Path, value: Any) -> Any:
    if isinstance(value, list):
        return [_in(folder, one) for one in value]
    return value.replace("{}", str(folder)) if isinstance(value, str) else value


def _written(folder: Path, text: str) -> Path:
    (folder / "form.toml").write_text(text)
    return folder / "form.toml"


def test_scripts_of_a_form_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = [Script("one.sql@3", "-- é\nSELECT 1;"), Script("two.sql", "\\set x random(1, 9)\nSELECT :x;")]
    texts = {"target": "postgresql://me@host/db", "script": joined_scripts(scripts), "existing": "yes", "clients": "2",
             "builtin": "select-only@2, tpcb-like", "define": "scale=7\ny=a b", "duration": "1"}  # fmt: skip
    for name, text in (("one.sql", scripts[0].text), ("two.sql", scripts[1].text)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    asked = form.asked(texts)[0].spec
    said = {"script": ["one.sql@3", "two.sql"], "builtin": ["select-only@2", "tpcb-like"], "define": ["scale=7", "y=a b"]}
    same = dsbench.specify(texts["target"], existing=True, clients=2, duration=1.0, seed=asked.seed, **said)
    assert asked == same
    words = shlex.split(form.command(texts))
    assert [words[at + 1] for at, word in enumerate(words) if word in ("--script", "--builtin", "--define")] == [
        "one.sql@3", "two.sql", "select-only@2", "tpcb-like", "scale=7", "y=a b"]  # fmt: skip
    assert parted_scripts(form.texts_of(asked.described())["script"]) == scripts
    filed = dsbench.specify(**load_toml(_written(tmp_path, form.toml(texts))))
    assert filed.model_copy(update={"seed": asked.seed}) == asked


@pytest.mark.parametrize(
    ("texts", "option"),
    [
        ({"cycles": "many"}, "--cycles"),
        ({"workload_settings": "no sign"}, "--set"),
        ({"target": "postgresql://host/db", "password": "s3cret"}, "password"),
        ({"target": "nonsense://me:s3cret@host/db"}, ""),
        ({"scales": "1,x"}, "--scales"),
    ],
)
def test_what_is_wrong_is_named_without_the_password(texts: dict[str, str], option: str) -> None:
    with pytest.raises((SpecError, RunError)) as raised:
        form.asked(texts)
    assert option in str(raised.value)
    assert "s3cret" not in form.without_secrets(str(raised.value), texts)
