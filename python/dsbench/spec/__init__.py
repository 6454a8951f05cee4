"""What a run is asked to do: frozen values, parsed once, the same names everywhere.

Every setting has one name: in TOML, on the command line, in ``run.json`` and in the browser.

- ``run``: the settings, each a field with what there is to say of it (``about``); ``checks`` of several together;
- ``options``: the table of them that the command line, the browser and the docs are made from;
- ``target``: the database and its URL; ``clients``, ``storage``, ``limits``: what their options say;
- ``files``: workload files and scripts; ``profiles``: sets of values; ``trust``: what a stranger's file may
  ask for; ``tuning``: the settings of servers that it may;
- ``building``: from what was said to a specification; ``words``: errors in plain words.
"""

from dsbench.redaction import redact, secrets_of
from dsbench.spec.building import Merged, build, known_workload, load_toml, merged, recorded, refuse_unused
from dsbench.spec.files import (
    SCRIPTS,
    Script,
    examples,
    joined_scripts,
    named_as,
    needs_pgbench,
    parted_scripts,
    taking,
    with_file,
    with_scripts,
)
from dsbench.spec.limits import Limits
from dsbench.spec.options import OPTIONS, Option, printed
from dsbench.spec.profiles import PROFILE_NAMES, PROFILES, dsi_seconds
from dsbench.spec.run import (
    DSI_SCALES,
    ISOLATIONS,
    LEVELS,
    RunSpec,
    terminals_of,
)
from dsbench.spec.target import Target
from dsbench.spec.words import NotHere, SpecError, parsed_toml, per_cent, plain, share

__all__ = [
    "DSI_SCALES",
    "ISOLATIONS",
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
    "Script",
    "SpecError",
    "Target",
    "build",
    "dsi_seconds",
    "examples",
    "joined_scripts",
    "known_workload",
    "load_toml",
    "merged",
    "named_as",
    "needs_pgbench",
    "parsed_toml",
    "parted_scripts",
    "per_cent",
    "plain",
    "printed",
    "recorded",
    "redact",
    "refuse_unused",
    "secrets_of",
    "share",
    "taking",
    "terminals_of",
    "with_file",
    "with_scripts",
]  # fmt: skip
