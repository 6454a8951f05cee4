"""Who is let in: a browser of this machine that was given the printed address, and no page of another site."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ADDRESS: Final = "127.0.0.1"
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""NiceGUI compiles its templates in the page, hence eval; everything comes from this server."""
_HEADERS: Final = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
_ENTER: Final = b'<!doctype html><html lang="en"><meta http-equiv="refresh" content="0;url=/"><title>dsbench</title>'


class Door:
    """Stands before the application ``app`` and answers whoever is not let in."""

    def __init__(self, app: App, port: int, tell: Callable[[str], None]) -> None:
        """``tell`` is given the address with a token at first, and a new one whenever a token was used."""
        self.app, self._tell = app, tell
        self._cookie = f"dsbench-{port}"
        self._hosts = (f"{ADDRESS}:{port}", f"localhost:{port}")
        self._origins = tuple(f"http://{host}" for host in self._hosts)
        self._session = secrets.token_urlsafe(32)
        self._token = ""
        self._invite()

    def _invite(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._tell(f"http://{self._hosts[0]}/?token={self._token}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request or a websocket through, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = _Headers(scope["headers"])
        why = self._foreign(headers)
        if not why and self._brings_token(scope):
            self._invite()
            cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
            # A page that leads on, and no redirect: the cookie goes with what this site itself begins.
            await _answer(send, 200, _ENTER, b"text/html; charset=utf-8", cookie)
        elif why := why or self._stranger(headers):
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": why})
            else:
                await _answer(send, 403, f"dsbench: {why}\n".encode(), b"text/plain; charset=utf-8")
        else:
            await self.app(scope, receive, _guarded(send))

    def _foreign(self, headers: _Headers) -> str:
        """Why what was sent cannot come from a page of this server; empty where it can."""
        hosts, origins = headers.all(b"host"), headers.all(b"origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "this is not the host that you asked for"
        if any(origin not in self._origins for origin in origins):
            return "pages of other sites are not let in"
        return ""

    def _stranger(self, headers: _Headers) -> str:
        """Why whoever sends this is not let in; empty where they are."""
        if any(site not in ("same-origin", "none") for site in headers.all(b"sec-fetch-site")):
            return "pages of other sites are not let in"
        shown = [pair.strip().partition("=") for line in headers.all(b"cookie") for pair in line.split(";")]
        if any(name == self._cookie and _same(value, self._session) for name, _, value in shown):
            return ""
        return "open the address that dsbench web printed in the terminal; it works once"

    def _brings_token(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return len(given) == 1 and _same(given[0], self._token)


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


class _Headers:
    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = [(name.lower(), value.decode("latin-1")) for name, value in pairs]

    def all(self, wanted: bytes) -> list[str]:
        """Every value of a header."""
        return [value for name, value in self._pairs if name == wanted]


def _guarded(send: Send) -> Send:
    """``send``, which adds to each answer the headers that it lacks."""

    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            pairs = list(message.get("headers", ()))
            there = {name.lower() for name, _ in pairs}
            message = {**message, "headers": [*pairs, *(pair for pair in _HEADERS.items() if pair[0] not in there)]}
        await send(message)

    return guarded


async def _answer(send: Send, status: int, body: bytes, kind: bytes, cookie: str = "") -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *_HEADERS.items()]
    headers += [(b"set-cookie", cookie.encode())] if cookie else [(b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
