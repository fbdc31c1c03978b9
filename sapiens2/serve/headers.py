"""Headers of every answer: the browser fetches nothing from other hosts, whatever a page or a file asks for."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import MutableHeaders

_POLICY = '; '.join((
    "default-src 'self'",
    # Gradio's page has scripts and styles of its own inside, and makes functions from texts.
    "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:", "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:", "media-src 'self' data: blob:", "font-src 'self' data:",
    "connect-src 'self' data: blob:", "worker-src 'self' blob:", "object-src 'none'", "base-uri 'self'",
    "form-action 'self'", "frame-ancestors 'none'"))
_HEADERS = {'content-security-policy': _POLICY, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer'}


class SafeHeaders:
    """ASGI middleware."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        async def send_with_headers(message: dict[str, Any]) -> None:
            if message['type'] == 'http.response.start':
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope['type'] == 'http' else send)
