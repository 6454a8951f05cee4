"""``--set NAME=VALUE``, as it is written on the command line."""

from __future__ import annotations

from dsbench import spec


def pairs(texts: list[str]) -> dict[str, str]:
    """Values by name; ``SpecError`` for a text that is no setting."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise spec.SpecError("--set", f"{text!r} is no setting", "write NAME=VALUE, such as shared_buffers=1GB")
        found[name.strip()] = value.strip()
    return found
