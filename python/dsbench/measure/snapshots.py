"""What the database says of itself around the cycles of each load stage: before the first and after the last."""

from __future__ import annotations

from dsbench.measure.journal import Journal
from dsbench.measure.monitors import Statistics


class Snapshots:
    """Writes the statistics of one scale into the archive; ``statistics`` is ``None`` where the engine has none."""

    def __init__(self, journal: Journal, statistics: Statistics | None, scale: int, segment: int) -> None:
        self._journal = journal
        self._statistics = statistics
        self._scale = scale
        self._segment = segment
        self._begun: set[str] = set()

    def before(self, stage: str) -> None:
        """Called when a cycle of ``stage`` is about to start, after the cleaning: the first call counts."""
        if stage not in self._begun:
            self._begun.add(stage)
            self._take("before", stage)

    def after(self, stage: str) -> None:
        """Called after the last cycle of ``stage``, before another stage, or the check, reads whatever there is."""
        self._take("after", stage)

    def _take(self, moment: str, stage: str) -> None:
        if self._statistics is None:
            return
        key = {"scale": self._scale, "stage": stage, "segment": self._segment, "moment": moment}
        try:
            found = self._statistics.take()
        except Exception as error:  # no right, a version without the view: the run does not fail for it
            words = f"the database's statistics cannot be read: {error}"
            self._journal.warn("statistics", words, "see whether the login may read them; the rates are not touched")
            self._statistics = None
            return
        rows = [{**key, "object": of, "metric": name, "unit": unit, "value": value} for of, name, unit, value in found]
        self._journal.writer.rows("statistics", f"scale-{self._scale:05d}_{self._segment:03d}_{stage}_{moment}", rows)
