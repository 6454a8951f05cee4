"""``dsbench doctor``: what can run here, and what is missing."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

EPILOG = "Example: dsbench doctor --json"


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what can run here, what is missing, and what would spoil figures."""
    from dsbench.check import doctor  # Late: whoever asks for help needs none of it.

    findings = doctor.findings()
    if as_json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        print(f"{'ok  ' if finding.ok else 'look'}  {finding.name:<{width}}  {finding.found}")
        if finding.remedy:
            print(f"      {'':<{width}}  hint: {finding.remedy}")
