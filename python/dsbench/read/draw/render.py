"""Diagrams as files: ``results-<name>.vl.json``, its picture as SVG and as PDF, and again after editing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version as installed
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from dsbench import caches
from dsbench.archive import ArchiveError, RunRecord
from dsbench.loading import UNLIMITED, lacking_addresses
from dsbench.read.draw import specs
from dsbench.read.draw.axes import Form
from dsbench.read.draw.vega import SCHEMA_URL, Spec
from dsbench.read.evaluation import Evaluation

_SUFFIX: Final = ".vl.json"


class DiagramError(ArchiveError):
    """A diagram that cannot be drawn: says which, why and what to do."""


def _converter() -> ModuleType:
    """The library that draws; late, as a run draws nothing. ``ArchiveError`` where it could not have its addresses, and
    would end the program."""
    if lacking := lacking_addresses(drawing=True):
        raise ArchiveError(lacking, UNLIMITED)
    import vl_convert

    return vl_convert


def diagrams(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> dict[str, bytes]:
    """File name to content for every diagram that has something to show: .vl.json, .svg and .pdf."""
    return files(specs(evaluation, run, form))


def sources(drawn: dict[str, Spec]) -> dict[str, str]:
    """File name to content of the .vl.json of specifications by name."""
    return {f"results-{name}{_SUFFIX}": source(spec) for name, spec in drawn.items()}


def files(drawn: dict[str, Spec]) -> dict[str, bytes]:
    """The same as .vl.json, .svg and .pdf."""
    found: dict[str, bytes] = {}
    for name, spec in drawn.items():
        found |= drawn_as(f"results-{name}", spec)
    return found


def drawn_as(stem: str, spec: Spec) -> dict[str, bytes]:
    """One specification as ``<stem>.vl.json``, .svg and .pdf."""
    return {stem + _SUFFIX: source(spec).encode(), **_pictures(stem, spec)}


def source(spec: Spec) -> str:
    """The specification as text to be edited: indented, one line for each row of data."""
    head = json.dumps({k: v for k, v in spec.items() if k != "datasets"}, indent=2, ensure_ascii=False, allow_nan=False)
    tables = []
    for name, rows in spec.get("datasets", {}).items():
        lines = ",\n".join("      " + json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        tables.append(f"    {json.dumps(name)}: [\n{lines}\n    ]" if rows else f"    {json.dumps(name)}: []")
    return head.removesuffix("\n}") + ',\n  "datasets": {\n' + ",\n".join(tables) + "\n  }\n}\n"


def _pictures(stem: str, spec: Spec) -> dict[str, bytes]:
    svg = picture(spec)
    if "<image" in svg:
        # The converter to PDF would fetch it, from wherever the specification says.
        raise DiagramError(f"{stem}{_SUFFIX} holds a picture, which might be loaded from elsewhere; take it out")
    # Converting the SVG again is quicker than laying the chart out a second time.
    return {stem + ".svg": svg.encode(), stem + ".pdf": _converter().svg_to_pdf(_SIZE.sub(_in_points, svg, count=1))}


_SIZE: Final = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def _in_points(size: re.Match[str]) -> str:
    """The converter takes a pixel for a point: a PDF is as large as its SVG, of which 96 pixels are an inch."""
    width, height = (float(value) * 72 / 96 for value in size.groups())
    return f'width="{width}" height="{height}"'


_UNDRAWN: Final = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""No pattern yet: that takes its time, and a run draws nothing."""


def picture(spec: Spec) -> str:
    """The SVG of a specification. Nothing is loaded from a file or a network that the specification may name."""
    return str(_converter().vegalite_to_svg(_drawable(spec), vl_version=version(spec), allowed_base_urls=[]))


def png(spec: Spec, width: int) -> bytes:
    """The picture of a specification, ``width`` pixels wide."""
    svg = picture(spec)
    if "<image" in svg:
        raise DiagramError("a diagram holds a picture, which might be loaded from elsewhere; take it out")
    drawn = re.search(r'<svg[^>]*? width="([\d.]+)"', svg)
    return bytes(_converter().svg_to_png(svg, scale=(width + 0.01) / float(drawn[1]) if drawn else 1.0))


