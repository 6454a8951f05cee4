"""The application behind the door: pages, their style, and reports."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from nicegui import ui
from starlette.requests import Request
from starlette.responses import Response

from dsbench.archive import ArchiveError
from dsbench.spec import SpecError
from dsbench.web import frame, parts, reports
from dsbench.web.house import House
from dsbench.web.pages import PAGES, Page


def application(house: House) -> FastAPI:
    """All that is served over ``house``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_route("/style.css", lambda _request: Response(frame.style(), media_type="text/css"))
    reports.add(app, house)
    ways = [(one.title, one.path) for one in PAGES if one.title]
    for one in PAGES:
        ui.page(one.path, title=f"{one.heading} – dsbench")(_shown(one, house, ways))
    ui.run_with(
        app, title="dsbench", dark=None, language="en-US", tailwind=False, binding_refresh_interval=None,
        show_welcome_message=False, reconnect_timeout=10, message_history_length=100, favicon=_ICON,
        gzip_middleware_factory=None,
    )  # fmt: skip
    return app


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#005a9c"/>'
    '<path d="M3 12 6 7l3 2 4-6" fill="none" stroke="#fff" stroke-width="2"/></svg>'
)


def _shown(one: Page, house: House, ways: list[tuple[str, str]]) -> Callable[[Request], None]:
    def shown(request: Request) -> None:
        asked = request.query_params
        with frame.framed(house, one.heading, one.path, ways):
            try:
                one.build(house, asked)
            except (ArchiveError, SpecError) as error:
                parts.problem(str(error), error.remedy)

    return shown
