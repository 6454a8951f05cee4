"""Who is let in to the pages, and who is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dsbench.web.door import Door

HOST = "127.0.0.1:8080"


class Told:
    """A door with an application behind it that says yes, and the addresses that were told."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.door = Door(self._yes, 8080, self.addresses.append)

    async def _yes(self, scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"yes"})

    def ask(self, path: str = "/", kind: str = "http", method: str = "GET", **headers: str) -> tuple[Any, dict[str, str]]:
        """What is answered first, status or type of message, and its headers."""
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": f"{kind}.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
        pairs = [(name.encode(), value.encode()) for name, value in given.items()]
        path, _, query = path.partition("?")
        scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": pairs}
        asyncio.run(self.door(scope, receive, send))
        first = sent[0]
        found = {name.decode(): value.decode() for name, value in first.get("headers", ())}
        return first.get("status", first["type"]), found

    @property
    def token(self) -> str:
        return self.addresses[-1].removeprefix(f"http://{HOST}")

    def cookie(self) -> str:
        status, headers = self.ask(self.token)
        assert status == 200
        assert headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
        return headers["set-cookie"].partition(";")[0]


def test_the_token_works_once_and_the_cookie_from_then_on() -> None:
    told = Told()
    first = told.token
    cookie = told.cookie()
    assert told.ask(first)[0] == 403
    assert len(set(told.addresses)) == 2
    status, headers = told.ask("/archives", cookie=f"other=1; {cookie}")
    assert status == 200
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert told.ask("/socket", "websocket", cookie=cookie, origin=f"http://{HOST}")[0] == "websocket.accept"


@pytest.mark.parametrize(
    "wrong",
    [
        {"cookie": ""},
        {"cookie": "dsbench-8080=guess"},
        {"host": "evil.example:8080"},
        {"host": "127.0.0.1:9999"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
    ids=str,
)
def test_strangers_and_other_sites_are_refused(wrong: dict[str, str]) -> None:
    told = Told()
    headers = {"cookie": told.cookie(), **wrong}
    assert told.ask("/", **headers)[0] == 403
    assert told.ask("/", method="POST", **headers)[0] == 403
    assert told.ask("/socket", "websocket", **headers)[0] == "websocket.close"


def test_a_token_lets_no_other_site_in() -> None:
    told = Told()
    assert told.ask(told.token, host="evil.example:8080")[0] == 403
    assert told.ask(told.token, origin="http://evil.example")[0] == 403
    assert told.ask(told.token, method="POST")[0] == 403
    assert told.ask(f"/report{told.token[1:]}")[0] == 403
    assert told.ask(told.token)[0] == 200
