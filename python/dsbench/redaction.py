"""What holds a password, in whatever spelling, and the same without it. Whatever is written or shown goes through here.

A name is read as the engines read it, percent-encoded or not. Where it is not clear how much belongs to a password,
too much is hidden rather than a part of it shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

HIDDEN: Final = "***"
_NAMED: Final = re.compile(
    r"(^|[^a-z])(pass|psw|token)\d*$|(passw(or)?d|passphrase|pwd|pswd|secret|api[._-]?key|sst[._-]auth)\d*$",
    re.IGNORECASE,
)
"""``password``, ``sslpassword``, ``PGPASSWORD``, ``bind_root_pwd``; no ``password_encryption`` and no ``passfile``."""
_KEY: Final = re.compile(r"(hex|text)?key", re.IGNORECASE)
"""Of a parameter or a setting; a text has it for columns as well."""
_PAIR: Final = re.compile(
    r"""(?P<name>[\w.%+-]+)(?P<equals>\s*=\s*|["']\s*[:=]\s*)(?P<value>'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.)*"?|[^\s&;,'"]*)"""
)
"""``name=value``, also as in a connection string (``password = 'a b'``) and in JSON (``"password": "a b"``)."""
_URL: Final = re.compile(r"(?<![A-Za-z0-9+.-])(?:[A-Za-z][A-Za-z0-9+.-]*://|private:)[^\s\"'<>`]+")
_AFTER: Final = ".,:;)]}"
"""What ends a sentence and no URL."""
_LAYERS: Final = 3
"""Of percent-encoding: %2570 is %70 once decoded, and p twice."""


def is_secret(name: str) -> bool:
    """Whether what is called so is a password."""
    for _ in range(_LAYERS):
        if _NAMED.search(name.strip()):
            return True
        name = unquote_plus(name)
    return False


def _is_secret_setting(name: str) -> bool:
    return is_secret(name) or _KEY.fullmatch(unquote(name).strip()) is not None


def redact(url: str) -> str:
    """A target, URL or connection string, with every password replaced; the rest comes back letter by letter."""
    scheme, _, rest = url.partition("://")
    if not re.match("[A-Za-z0-9]+://", url):
        head, mark, query = _hide_pairs(url).partition("?")
        if url.startswith(("private:", "sqlite:")):
            return head + mark + _hide_values(query)
        return _hide_pairs(_without_login(url))
    address, mark, query = rest.partition("?")
    rest = address + mark + _hide_values(query)
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    after = rest[len(authority) :]
    if scheme != "sqlite" and "@" in after and (authority or ":" in after.rpartition("@")[0]):
        # A slash or question mark that should have been written %2F or %3F.
        return f"{scheme}://{_without_login(rest)}"
    user, at, host = authority.rpartition("@")
    if ":" in user:
        user = user.partition(":")[0] + f":{HIDDEN}"
    elif not at and re.search(r":(?!\d*$)[^]]*$", host):
        # No port: a password whose host was forgotten.
        host = host.partition(":")[0] + f":{HIDDEN}"
    # A parameter may stand behind a & where there should be a question mark.
    path, mark, query = f"{host}{after}".partition("?")
    path, also, others = path.partition("&")
    return f"{scheme}://{user}{at}{path}{also}{_hide_pairs(others)}{mark}{query}"


def _without_login(text: str) -> str:
    """``text`` without what stands between its first colon and its last ``@``."""
    login, _at, rest = text.rpartition("@")
    return f"{login.partition(':')[0]}:{HIDDEN}@{rest}" if ":" in login else text


def _decoded(text: str) -> list[str]:
    """``text`` as it is after one decoding and more."""
    found = [unquote(text)]
    while len(found) < _LAYERS:
        found.append(unquote(found[-1]))
    return found


def _hide_values(query: str) -> str:
    return "&".join(_hide_value(pair) for pair in query.split("&"))


def _hide_value(pair: str) -> str:
    name, equals, _value = pair.partition("=")
    return f"{name}={HIDDEN}" if equals and _is_secret_setting(name) else _hide_pairs(pair)


def _hide_pairs(text: str, *, decoded: bool = False) -> str:
    """``text`` without the values of names that are passwords, be they within the value of another one, or encoded."""
    shown, at = [], 0
    for begin, end in _secret_values(text, decoded=decoded):
        around = text[begin] if text[begin] in "'\"" else ""
        shown += [text[at:begin], around, HIDDEN, around]
        at = end
    return "".join([*shown, text[at:]]) if shown else text


def _secret_values(text: str, *, decoded: bool = False) -> Iterator[tuple[int, int]]:
    """Where in ``text`` values stand that are hidden: of passwords, and, where it is not ``decoded``, what holds such a
    pair once it is."""
    found = _PAIR.search(text) if "=" in text or '":' in text or "':" in text else None
    while found is not None:
        begin, end = found.span("value")
        value = found["value"]
        secret = is_secret(found["name"])
        if "%" in value and not decoded and not secret:
            secret = any(_hide_pairs(plain, decoded=True) != plain for plain in _decoded(value))
        if secret and value.strip("'\"").rstrip(_AFTER) not in ("", HIDDEN):
            yield begin, end
        # What is in the value of another name is looked at as well.
        found = _PAIR.search(text, end if secret else max(begin, found.start() + 1))


def redact_words(text: str, secrets: Iterable[str] = ()) -> str:
    """A text, such as an error or a line of a log, without ``secrets``, and without what is a password by its look."""
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN)

    def hidden(found: re.Match[str]) -> str:
        url = found.group().rstrip(_AFTER)
        return redact(url) + found.group()[len(url) :]

    return _hide_pairs(_URL.sub(hidden, text) if "://" in text or "private:" in text else text)


def redact_values(value: Any, *, settings: bool = False) -> Any:
    """JSON values without the passwords that they hold by their names, and in URLs; within ``settings`` of a server
    also without those in the words of a value. Texts of scripts stay as they are."""
    if isinstance(value, str):
        if re.match("[A-Za-z0-9]+://|private:", value):
            return redact(value)
        return _hide_pairs(value) if settings else value
    if isinstance(value, Mapping):
        of_server = settings or str(value.get("path", "")).startswith(_SETTINGS)
        return {str(name): _redacted(str(name), part, settings=of_server) for name, part in value.items()}
    return [redact_values(part, settings=settings) for part in value] if isinstance(value, list | tuple) else value


_SETTINGS: Final = "target.settings"
"""The path of a server's settings in a study."""


def _redacted(name: str, value: Any, *, settings: bool) -> Any:
    settings = settings or name == "settings" or name.startswith(_SETTINGS)
    if isinstance(value, Mapping | list | tuple) or value is None or value == "":
        return redact_values(value, settings=settings)
    plain = name.removeprefix(f"{_SETTINGS}.")
    if _is_secret_setting(plain) if settings else is_secret(plain):
        return HIDDEN
    if name in ("url", "target") and isinstance(value, str):
        return redact(value)
    return redact_values(value, settings=settings)


def without_hidden(value: Any) -> Any:
    """``value``, as ``redact_values`` gives it, with each hidden password left out: its URLs are whole without it."""
    if isinstance(value, str) and HIDDEN in value:
        address, _mark, query = value.replace(f":{HIDDEN}@", "@").partition("?")
        return "?".join(filter(None, (address, "&".join(p for p in query.split("&") if not p.endswith(f"={HIDDEN}")))))
    if isinstance(value, Mapping):
        return {name: without_hidden(part) for name, part in value.items() if part != HIDDEN}
    return [without_hidden(part) for part in value] if isinstance(value, list | tuple) else value


def secrets_of(url: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """The passwords in ``url`` and ``settings``, as they are written and as they are meant; the longest first."""
    _scheme, _separator, rest = url.partition("://")
    address, _mark, query = (rest or url).partition("?")
    written = [address.rpartition("@")[0].partition(":")[2]]
    named = [*((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&"))),
             *(settings or {}).items()]  # fmt: skip
    written += [value for name, value in named if _is_secret_setting(name)]
    written += [value.partition(":")[2] for name, value in named if name.endswith("_auth")]
    for text in (address.partition("&")[2] if rest else url, *(value for _, value in named)):
        for plain in (text, *_decoded(text)):
            written += [plain[begin:end].strip("'\"") for begin, end in _secret_values(plain)]
    spelled = {text for value in written for text in (value, unquote(value), unquote_plus(value))}
    return sorted(spelled - {"", HIDDEN}, key=lambda text: (-len(text), text))
