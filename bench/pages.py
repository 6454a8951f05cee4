"""``python -m bench.pages REPORT…``: the size of pages, and Chromium's CPU time until the first picture is drawn.

CPU time and no wall time, as others may use the machine: of all threads of the process that shows the page, from /proc.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

CHROMIUM = "/usr/bin/chromium"
_DRAWN = "#figure-hero svg.marks"
_SPIN = "{const end = performance.now() + 1500; while (performance.now() < end);}"


def main(reports: list[str]) -> None:
    """Prints a line for each."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for report in map(Path, reports):
            taken = measure(browser, report.resolve())
            size = report.stat().st_size / 1e6
            print(f"{report}: {size:.2f} MB, {taken:.2f} s of CPU until its first picture is drawn")
        browser.close()


def measure(browser: Any, report: Path) -> float:
    """Seconds of CPU time of the process that shows ``report``: the one that a busy script makes busy at last."""
    session, page = browser.new_browser_cdp_session(), browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(300_000)
    before = _look(session)
    page.goto(report.as_uri(), wait_until="commit")
    page.locator(_DRAWN).wait_for()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    drawn = _look(session)
    page.evaluate(_SPIN)
    after = _look(session)
    shows = max(after, key=lambda process: after[process] - drawn.get(process, 0.0))
    page.close()
    return drawn[shows] - before.get(shows, 0.0)


def _look(session: Any) -> dict[int, float]:
    """CPU seconds of each process that shows pages."""
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return {one["id"]: _cpu_s(one["id"]) for one in found if one["type"] == "renderer"}


def _cpu_s(process: int) -> float:
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


if __name__ == "__main__":
    main(sys.argv[1:])
