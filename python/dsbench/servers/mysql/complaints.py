"""What a server of the MySQL family says about its settings, in its log and before it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping

_ERROR = re.compile(r"\[ERROR\](?: \[[^\]]*\])* (?:\S*(?:mysqld|mariadbd): )?(.*)")
_ADJUSTED = re.compile(r"option '([^']+)': (.* adjusted to .*)")
_LOWERED = re.compile(r"(?:Changed limits|Buffered warning): (?:Changed limits: )?(.*requested.*)")


def about_settings(said: str, settings: Mapping[str, str]) -> str:
    """What the server does not take of ``settings``; empty when it takes them all.

    ``said`` is what it prints when it is asked for help: errors about options and plugins.
    """
    errors = [words for match in _ERROR.finditer(said) if (words := match[1].rstrip(". ")) != "Aborting"]
    return "; ".join(dict.fromkeys([*errors, *filter(None, [changed_values(said, settings)])]))


def changed_values(said: str, settings: Mapping[str, str]) -> str:
    """Values of ``settings`` in place of which the server takes others, because they are out of range."""
    found = [(m[1].replace("-", "_"), m[2].strip()) for m in _ADJUSTED.finditer(said)]
    return "; ".join(dict.fromkeys(f"{name}: {words}" for name, words in found if name in settings))


def lowered_limits(log: str) -> list[str]:
    """Limits that the server lowered, since the system does not let it open as many files."""
    found = dict.fromkeys(match[1].strip() for match in _LOWERED.finditer(log))
    return [f"the server lowered a limit for want of open files: {words}" for words in found]


def remedy(refused: str, otherwise: str) -> str:
    """What to do about it."""
    if "rocksdb" in refused.lower() and "open shared library" in refused.lower():
        return "install MyRocks: dsbench servers install mariadb"
    return otherwise
