"""The address of a database as drivers want it, out of the URL of a target."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from dsbench.redaction import redact_words, secrets_of


@dataclass(frozen=True)
class Address:
    """The parts of a target's URL, decoded; what is not said is empty, the port 0."""

    url: str
    user: str
    password: str
    host: str
    port: int
    path: str
    """Behind the first slash after the host: the database's name, or a file."""
    query: dict[str, str]

    @classmethod
    def of(cls, url: str) -> Address:
        """That of ``url``, which dsbench's own client has taken before."""
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        path = unquote(parts.path.removeprefix("/"))
        return cls(url, user, password, unquote(parts.hostname or ""), parts.port or 0, path, query)

    def without_password(self, words: str) -> str:
        """``words`` of a driver, which may quote what it was given."""
        secrets = (*secrets_of(self.url), *(os.environ.get(name, "") for name in _SECRETS))
        return redact_words(words, filter(None, secrets))


_SECRETS = ("PGPASSWORD", "MYSQL_PWD", "ISC_PASSWORD")
