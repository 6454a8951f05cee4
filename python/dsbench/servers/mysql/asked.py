"""A private MariaDB server of several, which is asked and told by its client program."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from dsbench.servers.errors import ServerError
from dsbench.servers.mysql.binaries import MySQLBinaries
from dsbench.servers.mysql.instance import MySQLInstance
from dsbench.servers.process import run
from dsbench.servers.replication import Member, Replicated

CLIENT: Final = "mariadb"
LOOPBACK: Final = "127.0.0.1"


def program(found: MySQLBinaries, name: str) -> Path | None:
    """A tool of this version: of an unpacked one beside its server, else on the path."""
    beside = found.server.parent / name if found.base is not None else None
    path = beside if beside is not None and beside.is_file() else shutil.which(name)
    return Path(path) if path is not None else None


class AskedMember(MySQLInstance, Member):
    """One of the servers."""

    UNLOGGED: str
    """What keeps statements of a session to this server."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._launched[1]

    def _accounts(self, password: str) -> str:
        # Each makes its own: from the others they would come twice.
        return f"{self.UNLOGGED};\n{super()._accounts(password)}"

    def _keep_command(self) -> None:
        """It starts again as it is now."""
        self._called = self._command(self.port)

    def sql(self, statements: str, *, names: bool = False) -> str:
        """What the server answers to its superuser, a line for each row; with the ``names`` of columns before them.
        ``ServerError`` where it cannot."""
        file = self._folders[0].path / "ask.sql"
        # A statement may hold a password, which the list of processes must not show.
        self._write_secret(file, statements)
        client = program(self._binaries, CLIENT)
        assert client is not None
        where = ["--no-defaults", f"--socket={self._socket}", "--user=root", "--batch", "--skip-ssl"]
        where += [] if names else ["--skip-column-names"]
        try:
            done = run([client, *where, f"--execute=source {file}"], self._user, self._env)
        finally:
            file.unlink(missing_ok=True)
        if done.returncode:
            said = done.stdout.replace(self._password, "***").strip()
            raise ServerError(f"{self.version} refused what its group needs: {said}", "see its log")
        return done.stdout.strip()


class MariaDBGroup(Replicated, AskedMember):
    """Several of them, which clients reach by one URL."""

    @property
    def following(self) -> dict[str, str]:
        members = enumerate(self._members, start=1)
        return {f"server {number}": self._url_of(one) for number, one in members if one is not self._leader}

    def _name_all(self) -> None:
        """The URL has all of them, in their order."""
        self.url = self._url_of(*self._members)

    def _url_of(self, *members: Member) -> str:
        places = ",".join(f"{LOOPBACK}:{one.port}" for one in members if isinstance(one, AskedMember))
        return re.sub(r"@[^/]*/", f"@{places}/", self.url)
