"""The options of a run as parameters of a command, made from the table of options, and help under headings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, get_type_hints

import typer

from dsbench import servers, spec, workloads
from dsbench.spec import OPTIONS, PROFILE_NAMES, Option, drivers, examples, words

_TYPES: Final = {"boolean": bool, "integer": int, "number": float, "object": list[str]}
"""What the parser makes of a value; all else stays text, which the specification reads."""
_METAVARS: Final = {"integer": "N", "number": "N", "array": "N,N,…", "string": "WORD"}


Of = Annotated[
    str,
    typer.Option(
        metavar="MEASURE",
        help="rate, nopm, p50, p99, max, dsi, failures … (docs/studies.md)",
    ),
]
Stage = Annotated[str, typer.Option(metavar="NAME", help="Stage that counts, such as l.i1, of runs with stages")]
Group = Annotated[
    str, typer.Option(metavar="NAME", help="Clients that count in a stage [those that are measured]")
]
"""What is measured; see ``read.choice``."""


_SCRIPTS: Final = {
    "script": (
        "FILE[@WEIGHT]", "Transactions in pgbench's script language; repeatable",
        "Each transaction is one of the scripts, drawn by weight. They use the tables of --workload, and without it "
        "those of pgbench",
    ),
    "builtin": ("NAME[@WEIGHT]", "tpcb-like, simple-update or select-only of pgbench; repeatable", ""),
    "define": ("NAME=VALUE", "Variable of the scripts; repeatable", ""),
}  # fmt: skip
"""Options of scripts, which become settings of their workload: what stands for the value, the help, and details."""


def taking_settings(command: Callable[..., None]) -> Callable[..., None]:
    """``command``, which has ``**settings``, with a parameter for each option of a run; unsaid ones are ``None``."""
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    options = [_parameter(option) for name, option in OPTIONS.items() if name != "target"]
    options += [_of_scripts(name, metavar, text) for name, (metavar, text, _) in _SCRIPTS.items()]
    options.sort(key=lambda option: words.GROUPS.index(option.annotation.__metadata__[0].rich_help_panel))
    own = [p.replace(annotation=hints[p.name]) for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
    parameters = sorted([*own[:2], *options, *own[2:]], key=lambda parameter: parameter.kind)
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _parameter(option: Option) -> inspect.Parameter:
    timed = option.about.unit == "s"
    metavar = option.about.metavar or ("TIME" if timed else _METAVARS.get(option.kind))
    info = typer.Option(
        "/".join(option.flags), help=option.help, metavar=metavar, rich_help_panel=option.about.group,
        autocompletion=completing(known) if (known := _values(option)) else None,
    )  # fmt: skip
    # "2%" and "1m" are numbers for the specification only.
    taken: Any = str if timed or option.about.unit == "%" else _TYPES.get(option.kind, str)
    annotation = Annotated[taken | None, info]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _of_scripts(name: str, metavar: str, text: str) -> inspect.Parameter:
    info = typer.Option(f"--{name}", help=text, metavar=metavar, rich_help_panel=words.WORK)
    annotation = Annotated[list[str] | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _values(option: Option) -> tuple[str, ...]:
    """What a shell may offer for ``option``."""
    known = {"workload": (*workloads.names(), *examples()), "profile": PROFILE_NAMES, "driver": drivers.NAMES}
    return known.get(option.name, option.choices)


def details() -> dict[str, str]:
    """By option of a run what --help leaves out: sentences."""
    scripts = {f"--{name}": more for name, (_, _, more) in _SCRIPTS.items()}
    return {name: f"{more}." for name, more in
            [*((option.flag, option.about.more) for option in OPTIONS.values()), *scripts.items()] if more}  # fmt: skip


def completing(values: Sequence[str]) -> Callable[[str], list[str]]:
    """For a shell that completes a word: those of ``values`` that begin so."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def targets(incomplete: str) -> list[str]:
    """For a shell: private servers, and the beginnings of URLs."""
    from dsbench.measure import (
        loaders,  # Late: the load's libraries take their time, and only a shell that completes asks.
    )

    return completing([*(f"private:{name}" for name in servers.products()), *loaders.schemes()])(incomplete)


def pairs(texts: list[str], option: str = "--set", example: str = "shared_buffers=1GB") -> dict[str, str]:
    """Values by name; ``SpecError`` for a text that is no setting."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise spec.SpecError(option, f"{text!r} is no setting", f"write NAME=VALUE, such as {example}")
        found[name.strip()] = value.strip()
    return found
