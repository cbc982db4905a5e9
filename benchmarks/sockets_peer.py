"""The usual way of Channels, to compare with: each message goes through a group of the channel layer.

An ASGI application with one consumer; whoever connects joins the group. Started by sockets.py.
"""

from __future__ import annotations

import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.settings")
django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path  # noqa: E402

GROUP = "bench"


class GroupConsumer(AsyncWebsocketConsumer):
    groups = [GROUP]

    async def log_text(self, event: dict[str, Any]) -> None:
        await self.send(text_data=event["text"])


_consumer: Any = GroupConsumer.as_asgi()
application = ProtocolTypeRouter({"websocket": URLRouter([path("ws/", _consumer)])})
