"""What import-linter cannot see: the compiled core has two importers."""

from __future__ import annotations

import ast
from pathlib import Path

import dsbench


def imports(file: Path) -> set[str]:
    """Names that a module imports, absolute and relative, with their last parts."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module or ''}.{alias.name}" for alias in node.names} | {node.module or ""}
    return found


def test_only_the_generator_and_the_workloads_import_the_core() -> None:
    package = Path(dsbench.__file__).parent
    importers = {
        file.relative_to(package).parts[0]
        for file in package.rglob("*.py")
        if any(name.split(".")[-1] == "_core" for name in imports(file))
    }
    assert importers == {"generator", "workloads.py"}
