"""WebSockets: the files of a run, and hints that a run's row has changed.

    /ws/runs/<run id>/   client {"follow": {"events.jsonl": 0, "logs/train.0.log": 1234}}
                         client {"unfollow": ["logs/train.0.log"]}
                         server {"file": name, "start": n, "end": m, "text": "..."}
    /ws/jobs/            server {"run_id": id}

A consumer pulls from the feed at the pace of its own socket and queues nothing. A run that does not
exist and one that is another team's are closed alike.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple, cast

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from jobs.access import visible_run
from jobs.announce import RUNS_GROUP
from jobs.feed import Feed, following
from jobs.models import Run
from jobs.run_files import is_followed

log = logging.getLogger(__name__)
NOT_FOUND = 4404
NOT_SIGNED_IN = 4401
BAD_REQUEST = 4400
MOST_FILES = 64


@database_sync_to_async
def find_run(user: User | AnonymousUser, run_id: int) -> Run | None:
    return visible_run(user, run_id)


@database_sync_to_async
def still_allowed(user_id: int | None, session_key: str | None, run_id: int) -> bool:
    """Ask again, with fresh rows: the person is active, signed in and in the team."""
    if session_key is not None and not _session_exists(session_key):
        return False
    user = None if user_id is None else User.objects.filter(pk=user_id, is_active=True).first()
    return user is not None and visible_run(user, run_id) is not None


def _session_exists(session_key: str) -> bool:
    from importlib import import_module

    store = import_module(settings.SESSION_ENGINE).SessionStore
    return bool(store().exists(session_key))


class RunConsumer(AsyncWebsocketConsumer):
    """Sends the followed files of one run from the offsets that the browser names."""

    channel_layer_alias = None  # type: ignore[assignment]  # channels: None means without a layer
    check_seconds = 30.0
    """How often the right to look is checked again."""

    async def connect(self) -> None:
        self.cursors: dict[str, int] = {}
        self.asked = asyncio.Event()
        self.work: list[asyncio.Task[None]] = []
        run_id = int(self.scope["url_route"]["kwargs"]["run_id"])
        run = await find_run(_person(self), run_id)
        await self.accept()  # before a close: only then does the browser learn the code
        if run is None:
            await self.close(code=NOT_FOUND)
            return
        self.work = [
            asyncio.create_task(self._send_news(run)),
            asyncio.create_task(self._watch_rights(run_id)),
        ]

    async def disconnect(self, code: int) -> None:
        for work in self.work:
            work.cancel()
        for outcome in await asyncio.gather(*self.work, return_exceptions=True):
            # OSError: the browser went away while we were sending.
            if isinstance(outcome, Exception) and not isinstance(outcome, OSError):
                log.error("a socket of run %s failed", self.scope["path"], exc_info=outcome)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.work:
            return
        wish = _parse(text_data or "")
        if wish is None or len(self.cursors | wish.follow) > MOST_FILES:
            await self.close(code=BAD_REQUEST)
            return
        for name in wish.unfollow:
            self.cursors.pop(name, None)
        self.cursors.update(wish.follow)
        self.asked.set()

    async def _send_news(self, run: Run) -> None:
        async with following(run.folder.path, settings.REDIS_URL) as feed:
            while True:
                news = feed.news
                self.asked.clear()
                if not await self._send_one_round(feed):
                    await _first_of(news, self.asked)

    async def _send_one_round(self, feed: Feed) -> bool:
        """At most one frame of each file, so that a busy log does not hold up the events."""
        sent = False
        for name in list(self.cursors):
            await feed.follow(name)
            cursor = self.cursors.get(name)
            frame = None if cursor is None else await feed.take(name, cursor)
            if frame is None:
                continue
            await self.send(text_data=frame.text)
            sent = True
            if self.cursors.get(name) == cursor:  # else the browser has asked for another place meanwhile
                self.cursors[name] = frame.end
        return sent

    async def _watch_rights(self, run_id: int) -> None:
        session = self.scope.get("session")
        key = getattr(session, "session_key", None)
        while True:
            await asyncio.sleep(self.check_seconds)
            if not await still_allowed(_person(self).pk, key, run_id):
                self.work[0].cancel()
                await self.close(code=NOT_FOUND)
                return


class JobsConsumer(AsyncWebsocketConsumer):
    """Tells the history page which run has changed; only of the person's own teams."""

    groups = [RUNS_GROUP]

    async def connect(self) -> None:
        await self.accept()
        if not _person(self).is_authenticated:
            await self.close(code=NOT_SIGNED_IN)

    async def run_changed(self, event: dict[str, Any]) -> None:
        if await find_run(_person(self), event["run_id"]) is not None:
            await self.send(text_data=orjson.dumps({"run_id": event["run_id"]}).decode())


class NowhereConsumer(AsyncWebsocketConsumer):
    """Answers at every other address: there is nothing here."""

    channel_layer_alias = None  # type: ignore[assignment]  # channels: None means without a layer

    async def connect(self) -> None:
        await self.accept()  # before a close: only then does the browser learn the code
        await self.close(code=NOT_FOUND)


def _person(consumer: AsyncWebsocketConsumer) -> User | AnonymousUser:
    """Who is at the other end; set by AuthMiddlewareStack."""
    return cast("User | AnonymousUser", consumer.scope["user"])


class Wish(NamedTuple):
    """What a browser asks for."""

    follow: dict[str, int]
    unfollow: list[str]


def _parse(text: str) -> Wish | None:
    """None for a message that makes no sense or names a file that may not be read."""
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict):
        return None
    follow, unfollow = message.get("follow", {}), message.get("unfollow", [])
    if not isinstance(follow, dict) or not isinstance(unfollow, list):
        return None
    good = all(is_followed(name) and type(since) is int and 0 <= since < 2**53 for name, since in follow.items())
    return Wish(follow, [str(name) for name in unfollow]) if good else None


async def _first_of(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
