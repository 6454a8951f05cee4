"""``--set NAME=VALUE``, ``--limit NAME=VALUE`` and shares, as they are written on the command line."""

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


def share(option: str, text: str) -> float:
    """A share (0-1) that is written as per cent, such as 2%; ``SpecError`` where ``text`` is none."""
    try:
        found = float(str(spec.per_cent(text))) / 100
    except ValueError:
        found = 0.0
    if not 0.0005 <= found <= 1:
        raise spec.SpecError(option, f"{text[:60]!r} is no share from 0.05% to 100%", "write for instance 2%")
    return found
