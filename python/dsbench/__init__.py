"""DSBENCH: what is a computer worth as a database server?"""

from __future__ import annotations

__version__ = "0.1.0"

# What pip knows this program by: the public index has another project called dsbench.
DISTRIBUTION = "dsbench-db"
