"""The database that a run is made against, and its URL without its passwords."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final
from urllib.parse import parse_qsl, quote, urlencode

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dsbench.redaction import redact, secrets_of

_OTHERWISE: Final = {"postgres": "postgresql", "pg": "postgresql", "sqlite3": "sqlite"}
"""Private products by what they are called as well."""


class Frozen(BaseModel):
    """Values that do not change, which refuse unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Target(Frozen):
    """The database addressed by a URL, with the settings of a private server where dsbench starts one.

    ``url`` may hold a password: use ``redacted`` for whatever is written or shown.
    """

    url: Annotated[str, Field(max_length=4096)] = "private:sqlite"
    settings: dict[str, str] = Field(default_factory=dict)
    """Server settings applied to a private server, by the server's own names."""
    version: str | None = None
    """Version of the private server that is wanted; ``None`` takes the newest that the system has: one that was
    unpacked beside it is taken only by its version."""
    directory: Path | None = None
    """Where a private server keeps its data; ``None`` is a new folder in the temporary directory."""

    @model_validator(mode="before")
    @classmethod
    def _private_in_one(cls, value: object) -> object:
        """``private:postgresql@18?work_mem=8MB`` is a URL, a version and settings in one word."""
        if not isinstance(value, dict) or not str(value.get("url", "")).startswith("private:"):
            return value
        head, _, query = str(value["url"]).partition("?")
        url, at, version = head.partition("@")
        product = url.removeprefix("private:")
        url = f"private:{_OTHERWISE.get(product, product)}"
        settings = dict(parse_qsl(query, keep_blank_values=True))
        if at and value.get("version") not in (None, version):
            raise ValueError(f"{value['url']} names one version, the setting version another: leave one of them out")
        given = value.get("settings") or {}
        merged = {**settings, **given} if isinstance(given, dict) else given
        found = {**value, "url": url, "version": version if at else value.get("version"), "settings": merged}
        if isinstance(merged, dict) and "directory" in merged:
            found |= {"settings": {k: v for k, v in merged.items() if k != "directory"}}
            found["directory"] = merged["directory"]
        return found

    @property
    def private(self) -> str | None:
        """Product of a private server (``postgresql`` …), ``None`` for a server of the user's."""
        return self.url.removeprefix("private:") if self.url.startswith("private:") else None

    @property
    def in_one(self) -> str:
        """URL, version, directory and settings in one word, as ``url`` takes it; of a private server only."""
        where = {} if self.directory is None else {"directory": str(self.directory)}
        query = urlencode({**where, **self.settings}, quote_via=quote, safe="/:,")
        return self.url + (f"@{self.version}" if self.version else "") + (f"?{query}" if query else "")

    @property
    def redacted(self) -> str:
        """The URL without its password, in the authority and in the query alike."""
        return redact(self.url)

    @property
    def secrets(self) -> list[str]:
        """The passwords of URL and settings, in all their spellings."""
        return secrets_of(self.url, self.settings)

    @field_validator("settings", mode="before")
    @classmethod
    def _settings_as_text(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {str(k): setting_text(v) for k, v in value.items()}


def setting_text(value: object) -> str:
    """A value of a configuration file as servers and workloads take it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
