"""Remote nodes: machines that make load together, as workers of Dask.

Read ``nodes`` first (what a run sees), then ``node`` (what each machine does) and ``rules``.
"""

from dsbench.measure.nodes.errors import ClusterError

__all__ = ["ClusterError"]
