"""Every setting of a run is in everything that is made from the table of options."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from dsbench import spec
from dsbench.cli import app
from dsbench.cli.run import specification
from dsbench.read.page import command_line, config_file
from dsbench.several.compare import read
from dsbench.spec import OPTIONS, Option, RunSpec, SpecError
from dsbench.spec import words as about
from fixtures.archives import MS, cycle_row, run_json, write

KEPT_APART = {"several_clients", "erase"}
"""What ``clients`` was given as, and the word of who starts a run, which no file repeats."""
OF_CHOICE: dict[str, Any] = {
    "target": {"url": "private:postgresql", "settings": {"fsync": "off"}, "version": '1"5', "directory": "/a b"},
    "workload": "tpcc", "label": "it's \"new\" 5", "workload_settings": {"affinity": "off"}, "profile": "dsi", "clients": [10, 20],
    "levels": [0.5, 0.9999], "call": "statements", "limits": {"memory": "1GiB", "cpus": "1.5"},
    "storage": {"type": "ext4", "block": "1k", "data": "journal", "size": "1GiB"},
    "load": "0s:10, 2s:20, 5s:end", "objective": "p90=50ms", "price": "12000 EUR/3y", "power": "meter --of 'a b'", "event": "1s:restart, 2s:command 'x y'", "probes": "dd,fio", "checked": "of check.json", "driver": "sqlite3", "reads": "db2:5433,db3",
}  # fmt: skip
"""Other values than the default, where the type does not lead to one."""
STAYS = {"target": {"url": "sqlite:///kept.db"}}
TOGETHER: dict[str, dict[str, Any]] = {
    "terminals": {"pace": "terminals"}, "workload_settings": {"workload": "tpcc"}, "keep": STAYS, "reuse": STAYS,
    "limits": {"target": {"url": "private:postgresql"}}, "storage": {"target": {"url": "private:sqlite"}},
    "event": {"target": {"url": "private:postgresql"}, "duration": 9},
    "reads": {"target": {"url": "postgresql://h/b"}, "workload": "select"},
    "max_tries": {"retry": True}, "existing": {"workload": "scripted", "scales": [1], **STAYS},
    "min_duration": {"precision": 2, "duration": 60}, "cycles": {"max_cycles": 30}, "precision_of": {"precision": 2},
}  # fmt: skip
"""What a setting needs beside it."""
REFUSED = {
    "dsi-fast": {"objective", "graduated", "event"},
    "capacity": {"event", "load", "find_ramp_up", "pace", "terminals", "rate", "peak", "precision_of", "min_duration", "driver",
                 "reconnect"},
    "graduated": {"event", "load", "find_ramp_up", "pace", "terminals", "rate", "peak", "clients", "precision", "precision_of", "min_duration",
                  "driver", "reconnect"},
}  # fmt: skip
"""What does not fit to a profile."""


def other(option: Option) -> Any:
    """A value that the option can have and has not by default, as TOML and JSON hold it."""
    if option.name in OF_CHOICE:
        return OF_CHOICE[option.name]
    if option.choices:
        return next(choice for choice in option.choices if choice != option.default)
    if option.kind == "boolean":
        return not option.default
    if option.kind == "array":
        return [*option.default, option.default[-1] * 2]
    if option.kind == "integer":
        return (option.default or 7) + 1
    assert option.kind == "number", f"name a value for {option.name}"
    return (option.default or 1) * 4 / 3


def words_of(line: str) -> list[str]:
    """The words after ``dsbench run``."""
    words = shlex.split(line)
    assert words[:2] == ["dsbench", "run"]
    return words[2:]


def parsed(words: list[str], config: Path | None) -> RunSpec:
    """What the command line makes of ``words``."""
    run = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    return specification(run.make_context("run", [*words, "--trust"]).params, config).spec


def every(**more: Any) -> Any:
    return pytest.mark.parametrize("option", OPTIONS.values(), ids=list(OPTIONS), **more)


def test_every_field_is_in_the_table() -> None:
    assert set(RunSpec.model_fields) - set(OPTIONS) == KEPT_APART


@every()
def test_the_table_has_what_the_schema_of_the_specification_has(option: Option) -> None:
    told = RunSpec.model_json_schema()["properties"][option.name]
    (schema,) = [one for one in told.get("anyOf", [told]) if one.get("type") != "null"]
    kind = schema.get("type", "object")
    assert (option.kind, option.item) == (
        ("array", kind) if option.about.several else (kind, schema.get("items", {}).get("type", ""))
    )
    assert option.choices == tuple(schema.get("enum", ()))
    assert option.above == ("exclusiveMinimum" in schema)
    for has, *names in ((option.low, "minimum", "exclusiveMinimum"), (option.high, "maximum", "exclusiveMaximum")):
        found = [schema[name] for name in names if name in schema]
        assert found in ([], [has]), "a schema does not tell what holds for a value that was converted"


@every()
def test_an_option_says_what_it_is(option: Option) -> None:
    assert option.about.group in about.GROUPS
    assert not option.about.help.endswith(".")
    assert option.help.endswith("]") or option.kind == "object" or option.default is False, "its default is in its help"
    assert not option.about.more.endswith(".")
    assert option.details.startswith(option.help)
    for choice in option.choices:
        assert choice in option.about.help
    default = option.default
    if default is not None and not isinstance(default, list | spec.Target | str | bool):
        assert spec.build({option.name: default}), "it keeps its own bounds"


@every()
def test_help_of_the_command_line_has_it(option: Option) -> None:
    run = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    context = run.make_context("run", [], resilient_parsing=True)
    helped = context.command.get_help(context)
    stand = [option.about.group] if option.flag.startswith("--") else ["Arguments"]
    section = helped.partition(f"\n{stand[0]}:\n")[2].partition("\n\n")[0]
    assert re.search(rf"^ +(\S.* )?{re.escape(option.flag)}\b", section, re.MULTILINE | re.IGNORECASE), section
    assert "".join(option.help.split()) in "".join(section.split())


def test_each_option_has_one_line_of_100_columns() -> None:
    run = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    context = run.make_context("run", [], resilient_parsing=True, max_content_width=100, terminal_width=100)
    helped = run.get_help(context)
    assert max(map(len, helped.splitlines())) <= 100
    listed = [line for line in helped.partition("Work:")[2].partition("--no-NAME")[0].splitlines() if line.strip() and line.startswith("  ")]
    assert [line for line in listed if not re.match(r"  (-\w, )?--[a-z]", line)] == []
    assert len(listed) > len(OPTIONS)


@every()
def test_a_file_takes_it_by_its_name_and_by_that_of_its_option(option: Option, tmp_path: Path) -> None:
    value = other(option)
    wanted = spec.build({"seed": 1, **TOGETHER.get(option.name, {}), option.name: value})
    for name in {option.name, option.name.replace("_", "-")}:
        values = {**TOGETHER.get(option.name, {}), "seed": 1, name: value}
        (tmp_path / "x.toml").write_text("".join(f"{key} = {_toml(value)}\n" for key, value in values.items()))
        assert parsed([], tmp_path / "x.toml").model_copy(update=_ladder(wanted)) == wanted


def _ladder(wanted: RunSpec) -> dict[str, Any]:
    """Without a word about the ladder the profile is quick: not what is looked at here."""
    if wanted.profile:
        return {}
    return {name: getattr(wanted, name) for name in ("scales", "cycles", "duration", "clients", "several_clients", "profile")}


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(part)}" for name, part in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize("profile", [None, *spec.PROFILES])
@every()
def test_the_command_repeats_the_run(option: Option, profile: str | None, tmp_path: Path) -> None:
    values = {**TOGETHER.get(option.name, {}), option.name: other(option)}
    profile = values.pop("profile", profile)
    if option.name in REFUSED.get(profile or "", ()):
        with pytest.raises(SpecError):
            spec.build(values, profile=profile)
        return
    asked = spec.build(values, profile=profile)
    described = asked.described()
    (tmp_path / "repeat.toml").write_text(config_file(described))
    words = words_of(command_line(described))
    config = tmp_path / words[words.index("--config") + 1] if "--config" in words else None
    assert parsed(words, config) == asked


@pytest.mark.parametrize(
    "values",
    [
        {"scales": (1, 10), "seed": 5},
        {"target": {"url": "private:postgresql", "settings": {"shared_buffers": "1 GB", "fsync": "off"}}, "retry": True},
        {"target": {"url": "postgresql://me@h/d b?x='y'"}, "rate": 12.5, "arrival": "constant", "call": "statements"},
        {"duration": 0.25, "connections": 3, "trace": True, "population": "procedure", "isolation": "serializable"},
        {"duration": 1 / 3, "levels": (1e-7, 1 / 3, 0.6)},
    ],
)
def test_the_command_keeps_every_letter_and_digit(values: dict[str, Any]) -> None:
    asked = RunSpec(**values)
    assert config_file(asked.described()) == ""
    assert parsed(words_of(command_line(asked.described())), None) == asked


@every()
def test_an_older_archive_without_it_still_has_a_command(option: Option) -> None:
    described = spec.build({"seed": 1}).described()
    del described[option.name]
    assert option.flag not in words_of(command_line(described))


@every()
def test_a_comparison_tells_that_it_differs(option: Option, tmp_path: Path) -> None:
    beside = TOGETHER.get(option.name, {})
    one = {"scales": [1], "cycles": 1, "duration": 1.0, "seed": 1, "call": "procedure", **beside}
    paths = []
    for name, values in (("one", one), ("other", {**one, option.name: other(option)})):
        # A run tells the call that was in force, beside the one that was wanted.
        run = run_json(values, name=name, call=values["call"])
        paths.append(write(tmp_path, run, {"cycles": [cycle_row(1, 1, [MS] * 5)]}).path)
    found = read(paths)
    told = [name for name in found.differences if name.startswith(f"spec.{option.name}")]
    assert bool(told) == (option.about.compared != "chance")
    name = "affinity" if option.kind == "object" else option.name
    warned = [line for line in found.warnings() if line.startswith("the load differs:") and name in line]
    assert bool(warned) == (option.about.compared == "load")


@every()
def test_a_wrong_value_is_told_by_its_option(option: Option) -> None:
    wrong: Any = 3 if option.kind in ("string", "object") or option.name == "scales" else "x"
    with pytest.raises(SpecError) as refused:
        spec.build({option.name: wrong})
    assert refused.value.option == option.flag
    assert refused.value.remedy


@every()
def test_bounds_of_the_table_are_those_that_are_kept(option: Option) -> None:
    for bound, beyond in ((option.low, -1), (option.high, 1)):
        if bound is None or option.name in TOGETHER:
            continue
        with pytest.raises(SpecError):
            spec.build({option.name: bound + beyond})
        if not (option.above and beyond < 0) and option.name != "seed":
            assert spec.build({option.name: bound})


def test_the_short_help_of_a_run_fits_a_screen_and_names_options_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    group: Any = typer.main.get_command(app)
    command = group.commands["run"]
    with pytest.raises(typer.Exit):
        command.make_context("dsbench run", ["private:sqlite", "-h"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    known = {word for param in command.params for word in param.opts}
    listed = [line.split()[0] for line in lines if line.startswith("  --")]
    assert len(listed) <= 15
    assert set(re.findall(r"--[a-z-]+", "\n".join(lines))) - {"--help"} <= known
    assert "--help" in lines[-1]
    context = command.make_context("dsbench run", [], resilient_parsing=True, help_option_names=["-h", "--help"])
    assert command.get_help_option_names(context) == ["--help"]
