"""What holds a password, in whatever spelling, and the same without it. Whatever is written or shown goes through here.

A name is read as the engines read it, percent-encoded or not. Where it is not clear how much belongs to a password,
too much is hidden rather than a part of it shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

HIDDEN: Final = "***"
_NAMED: Final = re.compile(r"(^|[^a-z])(pass|psw)\d*$|(passw(or)?d|passphrase|pwd|pswd|secret)\d*$", re.IGNORECASE)
"""``password``, ``sslpassword``, ``PGPASSWORD``, ``bind_root_pwd``; no ``password_encryption`` and no ``passfile``."""
_PAIR: Final = re.compile(
    r"""(?P<name>[\w.%+-]+)(?P<equals>\s*=\s*|["']\s*[:=]\s*)(?P<value>'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.)*"?|[^\s&;,'"]*)"""
)
"""``name=value``, also as in a connection string (``password = 'a b'``) and in JSON (``"password": "a b"``)."""
_URL: Final = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>`]+")
_AFTER: Final = ".,:;)]}"
"""What ends a sentence and no URL."""


def is_secret(name: str) -> bool:
    """Whether what is called so is a password."""
    for _ in range(3):  # %2570 is %70 once decoded, and p twice.
        if _NAMED.search(name.strip()):
            return True
        name = unquote_plus(name)
    return False


def redact(url: str) -> str:
    """A target, URL or connection string, with every password replaced; the rest comes back letter by letter."""
    scheme, _, rest = url.partition("://")
    if not re.match("[A-Za-z0-9]+://", url):
        shown = url if url.startswith(("private:", "sqlite:")) else _without_login(url)
        return _hide_pairs(shown)
    address, mark, query = rest.partition("?")
    rest = address + mark + "&".join(_hide_value(pair) for pair in query.split("&"))
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
    return f"{scheme}://{user}{at}{host}{after}"


def _without_login(text: str) -> str:
    """``text`` without what stands between its first colon and its last ``@``."""
    login, _at, rest = text.rpartition("@")
    return f"{login.partition(':')[0]}:{HIDDEN}@{rest}" if ":" in login else text


def _hide_value(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not is_secret(name):
        return name + equals + _hide_pairs(value)
    return f"{name}={HIDDEN}"


def _hide_pairs(text: str) -> str:
    def hidden(found: re.Match[str]) -> str:
        name, equals, value = found.group("name", "equals", "value")
        if not is_secret(name) or value.rstrip(_AFTER) in ("", HIDDEN):
            return found.group()
        around = value[0] if value[0] in "'\"" else ""
        return f"{name}{equals}{around}{HIDDEN}{around}"

    return _PAIR.sub(hidden, text) if "=" in text or '":' in text or "':" in text else text


def redact_words(text: str, secrets: Iterable[str] = ()) -> str:
    """A text, such as an error or a line of a log, without ``secrets``, and without what is a password by its look."""
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN)

    def hidden(found: re.Match[str]) -> str:
        url = found.group().rstrip(_AFTER)
        return redact(url) + found.group()[len(url) :]

    return _hide_pairs(_URL.sub(hidden, text) if "://" in text else text)


def redact_values(value: Any) -> Any:
    """JSON values without the passwords that they hold by their names, and in URLs."""
    if isinstance(value, str):
        return redact(value) if re.match("[A-Za-z0-9]+://|private:", value) else value
    if isinstance(value, Mapping):
        return {str(name): _redacted(str(name), part) for name, part in value.items()}
    return [redact_values(part) for part in value] if isinstance(value, list | tuple) else value


def _redacted(name: str, value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple) or value is None or value == "":
        return redact_values(value)
    if is_secret(name):
        return HIDDEN
    return redact(value) if name in ("url", "target") and isinstance(value, str) else redact_values(value)


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
    written += [value for name, _, value in (pair.partition("=") for pair in query.split("&")) if is_secret(name)]
    if not rest:
        written = [found["value"].strip("'\"") for found in _PAIR.finditer(url) if is_secret(found["name"])]
    written += [value for name, value in (settings or {}).items() if is_secret(name)]
    spelled = {text for value in written for text in (value, unquote(value), unquote_plus(value))}
    return sorted(spelled - {"", HIDDEN}, key=lambda text: (-len(text), text))
