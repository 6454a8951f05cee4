"""What a run is asked to do: frozen values, parsed once, the same names everywhere.

Every setting has one name: in TOML, on the command line, in ``run.json`` and in the browser.
"""

from dsbench.redaction import redact, secrets_of
from dsbench.spec.building import PROFILE_NAMES, PROFILES, build, load_toml, recorded, refuse_unused
from dsbench.spec.files import examples, named_as, taking, with_file
from dsbench.spec.limits import Limits
from dsbench.spec.merging import Merged, dsi_seconds, known_workload, merged
from dsbench.spec.options import OPTIONS, Option, printed
from dsbench.spec.run import (
    DSI_SCALES,
    LEVELS,
    RunSpec,
    terminals_of,
)
from dsbench.spec.scripts import NAMES as SCRIPTS
from dsbench.spec.scripts import needs_pgbench
from dsbench.spec.target import Target
from dsbench.spec.words import NotHere, SpecError, parsed_toml, per_cent, plain

__all__ = [
    "DSI_SCALES",
    "LEVELS",
    "OPTIONS",
    "PROFILES",
    "PROFILE_NAMES",
    "SCRIPTS",
    "Limits",
    "Merged",
    "NotHere",
    "Option",
    "RunSpec",
    "SpecError",
    "Target",
    "build",
    "dsi_seconds",
    "examples",
    "known_workload",
    "load_toml",
    "merged",
    "named_as",
    "needs_pgbench",
    "parsed_toml",
    "per_cent",
    "plain",
    "printed",
    "recorded",
    "redact",
    "refuse_unused",
    "secrets_of",
    "taking",
    "terminals_of",
    "with_file",
]  # fmt: skip
