"""The server's entry: pages by Django, WebSockets by the consumers of `jobs`."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.settings")
pages = get_asgi_application()

from jobs.routing import websocket_urlpatterns  # noqa: E402  # needs the apps that the line above has loaded

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
