"""``python -m dsbench``."""

from __future__ import annotations

from dsbench.cli import main

main()
