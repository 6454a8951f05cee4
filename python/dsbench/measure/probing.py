"""Storage tools around the cycles of a scale, beside the data of the run."""

from __future__ import annotations

from pathlib import Path

from dsbench.measure.journal import Journal
from dsbench.spec import RunSpec
from dsbench.storage import probes
from dsbench.storage.claims import StorageError


class Probes:
    """Measures where the data of a run lie; a tool that fails is told, and the run goes on."""

    def __init__(self, spec: RunSpec, place: Path | None, journal: Journal) -> None:
        self._tools = probes.tools(spec.probes)
        self._place = place
        self._journal = journal
        if self._tools and place is None:
            words = "the storage tools were left out: only a private server tells a place beside its data"
            journal.warn("probes", words, "leave --probes out, or use private:PRODUCT")

    def measure(self, scale: int, stage: str, cycle: int, moment: str) -> None:
        """Runs the tools, "before" or "after" the cycles of a stage, of which ``cycle`` was the last made."""
        if not self._tools or self._place is None:
            return
        rows = []
        try:
            with probes.folder_in(self._place) as folder:
                for one in probes.measure(folder, self._tools):
                    rows.append({"scale": scale, "stage": stage, "cycle": cycle, "moment": moment, "tool": one.tool,
                                 "test": one.test, "unit": one.unit, "value": one.value})  # fmt: skip
        except (StorageError, OSError) as error:
            remedy = error.remedy if isinstance(error, StorageError) else "see the space and rights there"
            self._journal.warn("probes", f"{moment} the cycles: {error}", remedy, scale)
        part = f"scale-{scale:05d}_{len(self._journal.record.segments):03d}_{stage}_{moment}"
        self._journal.writer.rows("probes", part, rows)
