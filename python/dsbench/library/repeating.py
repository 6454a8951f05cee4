"""What an earlier run was asked to do, for a run that repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsbench.archive import Archive, ArchiveError
from dsbench.spec import OPTIONS, SpecError


def earlier(config: Path | None) -> dict[str, Any] | None:
    """Settings by name of the archive ``config``, a folder, zip or ``run.json``; ``None`` where it is a TOML file.

    Names that this version does not know are left out: they are those of another one. ``SpecError`` where there is
    no archive.
    """
    if config is None or not (config.is_dir() or config.suffix in (".zip", ".json")):
        return None
    try:
        asked = Archive.open(config).run.spec.described()
    except ArchiveError as error:
        raise SpecError("--config", str(error), error.remedy) from None
    values = {name: value for name, value in asked.items() if name in OPTIONS}
    target = dict(values.get("target", {}))
    # A password that stood in the authority may come from where it came before; in the query it cannot.
    target["url"] = str(target.get("url", "")).replace(":***@", "@")
    return {**values, "target": {name: value for name, value in target.items() if value is not None}}
