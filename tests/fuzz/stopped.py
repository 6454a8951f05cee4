"""Commands that end where their work would begin: no server is started, nothing is loaded, nobody is called."""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest.mock import patch

import typer.main

from dsbench.measure import loaders as generator
from dsbench.measure.opening import explain_errors
from dsbench.spec import RunSpec

from . import bundles
from .sandbox import Accepted

_WORK = (
    "dsbench.servers.start", "dsbench.measure.keeping.check_target", "dsbench.measure.calibration.calibrate",
    "dsbench.check.doctor.findings", "dsbench.servers.installations", "dsbench.servers.variants",
    "dsbench.check.conformance.conform", "dsbench.cli.servers._conform_apart", "dsbench.servers.acquire.carry_out",
    "dsbench.measure.nodes.serving.serve", "dsbench.measure.nodes.serving._up", "dsbench.measure.nodes.bundle.issue",
    "dsbench.measure.nodes.dask_setup.try_port", "dsbench.measure.run.place.lock",
)  # fmt: skip
"""Where commands begin what is not tried here: servers, nodes, load, certificates."""


def stop_commands() -> None:
    """From now on every command of this process ends by ``Accepted`` where its work would begin, and paints nothing.

    The parser is made once, which takes longer than all that it parses.
    """
    bundles.samples()  # While certificates can be made.
    for name in _WORK:
        patch(name, side_effect=Accepted).start()
    patch("dsbench.measure.run.open_target", _parsed).start()
    patch("dsbench.read.draw.render._pictures", lambda _stem, _spec: {}).start()
    # The limit of this process would refuse every run before its input is read.
    patch("dsbench.read.draw.render.keep_script", lambda: None).start()
    patch("typer.main.get_command", cache(typer.main.get_command)).start()


def _parsed(spec: RunSpec, _tell: object = None) -> Any:
    """The core reads the URL; it connects only when it is asked something."""
    if spec.target.private is None:
        with explain_errors(spec.target.redacted):
            generator.TargetDatabase(spec.target.url).close()
    raise Accepted
