"""What is checked alike in the settings of all products."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dsbench import spec

LOG = "log_directory"
"""The setting that names the folder in which the log of the transactions lies, beside the data."""
SECOND = "second_log"
"""The setting that names the folder of a second copy of the log, which every commit waits for."""
SPACE = "tablespace."
"""Before the name of a tablespace: the folder in which it lies."""
SPARE_CONNECTIONS = 10
"""Sessions kept free beside those of the load: administration, monitors, the user who wants to look."""


def wrong(problem: str, remedy: str) -> spec.SpecError:
    """The error of a setting."""
    return spec.SpecError("--set", problem, remedy)


def check_port(name: str, value: str) -> None:
    """Raises ``SpecError`` for what is no port."""
    if not (value.isdecimal() and 1 <= int(value) <= 65535):
        raise wrong(f"{name} is {value!r}", "give a number between 1 and 65535, or omit it")


def raise_max_connections(settings: dict[str, str], connections: int, default: int) -> int:
    """Sets ``max_connections`` where the ``default`` does not hold the load; gives how many it needs.

    Raises ``SpecError`` where the user's own setting is too low.
    """
    needed = connections + SPARE_CONNECTIONS
    wanted = settings.get("max_connections")
    if wanted is None:
        if needed > default:
            settings["max_connections"] = str(needed)
    elif wanted.isdecimal() and int(wanted) < connections:
        raise wrong(
            f"max_connections = {wanted} is too low for the {connections} connections of the load",
            f"raise it to {needed}, or omit it: dsbench then sets it",
        )
    return needed


def elsewhere(settings: Mapping[str, str]) -> dict[str, Path]:
    """The folders of the user's that a private server uses beside its own, by the setting that names each.
    ``SpecError`` where one is not a folder, or has a name that no tablespace can have."""
    found = {}
    for name, value in settings.items():
        setting = name.lower()
        if setting in (LOG, SECOND) or setting.startswith(SPACE):
            if setting.startswith(SPACE) and not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]*", setting.removeprefix(SPACE)):
                raise wrong(f"{name}: not a valid name of a tablespace", "use lower-case letters, digits and _, "
                                                                         "without the prefix pg_")
            if not Path(value).is_dir():
                raise wrong(f"{name}: {value} is not a folder", "create it, or name another")
            found[setting] = Path(value).resolve()
    return found
