"""The JavaScript that draws a page's diagrams: Vega, Vega-Lite and Vega-Embed in one script, inside the page."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version as installed
from typing import Final

import vl_convert

from dsbench import caches
from dsbench.read.draw.render import version
from dsbench.read.draw.theme import Spec

_NOTICE: Final = "/* Vega, Vega-Lite, Vega-Embed: University of Washington Interactive Data Lab, BSD-3-Clause */\n"
_END: Final = "\n/* whole */\n"


def vega(spec: Spec) -> str:
    """The JavaScript that draws ``spec``, for the inside of a script element."""
    return _NOTICE + _bundle(version(spec))


@cache
def _bundle(release: str) -> str:
    """Some 0.9 MB, of which the converter and the release decide every byte: made once, which takes seconds."""
    kept = caches.folder() / "scripts" / f"vega-lite-{release}-by-vl-convert-{installed('vl-convert-python')}.js"
    try:
        script = kept.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        script = ""
    if not script.endswith(_END):
        bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", release))
        script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + _END
        caches.keep(kept, script.encode())
    return script