def _drawable(value: Any) -> Any:
    """``value`` without control characters in its texts: XML has none, and the converter ends the process over one."""
    if isinstance(value, str):
        return re.sub(_UNDRAWN, "\ufffd", value)
    if isinstance(value, dict):
        return {_drawable(key): _drawable(inner) for key, inner in value.items()}
    return [_drawable(inner) for inner in value] if isinstance(value, list) else value


def version(spec: Spec) -> str:
    """The Vega-Lite release that ``spec`` names, such as ``6.4``; the newest where the converter has not that one."""
    return _had(_named(spec))


def _named(spec: Spec) -> str:
    named = re.search(r"/v(\d+\.\d+)", str(spec.get("$schema", "")))
    return named[1] if named else ""


def _had(release: str) -> str:
    known: list[str] = _converter().get_vegalite_versions()
    return release if release in known else max(known, key=lambda one: [int(part) for part in one.split(".")])


def replot(folder: Path) -> list[Path]:
    """Renders SVG and PDF again from the ``results-*.vl.json`` in ``folder``; gives the files written.

    Raises ``DiagramError``; diagrams before the faulty one are written.
    """
    return [path for source in _sources(folder) for path in _redraw(source)]


def edited(folder: Path) -> dict[str, Spec]:
    """Name of a diagram to its specification, as the files in ``folder`` have it. Raises ``DiagramError``."""
    return {source.name.removeprefix("results-").removesuffix(_SUFFIX): _read(source) for source in _sources(folder)}


def _sources(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DiagramError(f"{folder} is no folder; name the folder of the archive, unpacked from its .zip")
    sources = sorted(folder.glob(f"results-*{_SUFFIX}"))
    if not sources:
        raise DiagramError(f"no results-*{_SUFFIX} in {folder}; name the folder that a run left")
    return sources


def _read(source: Path) -> Spec:
    try:
        spec = json.loads(source.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DiagramError(f"{source.name} cannot be read: {error}; mend the JSON and plot again") from None
    if not isinstance(spec, dict):
        raise DiagramError(f"{source.name} holds no diagram; undo the last edit")
    return spec


def _redraw(source: Path) -> Iterable[Path]:
    spec = _read(source)
    try:
        drawn = _pictures(source.name.removesuffix(_SUFFIX), spec)
    except (ValueError, TypeError) as error:
        problem = f"{source.name} is no diagram that Vega-Lite can draw"
        raise DiagramError(f"{problem}: {_reason(error)}; undo the last edit") from None
    written = []
    for name, content in drawn.items():
        path = source.with_name(name)
        temporary = path.with_name(path.name + ".part")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, path)
        except OSError as error:
            raise DiagramError(f"cannot write {path}: {error.strerror}; make the folder writable") from error
        written.append(path)
    return written


def _reason(error: Exception) -> str:
    """What the converter says, without its traceback through JavaScript."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith("at ") and not line.endswith("failed:")]
    return said[0] if said else "no reason given"


_NOTICE: Final = "/* Vega, Vega-Lite, Vega-Embed: University of Washington Interactive Data Lab, BSD-3-Clause */\n"
_END: Final = "\n/* whole */\n"


def vega(spec: Spec) -> str:
    """The JavaScript that draws ``spec``, for the inside of a script element."""
    return _NOTICE + _bundle(_named(spec))


def keep_script() -> None:
    """Makes the script of all pages, where it is not kept yet. ``ArchiveError`` where it lacks memory."""
    _bundle(_named({"$schema": SCHEMA_URL}))


@cache
def _bundle(release: str) -> str:
    """Some 0.9 MB, of which the converter and the release decide every byte: made once, which takes seconds."""
    kept = caches.folder() / "scripts" / f"vega-lite-{release}-by-vl-convert-{installed('vl-convert-python')}.js"
    try:
        script = kept.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        script = ""
    if not script.endswith(_END):
        bundle = str(_converter().javascript_bundle("window.vegaEmbed = vegaEmbed;", _had(release)))
        script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + _END
        caches.keep(kept, script.encode())
    return script
