"""The parser's errors in the words and the form of all others: the option, what is wrong with it, a hint."""

from __future__ import annotations

import difflib
import itertools
import re
import sys
from collections.abc import Sequence
from typing import Any, Final

import typer
from typer.core import TyperCommand

from dsbench.cli import errors

_WRONG: Any = typer.BadParameter.__mro__[1]
"""What the parser raises; typer has its parser or uses click's, and exports neither class."""

_KINDS = {
    "NoSuchOption": "no option has this name",
    "NoSuchCommand": "no command has this name",
}

_OTHERWISE = {
    "--threads": "--clients", "--users": "--clients", "--jobs": "--clients",
    "--scale": "--scales", "--warehouses": "--scales", "--time": "--duration", "--seconds": "--duration",
    "--runtime": "--duration", "--repeat": "--cycles", "--runs": "--cycles", "--tps": "--rate",
    "--benchmark": "--workload", "--test": "--workload", "--output": "--out", "--warmup": "--ramp-up",
}  # fmt: skip
"""Words of other benchmarks to options here; those that look alike mean something else."""
_PGBENCH: Final = {
    "-c": "--clients", "-T": "--duration", "-t": "--duration", "-s": "--scales", "-f": "--script", "-b": "--builtin",
    "-S": "--builtin select-only", "-N": "--builtin simple-update", "-D": "--define", "-R": "--rate",
    "-C": "--reconnect", "-M": "--prepare", "-r": "--per-statement", "-l": "--trace", "-L": "--objective",
    "-U": "the URL", "-p": "the URL", "-d": "the URL", "-j": "", "-i": "", "-n": "", "-P": "",
}  # fmt: skip
"""Options of pgbench to what says the same here; empty for what is not needed."""
_LOOKS_ALIKE: Final = 0.75


def run(app: typer.Typer) -> int:
    """Runs ``app`` on the command line; gives the exit code. Errors of the parser are told, others pass through."""
    _say_text(sys.argv)
    try:
        code = app(prog_name="dsbench", standalone_mode=False)
    except typer.Abort as error:
        return errors.INTERRUPTED if isinstance(error.__cause__, KeyboardInterrupt) else errors.FAILED
    except _WRONG as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)
        else:
            errors.tell(_words(error), _remedy(error))
        return errors.USAGE
    return code if isinstance(code, int) else 0


