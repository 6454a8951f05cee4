"""Who makes the load of a run, and how remote nodes come to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dsbench.dataclass import dataclass
from dsbench.measure.loaders.loader import Loader, Local, Together
from dsbench.problem import Problem, how_to_install
from dsbench.spec import RunSpec

if TYPE_CHECKING:
    from dsbench.measure.nodes.bundle import Invitation


class ClusterError(Problem):
    """Why nodes cannot work together."""


@dataclass(frozen=True)
class Joining:
    """How remote nodes come to a run."""

    folder: Path = Path("cluster")
    """Holds their invitation; a new one is written when there is none."""
    patience_s: float = 600.0
    """How long the run waits for them."""
    dask: str = ""
    """Address of a Dask scheduler that runs already: its workers become the nodes, and nobody is invited."""
    dask_tls: str = ""
    """Files for it: authority, certificate and key, with commas between them."""
    invitation: Invitation | None = None
    """One that is in no folder."""
    meet: Callable[[], int] | None = None
    """Waits until another run on this machine is ready for its cycle, too, and gives the common start, in ns."""


def choose_loader(spec: RunSpec, joining: Joining) -> Loader:
    """The source of load that ``spec`` asks for. ``ClusterError`` when it cannot be had."""
    if not spec.nodes:
        return Local() if joining.meet is None else Together(joining.meet)
    try:
        # Late: Dask is an extra, and takes a second to import.
        from dsbench.measure.nodes.dask_setup import nodes_at
        from dsbench.measure.nodes.nodes import Nodes
    except ImportError as error:
        problem = f"nodes need a package that is not installed: {error}"
        raise ClusterError(problem, how_to_install(), usage=True) from None
    where = nodes_at(spec, joining.folder, joining.invitation, joining.dask, joining.dask_tls)
    return Nodes(where, spec, joining.patience_s)
