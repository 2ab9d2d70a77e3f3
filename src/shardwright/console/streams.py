"""Streams of events, as browsers follow them (`text/event-stream`)."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from .live import Listener

#: After so many seconds without an event something is sent all the same, so that nobody on the way gives up;
#: as an event, so that the page can tell a console that has nothing to say from one that is gone.
PING = 15.0
STILL_HERE = "event: still\ndata: {}\n\n"

#: How often to see whether the session still lasts, in seconds.
GLANCE = 2.0


class EventStream(StreamingResponse):
    """The events that somebody listens to, until the session ends, they leave, or the console stops."""

    media_type = "text/event-stream"

    def __init__(
        self,
        content: Any = None,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        listener: Listener | None = None,
        lasts: Callable[[], bool] = lambda: True,
    ) -> None:
        self._listener = listener
        # Proxies are not to keep events back, nor anybody to keep them.
        told = {"X-Accel-Buffering": "no", "Cache-Control": "no-store", **(headers or {})}
        super().__init__(_events(listener, lasts) if listener else content, status_code, told)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._listener is not None:
                self._listener.close()


async def _events(listener: Listener, lasts: Callable[[], bool]) -> AsyncIterator[str]:
    silent = 0.0
    yield ": hello\n\n"
    while lasts():
        events = await listener.next(GLANCE)
        if events is None:
            return
        silent = 0.0 if events else silent + GLANCE
        for event in events:
            yield f"event: {event.name}\ndata: {event.data}\n\n"
        if silent >= PING:
            silent = 0.0
            yield STILL_HERE
