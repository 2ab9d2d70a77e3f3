"""An exchange: asking a server by a connection that is there, and hearing its answer out up to a limit."""

import contextlib
import http.client
import socket
from dataclasses import dataclass

from ...egress import Place
from ...errors import Failed
from .request import Request

_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    location: str | None
    content: bytes
    is_whole: bool


def exchange(connection: socket.socket, place: Place, request: Request, limit: int) -> Reply:
    """Ask, and hear the answer out up to a limit."""
    import urllib3

    speaker = http.client.HTTPConnection(place.host, place.port)
    speaker.auto_open = 0  # it has this connection, and makes no other
    speaker.sock = connection
    try:
        _ask(speaker, place, request)
        return _heard(speaker.getresponse(), request.method, limit)
    except urllib3.exceptions.ReadTimeoutError:
        raise TimeoutError from None
    except (http.client.HTTPException, urllib3.exceptions.HTTPError, ValueError) as error:
        # By its name alone: what it says may repeat what was sent.
        raise Failed(f"its answer broke off or is no HTTP ({type(error).__name__})") from None
    finally:
        speaker.close()


def _ask(speaker: http.client.HTTPConnection, place: Place, request: Request) -> None:
    speaker.putrequest(request.method, place.target, skip_host=True, skip_accept_encoding=True)
    for name, value in (("Host", place.netloc), ("User-Agent", "shardwright"), ("Connection", "close")):
        speaker.putheader(name, value)
    for header in request.headers:
        speaker.putheader(header.name, header.value)
    if request.data is not None:
        speaker.putheader("Content-Length", str(len(request.data)))
    elif request.method in ("POST", "PUT", "PATCH"):
        speaker.putheader("Content-Length", "0")  # some servers refuse those without
    with contextlib.suppress(BrokenPipeError):  # it may have answered before it heard all
        speaker.endheaders(request.data)


def _heard(answer: http.client.HTTPResponse, method: str, limit: int) -> Reply:
    import urllib3

    reader = urllib3.HTTPResponse(
        body=answer,
        headers=urllib3.HTTPHeaderDict(answer.headers.items()),
        status=answer.status,
        preload_content=False,
        decode_content=False,
        original_response=answer,
        request_method=method,
    )
    content = b""
    with contextlib.closing(reader):
        # To the end, for only there it is told whether it came too early.
        while len(content) <= limit and (more := reader.read(_BLOCK)):
            content += more
    return Reply(answer.status, answer.headers["Location"], content[:limit], len(content) <= limit)
