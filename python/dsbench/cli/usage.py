"""The parser's errors in the words and the form of all others: the option, what is wrong with it, a hint."""

from __future__ import annotations

import sys
from typing import Any

import typer

from dsbench.cli import errors
from dsbench.spec import plain

_WRONG: Any = typer.BadParameter.__mro__[1]
"""What the parser raises; typer has its parser or uses click's, and exports neither class."""

_KINDS = {
    "NoSuchOption": "no option has this name",
    "MissingParameter": "it is missing",
    "NoSuchCommand": "no command has this name",
}


def run(app: typer.Typer) -> int:
    """Runs ``app`` on the command line; gives the exit code. Errors of the parser are told, others pass through."""
    try:
        code = app(prog_name="dsbench", standalone_mode=False)
    except typer.Abort:
        return errors.FAILED
    except _WRONG as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)
        else:
            errors.tell(_words(error), _remedy(error))
        return errors.USAGE
    return code if isinstance(code, int) else 0


def _words(error: Any) -> str:
    kind = type(error).__name__
    name = _name(error)
    said = plain((error.message if name else error.format_message()) or "").rstrip(".")
    words = _KINDS.get(kind) if name else None
    words = words or said[:1].lower() + said[1:]
    return f"{name}: {words}" if name else words


def _name(error: Any) -> str:
    """The option, argument or command that is meant; empty where the parser does not tell."""
    for attribute in ("option_name", "command_name"):
        if found := getattr(error, attribute, None):
            return str(found)
    param = getattr(error, "param", None)
    if param is None:
        return ""
    return str(param.opts[0]) if param.param_type_name == "option" else str(param.name).upper()


def _remedy(error: Any) -> str:
    near = ", ".join(sorted(getattr(error, "possibilities", None) or ()))
    command = error.ctx.command_path if error.ctx is not None else "dsbench"
    return f"did you mean {near}? See {command} --help" if near else f"see {command} --help"
