"""The server's entry: pages by Django, WebSockets by the consumers of `jobs`.

The server must not take addresses from headers by itself (`uvicorn --no-proxy-headers`): which proxies
are believed is said by TRAINYARD_TRUSTED_PROXIES, for every server alike.
"""

import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.settings")
pages = get_asgi_application()

from jobs.routing import websocket_urlpatterns  # noqa: E402  # needs the apps that the line above has loaded
from webui.origin import SameOrigin  # noqa: E402


def believing(proxies: list[str], application: Any) -> Any:
    """The application, told the visitor's address and scheme where one of these proxies has passed them on."""
    return ProxyHeadersMiddleware(application, trusted_hosts=proxies) if proxies else application


application = believing(
    settings.TRUSTED_PROXIES,
    ProtocolTypeRouter(
        {
            "http": pages,
            "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        }
    ),
)
