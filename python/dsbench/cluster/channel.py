"""One encrypted connection: TLS 1.3 with certificates at both ends, and frames of ``frames`` on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from dsbench.cluster import frames
from dsbench.cluster.bundle import Bundle
from dsbench.cluster.frames import HEAD, ProtocolError

_PIECE: Final = 64 * 1024
_SILENCE_S: Final = 15
"""How long a connection without any answer is held for alive, where the system can be told."""


def context(bundle: Bundle, side: Literal["server", "client"]) -> ssl.SSLContext:
    """TLS 1.3 with the bundle's certificate; the other end has to show one of the authority that the bundle trusts.

    ``ssl.SSLError`` or ``ValueError`` when the bundle's texts are no certificates.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if side == "server" else ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    # The authority signs for the members of one run alone: who the other end is says more than where it is.
    made.check_hostname, made.verify_mode = False, ssl.CERT_REQUIRED
    made.load_verify_locations(cadata=bundle.trusted)
    if side == "server":
        made.num_tickets = 0
    # Python reads keys from files only. This one is for its owner alone, and is gone at once.
    with tempfile.TemporaryDirectory(prefix="dsbench-") as folder:
        path = Path(folder) / "pem"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(bundle.certificate + bundle.key)
        made.load_cert_chain(path)
    return made


class Channel:
    """Frames over TLS over a connected socket, which it owns.

    One task reads. Whoever sends may be cancelled: its frame goes out as a whole all the same.
    """

    def __init__(self, connected: socket.socket, security: ssl.SSLContext, side: Literal["server", "client"]) -> None:
        connected.setblocking(False)
        _watch(connected)
        self._socket = connected
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = security.wrap_bio(self._coming, self._going, server_side=side == "server")
        self._sending = asyncio.Lock()

    async def handshake(self) -> None:
        """Agrees on keys. ``ssl.SSLError`` when one end does not know the other, ``OSError`` when it hangs up."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    await self._flush()  # The other end is told why.
                raise
            else:
                await self._flush()
                return

    @property
    def peer(self) -> str:
        """The name in the certificate at the other end."""
        subject: Any = (self._tls.getpeercert() or {}).get("subject", ())
        return next((value for part in subject for name, value in part if name == "commonName"), "")

    async def read(self, longest: int) -> tuple[dict[str, Any], int]:
        """(message, bytes of data that follow). ``ProtocolError`` for a message of more than ``longest`` bytes."""
        size, more = HEAD.unpack(await self._exactly(HEAD.size))
        if size > longest:
            raise ProtocolError(f"it sent a message of {size} bytes, more than {longest}")
        return frames.unpack(await self._exactly(size)), more

    async def read_data(self, size: int) -> bytes:
        """``size`` bytes of data."""
        return await self._exactly(size)

    async def send(self, message: Mapping[str, Any], data: bytes = b"") -> None:
        """Sends a frame. ``OSError`` when the connection has ended."""
        packed = frames.pack(message)
        whole = HEAD.pack(len(packed), len(data)) + packed
        sending = asyncio.ensure_future(self._send(whole, data))
        sending.add_done_callback(_seen)
        await asyncio.shield(sending)

    async def _send(self, head: bytes, data: bytes) -> None:
        async with self._sending:
            for piece in (head, *(data[at : at + _PIECE] for at in range(0, len(data), _PIECE))):
                self._tls.write(piece)
                await self._drain()

    def abort(self) -> None:
        """Ends the connection for both ends; who reads or sends here gets an ``OSError``."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Gives the socket back. Only for the task that reads, when it reads no more."""
        self.abort()
        self._socket.close()

    async def _exactly(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            try:
                piece = self._tls.read(size - len(found))
            except ssl.SSLWantReadError:
                await self._fill()
                continue
            except ssl.SSLZeroReturnError:
                piece = b""
            if not piece:
                raise ConnectionResetError("the other end hung up")
            found += piece
        return bytes(found)

    async def _fill(self) -> None:
        data = await asyncio.get_running_loop().sock_recv(self._socket, _PIECE)
        if not data:
            raise ConnectionResetError("the other end hung up")
        self._coming.write(data)

    async def _flush(self) -> None:
        async with self._sending:
            await self._drain()

    async def _drain(self) -> None:
        if self._going.pending:
            await asyncio.get_running_loop().sock_sendall(self._socket, self._going.read())


def _seen(sending: asyncio.Future[None]) -> None:
    """Whoever waited for it may have gone."""
    if not sending.cancelled():
        sending.exception()


def _watch(connected: socket.socket) -> None:
    """Small messages go at once, and a silent end is noticed."""
    with contextlib.suppress(OSError):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 5)):
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_S * 1000)
