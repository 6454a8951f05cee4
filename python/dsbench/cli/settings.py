"""``--set NAME=VALUE`` and ``--limit NAME=VALUE``, as they are written on the command line."""

from __future__ import annotations

from dsbench import spec


def pairs(texts: list[str], option: str = "--set", example: str = "shared_buffers=1GB") -> dict[str, str]:
    """Values by name; ``SpecError`` for a text that is no setting."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise spec.SpecError(option, f"{text!r} is no setting", f"write NAME=VALUE, such as {example}")
        found[name.strip()] = value.strip()
    return found
