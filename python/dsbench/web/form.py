"""From the texts of the form to a specification, and to the command and the file that ask for the same run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import tomli_w

from dsbench.measure.ahead import Ahead, look_ahead, refuse_settings
from dsbench.redaction import redact, redact_values, redact_words, secrets_of
from dsbench.spec import (
    OPTIONS,
    PROFILES,
    SCRIPTS,
    Merged,
    Option,
    SpecError,
    Target,
    merged,
    parted_scripts,
    taking,
    with_scripts,
)
from dsbench.spec.files import said
from dsbench.spec.trust import refuse, risks

PASSWORD: Final = "password"
"""Name of the field that is no option."""
_SET: Final = {*PROFILES["quick"], *(name for name, option in OPTIONS.items() if option.about.default)}
_KINDS: Final = {"integer": (int, "a whole number"), "number": (float, "a number")}

PARTED: Final[Mapping[str, Callable[[str], Sequence[Any]]]] = {
    "script": parted_scripts, "define": str.splitlines,
    "builtin": lambda text: [one.strip() for one in text.split(",") if one.strip()],
}  # fmt: skip
"""By name of what is said beside the options: its values out of its text."""

Texts = Mapping[str, str]
"""By name of an option, what stands in its field; empty fields say nothing. ``script`` holds ``joined_scripts``."""


def asked(texts: Texts, *, theirs: Collection[str] = (), trust: bool = False) -> tuple[Merged, Ahead]:
    """The run of a form, and what it will do. Raises ``SpecError`` or ``RunError``; see ``without_secrets``.

    ``theirs`` are the ``risks`` of the run that the form repeats, which may be a stranger's: ``Untrusted`` where one is
    still among those of the form, and was not confirmed by ``trust``.
    """
    values = _values(texts)
    target, settings = values.pop("target", None), values.pop("workload_settings", {})
    found = merged(values, target=target, settings=settings)
    if theirs and not trust:
        refuse((one for one in risks(found.spec.described()) if one in theirs), "the run that is repeated", "settings")
    refuse_settings(found.spec)
    return found, look_ahead(found)


def _values(texts: Texts) -> dict[str, Any]:
    given = {name: text.strip() for name, text in texts.items() if text.strip()}
    values: dict[str, Any] = {name: _value(OPTIONS[name], given[name]) for name in OPTIONS if name in given}
    values |= {name: PARTED[name](given[name]) for name in SCRIPTS if name in given}
    if PASSWORD in given:
        values["target"] = _with_password(values.get("target", ""), given[PASSWORD])
    return values


def _value(option: Option, text: str) -> Any:
    if option.kind == "object" and option.name != "target":
        return dict(_pair(option, line) for line in text.splitlines() if line.strip())
    if option.kind == "boolean":
        return text == "yes"
    if option.kind not in _KINDS or option.about.unit in ("%", "s"):
        return text
    read, words = _KINDS[option.kind]
    try:
        return read(text)
    except ValueError:
        raise SpecError(option.flag, f"{text[:60]!r} is not {words}", "see the words below the field") from None


def _pair(option: Option, line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    if not equals or not name.strip():
        raise SpecError(option.flag, f"{line[:60]!r} is no setting", "write NAME=VALUE, one in a line")
    value = value.strip()
    if value.startswith('"'):
        with suppress(ValueError):
            value = str(json.loads(value))
    return name.strip(), value


def _with_password(url: str, password: str) -> str:
    target = Target.model_construct(url=url)
    if not target.user or target.password:
        raise SpecError("password", "TARGET names no user to whom it belongs", "write scheme://user@host/database")
    return target.with_password(password).url


def shown_url(text: str) -> str:
    """A database as it may be shown."""
    return redact(text.strip())


def without_secrets(words: str, texts: Texts) -> str:
    """``words`` without the passwords that stand in the form: an error may repeat what it is about."""
    url, password = texts.get("target", ""), texts.get(PASSWORD, "").strip()
    words = words.replace(url, redact(url)) if url else words
    return redact_words(words, (*secrets_of(url), *((password, quote(password, safe="")) if password else ())))


def command(texts: Texts) -> str:
    """The command line; passwords read ``***``."""
    return shlex.join(["dsbench", "run", *words(texts)])


def words(texts: Texts) -> list[str]:
    """The words of a command line; passwords read ``***``. Scripts are files of their names."""
    found = list[str]()
    for name, value in _shown_values(texts).items():
        if name in SCRIPTS:
            found += [part for one in value for part in (f"--{name}", one[0] if name == "script" else one)]
        else:
            found += [value] if name == "target" else OPTIONS[name].words(value)
    return found


def toml(texts: Texts) -> str:
    """The configuration file; passwords read ``***``."""
    found, values = {}, _shown_values(texts)
    if not values.keys().isdisjoint(SCRIPTS):  # Their text, so that the file needs no others.
        values = with_scripts(values)
    for name, value in values.items():
        option = OPTIONS[name]
        if option.kind == "array":
            numbers = option.numbers(value)
            value = numbers[0] if len(numbers) == 1 and option.about.several else list(numbers)
        found[name] = value
    return tomli_w.dumps(found).rstrip("\n")


def _shown_values(texts: Texts) -> dict[str, Any]:
    values = _values(_shown(texts))  # Texts of scripts stay as they are.
    return {name: value if name == "script" else redact_values(value) for name, value in values.items()}


def _shown(texts: Texts) -> dict[str, str]:
    """What may be shown of the form."""
    shown = {name: text for name, text in texts.items() if name != PASSWORD}
    return {**shown, "target": shown_url(shown["target"])} if shown.get("target") else shown


def texts_of(described: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the form for a specification as ``run.json`` holds it, which has no password."""
    target = Target.model_validate(described.get("target") or {})
    found = {"target": target.in_one if target.private is not None else target.url}
    # A workload file that ships is called by its name.
    described = said(described)
    inner = dict(described.get("workload_settings") or {})
    if described.get("workload") == taking("scripts") and inner.keys() & {"scripts", *SCRIPTS}:
        described = {**described, "workload": inner.pop("tables", ""), "workload_settings": inner}
        named = {"script": inner.pop("scripts", ""), **{name: inner.pop(name, "") for name in ("builtin", "define")}}
        found |= {name: text for name, text in named.items() if text}
    for name, option in OPTIONS.items():
        value = described.get(name)
        # A default that a workload or a profile sets is said: it may not be the one of this option.
        if name == "target" or value in (None, "", {}) or (value == option.default and name not in _SET):
            continue
        found[name] = _text(value)
    return found


def _line(value: str) -> str:
    """``value`` in one line, as ``_pair`` reads it: what has several, as the text of a script, is a string of JSON."""
    return json.dumps(value, ensure_ascii=False) if "\n" in value or value.startswith('"') else value


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{name}={_line(str(one))}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
