"""A network between the clients and one private server, which can be cut: a namespace of its own (Linux)."""

from __future__ import annotations

import ctypes
import os
import random
import secrets
import shutil
import subprocess
import threading
from contextlib import suppress
from typing import Final

from dsbench.servers.errors import ServerError

_NEWNET: Final = 0x40000000
"""CLONE_NEWNET of sched.h."""
_REMEDY: Final = "run dsbench as root, in a container with --privileged; or omit partition"
_NET: Final = "198.18"
"""198.18.0.0/15 is for measurements (RFC 2544): no host has such an address."""
_THERE: Final = "eth0"
"""The server's end."""


class Network:
    """Two addresses with a cable between them: that of this machine, and that of the server.

    Nothing but this object and the processes of the server hold it: it goes with them, however they end.
    """

    def __init__(self) -> None:
        """Raises ``ServerError`` where this user may not make a network."""
        self.name = f"dsb{os.getpid():06x}{secrets.token_hex(2)}"
        """Of our end, with the number of this process."""
        self._end = -1
        first = 4 * random.randrange(2**14)
        base = f"{_NET}.{first >> 8}."
        self._ours, self.address = (f"{base}{(first & 255) + number}" for number in (1, 2))
        tools = [name for name in ("ip", "nsenter") if shutil.which(name) is None]
        if tools:
            raise ServerError(f"a network needs {' and '.join(tools)}", "install iproute2 and util-linux")
        try:
            self._make()
        except (OSError, subprocess.SubprocessError) as error:
            self.close()
            said = getattr(error, "stderr", "") or getattr(error, "strerror", "") or str(error)
            raise ServerError(f"a network of the server's own cannot be made: {said.strip()}", _REMEDY) from None
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        failed: list[OSError] = []

        def begin() -> None:
            # A namespace belongs to a thread: this one ends, and the file keeps it.
            try:
                _checked(ctypes.CDLL(None, use_errno=True).unshare(_NEWNET))
                self._end = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=begin, name="dsbench-network")
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        # Neighbours that are known are not asked for: what is cut off is silent, and no error.
        ours, theirs = (f"02:00:{secrets.token_hex(1)}:{secrets.token_hex(1)}:00:0{number}" for number in (1, 2))
        self._neighbours = (ours, theirs)
        there = ["type", "veth", "peer", "name", _THERE, "address", theirs, "netns", self._file]
        _ip("link", "add", self.name, "address", ours, *there)
        _ip("address", "add", f"{self._ours}/30", "dev", self.name)
        _ip("link", "set", self.name, "up")
        with suppress(subprocess.SubprocessError):  # Sockets of a server that was killed would stay for minutes.
            _run("nsenter", f"--net={self._file}", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_orphan_retries")
        self._at_server("address", "add", f"{self.address}/30", "dev", _THERE)
        self._at_server("link", "set", "lo", "up")
        self.mend()
        _ip("neigh", "replace", self.address, "lladdr", theirs, "dev", self.name, "nud", "permanent")

    @property
    def _file(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self._end}"

    def _at_server(self, *words: str) -> None:
        _run("nsenter", f"--net={self._file}", "ip", *words)

    def enter(self) -> None:
        """This thread, and what it starts, is at the server's end from now on. Raises ``OSError``."""
        _checked(ctypes.CDLL(None, use_errno=True).setns(self._end, _NEWNET))

    def cut(self) -> None:
        """Nothing goes through any more, and neither end is told. Raises ``OSError`` and ``SubprocessError``."""
        self._at_server("link", "set", _THERE, "down")

    def mend(self) -> None:
        """It is as before."""
        self._at_server("link", "set", _THERE, "up")
        neighbour = ("lladdr", self._neighbours[0], "dev", _THERE, "nud", "permanent")
        self._at_server("neigh", "replace", self._ours, *neighbour)

    def close(self) -> None:
        """Takes it away; harmless when repeated."""
        if self._end >= 0:
            end, self._end = self._end, -1
            try:
                with suppress(OSError, subprocess.SubprocessError):
                    _ip("link", "delete", self.name)
            finally:
                os.close(end)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=30)


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
