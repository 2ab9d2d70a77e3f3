"""A redirect: what to ask where a server sends us, and what another server is not told."""

import re
from dataclasses import replace
from urllib.parse import urljoin

from ... import egress
from ...errors import Failed
from . import hidden
from .exchange import Reply
from .request import Request

_FOLLOWED = (301, 302, 303, 307, 308)


def followed(request: Request, reply: Reply) -> Request:
    """What to ask where the server sent us. Another origin is told no secret."""
    if reply.location is None or reply.status not in _FOLLOWED:
        raise Failed(f"it answered {reply.status}, and does not say where to go")
    url = _target(request.url, reply.location, reply.status)
    old, new = egress.read(request.url), egress.read(url)
    if reply.status == 303 or (reply.status in (301, 302) and request.method == "POST"):
        request = _without_data(request)
    if new.origin == old.origin:
        return replace(request, url=url)
    if request.data is not None or (old.scheme, new.scheme) == ("https", "http"):
        lost = "with the data" if request.data is not None else "without encryption"
        raise Failed(f"it answered {reply.status}{pointing(reply, request)}, where we do not go {lost}")
    return replace(request, url=url, headers=tuple(each for each in request.headers if not each.is_private))


def pointing(reply: Reply, request: Request) -> str:
    """Where a server sends us, as people may see it; nothing if it does not say."""
    if reply.location is None:
        return ""
    return f" and points to {hidden.shown_url(request.hidden.masked(reply.location))}"


def _target(url: str, location: str, status: int) -> str:
    try:
        if not location.isascii() or re.search(r"[\x00-\x20\x7f\\]", location):
            raise ValueError("its address is written as none should be")
        target = urljoin(url, location)
        egress.read(target)
    except ValueError as error:
        raise Failed(f"it answered {status}, and where it points cannot be called: {error}") from None
    return target


def _without_data(request: Request) -> Request:
    """As browsers do it: the answer to what was sent is fetched from there."""
    kept = tuple(each for each in request.headers if each.name != "Content-Type")
    method = "HEAD" if request.method == "HEAD" else "GET"
    return replace(request, method=method, data=None, headers=kept)
