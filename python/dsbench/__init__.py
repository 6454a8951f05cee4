"""DSBENCH: what is a computer worth as a database server?"""

from __future__ import annotations

__version__ = "0.1.0"