def _say_text(words: list[str]) -> None:
    """``SpecError`` for a word of the command line that is no UTF-8: archives, URLs and JSON hold nothing else."""
    for before, word in itertools.pairwise(words):
        if any("\ud800" <= character <= "\udfff" for character in word):
            from dsbench import spec  # Late: no other command line needs it here.

            named = word.partition("=")[0] if word.startswith("--") else before
            option = named if named.startswith("-") and named.isprintable() else "TARGET or another argument"
            shown = spec.redact(word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
            remedy = "write it in UTF-8; a file or folder with another name must be renamed"
            raise spec.SpecError(option, f"{shown} is not text in UTF-8", remedy)


def _words(error: Any) -> str:
    from dsbench.spec import plain  # Late: most command lines have no error.

    kind = type(error).__name__
    name = _name(error)
    said = plain((error.message if name else error.format_message()) or "").rstrip(".")
    if more := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", said, re.DOTALL):
        return f"one argument too many: {more[1]}" if " " not in more[1] else f"too many arguments: {more[1]}"
    if name and kind == "MissingParameter":
        return f"missing {'option' if name.startswith('-') else 'argument'} {name}"
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


def _meant(error: Any) -> list[str]:
    """The option that other programs call as it was written, where the command has it."""
    meant = _OTHERWISE.get(str(getattr(error, "option_name", "")))
    known = {word for param in (error.ctx.command.params if error.ctx else ()) for word in param.opts}
    return [meant] if meant is not None and meant in known else []


def _apart(words: list[str]) -> str:
    """``--scales 1,10,100`` where a command line has --scales 1 10 100; empty where it has no such thing."""
    for at, word in enumerate(words):
        numbers = list(itertools.takewhile(lambda text: re.fullmatch(r"[0-9.]+", text), words[at + 1 :]))
        if word.startswith("--") and len(numbers) > 1:
            return f"{word} {','.join(numbers)}"
    return ""


def _command() -> str:
    """The command that is run, for errors that name none."""
    named = list(itertools.takewhile(lambda word: re.fullmatch(r"[a-z]+", word), sys.argv[1:2]))
    return " ".join(["dsbench", *named])


def _remedy(error: Any) -> str:
    if apart := _apart(sys.argv):
        return f"separate several numbers by commas: {apart}"
    written = str(getattr(error, "option_name", "") or getattr(error, "command_name", ""))
    if written in _PGBENCH and error.ctx is not None and error.ctx.command.name == "run":
        return f"{_of_pgbench(sys.argv)}: see dsbench run -h"
    # The parser's own order is that of the alphabet.
    close = difflib.get_close_matches(written, getattr(error, "possibilities", None) or (), cutoff=_LOOKS_ALIKE)
    near = ", ".join(_meant(error) or close)
    command = error.ctx.command_path if error.ctx is not None else _command()
    return f"did you mean {near}? See {command} --help" if near else f"see {command} --help"


def _of_pgbench(arguments: Sequence[str]) -> str:
    """``-c of pgbench is --clients here, -T is --duration, and -j is not needed``."""
    used = [word for word in dict.fromkeys(arguments) if word in _PGBENCH]
    said = [f"{word} is {_PGBENCH[word]}" for word in used if _PGBENCH[word]]
    idle = [f"{word} is not needed" for word in used if not _PGBENCH[word]]
    *others, last = [*said, *idle]
    return f"of pgbench's options {', '.join(others)}{' and ' if others else ''}{last}"


class Grouped(TyperCommand):
    """A command whose help has its options under the headings that they name.

    Where it has a short text, ``-h`` shows that and ``--help`` everything.
    """

    brief = ""
    """A screen of 80 columns and 24 lines."""
    elsewhere: Sequence[str] = ()
    """Headings of options that the help of another command has."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Of the whole help."""
        names: list[str] = super().get_help_option_names(ctx)
        return [name for name in names if name != "-h" or not self.brief]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Ends with the short text where it is asked for."""
        if self.brief and "-h" in itertools.takewhile(lambda word: word != "--", args):
            print(self.brief, end="")
            ctx.exit()
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments, then options by heading; those without one come last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and getattr(param, "rich_help_panel", None) not in self.elsewhere:
                of_option = getattr(param, "rich_help_panel", None) or "Options"
                heading = "Arguments" if param.param_type_name == "argument" else of_option
                sections.setdefault(heading, []).append((_plain_name(record[0]), _plain_help(record[1])))
        for heading in sorted(sections, key=lambda heading: heading == "Options"):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Writes what is said before the examples, then each example in lines of its own, which can be pasted."""
        said, *examples = re.split(r"Examples?: ", self.epilog or "", maxsplit=1)
        if said:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(said.strip())
        for text in examples:
            with formatter.section("Examples"):
                room = formatter.width - formatter.current_indent
                lines = [line for one in text.split(" | ") for line in _pasteable(one, room)]
                formatter.write("".join(f"{' ' * formatter.current_indent}{line}\n" for line in lines))


_TYPES: Final = {
    "<int>": "N", "<int range>": "N", "<float>": "N", "<float range>": "N", "<path>": "PATH", "<str>": "TEXT",
}  # fmt: skip
_LONG: Final = 24
"""Characters of a list of choices that stand beside an option; the help of one with more lists them."""


def _plain_name(name: str) -> str:
    """An option with a word for its value: ``--port N``. Of a switch its positive form alone."""
    name = re.sub(r" / --no-\S+", "", name)
    for written, shown in _TYPES.items():
        name = name.replace(f" {written}", f" {shown}" if name.startswith("-") else "")
    name = re.sub(r" <list\[.*\]>", "" if not name.startswith("-") else " TEXT", name)
    return re.sub(r"<([\w|-]+)>$", lambda found: found[1] if len(found[1]) <= _LONG else "WORD", name)


def _plain_help(text: str) -> str:
    """A line without a full stop, with the default at its end in brackets."""
    text = re.sub(r" *\[required\]$|[;,]? *\[?-?[\d.]*<=?x(<=?[\d.]+)?\]$", "", text.replace("; 0<", "  [0<"))
    text = re.sub(r"  \[default: ([^\]]*?)(; .*)?\]?$", r" [\1]", text)
    return re.sub(r"\.( \[[^\]]*\])?$", r"\1", text)


def _pasteable(command: str, width: int) -> list[str]:
    """A command in lines that a shell takes as one. Quotes hold words together, and an option keeps its value."""
    one = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
    lines = [""]
    for word in re.findall(rf"--\S+ (?!-){one}|{one}", command):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and len(longer) > width - len(" \\"):
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] = longer
    return lines


def given(context: typer.Context, *names: str) -> list[str]:
    """Those options of ``names`` that stand in the command line, as they are written there."""
    return [
        param.opts[0]
        for param in context.command.params
        if param.name in names and getattr(context.get_parameter_source(param.name or ""), "name", "") == "COMMANDLINE"
    ]
