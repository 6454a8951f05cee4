"""A configuration file with every setting of a run, explained, as ``dsbench run --example-config`` prints it."""

from __future__ import annotations

import textwrap
from typing import Any, Final

import tomli_w

from dsbench.spec import OPTIONS, Option
from dsbench.spec.words import GROUPS

_HEAD: Final = (
    "A run of dsbench: dsbench run --config FILE. Settings have their defaults; those with a # depend on the workload, "
    "the engine or chance, until you remove the #. Options override this file."
)
_TABLES: Final[dict[str, str]] = {
    "target": '{ url = "private:sqlite" }',
    "workload_settings": "{}",
    "limits": "{}",
    "storage": "{}",
}
_MORE: Final[dict[str, str]] = {
    "target": 'With settings of a private server: { url = "private:postgresql", version = "18", directory = "/data", '
    'settings = { shared_buffers = "1GB" } }',
    "workload_settings": "dsbench run --list has their names. For example, for tpcc: { size = \"0.1\" }",
    "limits": 'For example: { memory = "1GiB", write = "20MiB/s" }',
    "storage": 'For example: { type = "ext4", data = "journal", block = "1k", size = "4GiB" }',
}


def text() -> str:
    """The file."""
    parts = [_comment(_HEAD)]
    for group in GROUPS:
        parts.append(f"\n# --- {group}\n")
        parts += [_setting(option) for option in OPTIONS.values() if option.about.group == group]
    return "\n".join(parts)


def _setting(option: Option) -> str:
    return _comment(f"{option.details} {_MORE.get(option.name, '')}".strip()) + _line(option)


def _line(option: Option) -> str:
    if option.name in _TABLES:
        return f"{option.name} = {_TABLES[option.name]}\n"
    given = option.default not in (None, "") and not option.about.default
    value = _possible(option) if option.default is None else option.default
    return f"{'' if given else '#'}{option.name} = {_in_a_line(value)}\n"


def _in_a_line(value: Any) -> str:
    """``value`` as TOML; lists have a line for each value otherwise."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_in_a_line, value))}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def _possible(option: Option) -> Any:
    """A value of a setting that has none by default."""
    if option.choices:
        return option.choices[0]
    return {"integer": 10, "number": 10.0}.get(option.kind, "")


def _comment(words: str) -> str:
    return textwrap.fill(words, 110, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False) + "\n"
