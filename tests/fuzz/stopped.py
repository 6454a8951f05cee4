"""Commands that end where their work would begin: no server is started, nothing is loaded, nobody is called."""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest.mock import patch

import typer.main

from dsbench import generator
from dsbench.runner.opening import told
from dsbench.spec import RunSpec

from . import bundles
from .sandbox import Accepted

_WORK = (
    "dsbench.servers.start", "dsbench.runner.check_target", "dsbench.cli.calibrate.calibrate",
    "dsbench.doctor.findings", "dsbench.servers.installations", "dsbench.servers.variants",
    "dsbench.conformance.conform", "dsbench.cli.servers._conform_apart", "dsbench.servers.acquire.carry_out",
    "dsbench.cluster.serving.serve", "dsbench.cluster.launch._up", "dsbench.cluster.bundle.issue",
    "dsbench.cluster.dask_setup.try_port", "dsbench.runner.ladder.place.lock",
)  # fmt: skip
"""Where commands begin what is not tried here: servers, nodes, load, certificates."""


def stop_commands() -> None:
    """From now on every command of this process ends by ``Accepted`` where its work would begin, and paints nothing.

    The parser is made once, which takes longer than all that it parses.
    """
    bundles.samples()  # While certificates can be made.
    for name in _WORK:
        patch(name, side_effect=Accepted).start()
    patch("dsbench.runner.ladder.opened", _parsed).start()
    patch("dsbench.report.render._pictures", lambda _stem, _spec: {}).start()
    # The limit of this process would refuse every run before its input is read.
    patch("dsbench.report.render.try_memory", lambda: None).start()
    patch("typer.main.get_command", cache(typer.main.get_command)).start()


def _parsed(spec: RunSpec, _tell: object = None) -> Any:
    """The core reads the URL; it connects only when it is asked something."""
    if spec.target.private is None:
        with told(spec.target.redacted):
            generator.Target(spec.target.url).close()
    raise Accepted
