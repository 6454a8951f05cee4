"""Remote nodes: machines that make load together.

Nothing here imports Dask before a cluster is wanted. Read ``nodes`` first (what a run sees), then ``coordinator``
and ``link`` (the two ends of the wire), ``frames`` and ``door`` (what may come over it), ``turn`` and ``roster`` (the
rules between the ends), ``node`` (the load).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsbench.cluster.errors import ClusterError, how_to_install
from dsbench.spec import RunSpec

if TYPE_CHECKING:
    from dsbench.cluster.bundle import Invitation
    from dsbench.cluster.nodes import Nodes

__all__ = ["ClusterError", "how_to_install", "invited"]


def invited(folder: Path, spec: RunSpec) -> tuple[Invitation, Nodes]:
    """The invitation in ``folder``, a new one where there is none, and the nodes that will come by it.

    Raises ``ImportError`` when the extra ``cluster`` is not installed.
    """
    from dsbench.cluster.bundle import SUFFIX, invitation, invite
    from dsbench.cluster.coordinator import try_port
    from dsbench.cluster.nodes import Nodes

    fresh = not any(folder.glob(f"*{SUFFIX}"))
    found = invite(folder, spec.nodes) if fresh else invitation(folder)
    if len(found.bundles) < spec.nodes:
        raise ClusterError(
            f"{folder} invites {len(found.bundles)} nodes, the run wants {spec.nodes}",
            "make a new invitation: dsbench cluster invite --nodes N --out DIR",
            usage=True,
        )
    try_port(found.coordinator)
    return found, Nodes(found, spec)
