"""What this release is called."""

from typing import Final

VERSION: Final = "0.1.0"
DISTRIBUTION: Final = "dsbench-db"
"""What pip knows this program by: the public index has another project called dsbench."""
