"""Hooks of ``make docs``: the pages beside docs/ become pages of the site, and links between the two keep working."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
BESIDE = {"README.md": "index.md", **{f"{name}.md": f"{name}.md" for name in
          ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY", "THIRD-PARTY")}}  # fmt: skip
"""Each page of the root and its name in the site."""


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages of ``BESIDE``."""
    for page, name in BESIDE.items():
        text = (ROOT / page).read_text()
        text = re.sub(r"\]\(docs/", "](", text)
        text = re.sub(r"\]\(((?:\.\./)*)README\.md", r"](\1index.md", text)
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of docs/ to the root lead to the page that stands for it."""
    return re.sub(r"\]\(\.\./([A-Z-]+\.md)", lambda m: f"]({BESIDE.get(m[1], m[1])}", markdown)
