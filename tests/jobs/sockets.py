"""WebSockets of the whole application, with a real session, for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.test import Client

from webui.asgi import application


async def cookie_of(user: User | None) -> bytes:
    """The session cookie of somebody who has logged in; empty for a stranger."""
    if user is None:
        return b""
    client = Client()
    await sync_to_async(client.force_login)(user)
    return f"sessionid={client.cookies['sessionid'].value}".encode()


class Page(ApplicationCommunicator):
    """One end of a WebSocket (channels' own test class needs another server to be installed)."""

    connected = False

    def __init__(self, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        super().__init__(application, {"type": "websocket", "path": path, "headers": headers, "query_string": b""})

    async def connect(self) -> None:
        await self.send_input({"type": "websocket.connect"})
        self.connected = (await self.receive_output(timeout=10))["type"] == "websocket.accept"

    async def tell(self, text: str) -> None:
        await self.send_input({"type": "websocket.receive", "text": text})

    async def hear(self) -> dict[str, Any]:
        """The next message."""
        output = await self.receive_output(timeout=20)
        assert output["type"] == "websocket.send", output
        message: dict[str, Any] = json.loads(output["text"])
        return message

    async def leave(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(timeout=10)

    async def close_code(self) -> int:
        """The code that the server closes with; messages before it are skipped."""
        while True:
            output = await self.receive_output(timeout=10)
            if output["type"] == "websocket.close":
                code: int = output["code"]
                return code


@asynccontextmanager
async def socket(path: str, user: User | None, origin: bytes = b"http://localhost") -> AsyncIterator[Page]:
    page = Page(path, [(b"host", b"localhost"), (b"origin", origin), (b"cookie", await cookie_of(user))])
    await page.connect()
    try:
        yield page
    finally:
        await page.leave()


class Reader:
    """What the page's script does: cursors, and the bytes that have come so far."""

    def __init__(self, **cursors: int) -> None:
        self.cursors = dict(cursors)
        self.data: dict[str, bytearray] = {name: bytearray() for name in cursors}

    async def ask(self, page: Page) -> None:
        await page.tell(json.dumps({"follow": self.cursors}))

    async def take_one(self, page: Page) -> dict[str, Any]:
        message = await page.hear()
        name = message["file"]
        assert message["start"] == self.cursors[name], "a gap, or something that came twice"
        data = message["text"].encode()
        assert message["end"] - message["start"] == len(data)
        self.cursors[name] = message["end"]
        self.data[name] += data
        return message

    async def read(self, page: Page, name: str, until: int) -> bytes:
        async with asyncio.timeout(30):
            while self.cursors[name] < until:
                await self.take_one(page)
        return bytes(self.data[name])
