"""Posting: a JSON object goes to a URL that a setting holds, and the answer comes back.

Certificates are checked, redirects not followed, nothing is tried twice, and neither a slow nor a talkative
server holds us up; `reach` says where it may be. What goes wrong is told by the name of the setting, never by
its value: such a URL is a secret, as a whole or in its path, and the errors of HTTP libraries quote it.
"""

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .. import egress
from ..clock import Clock
from . import reach, values
from .alert import Alert
from .handler import Undelivered
from .properties import Property
from .settings import Settings

if TYPE_CHECKING:
    import urllib3

CONNECT, READ = 3000, 5000  # milliseconds, as ElasticJob's

#: As much of an answer as we look at, in bytes.
LONGEST_ANSWER = 64 * 1024


def properties(key: str) -> tuple[Property, ...]:
    """What can be said about posting to the URL under this key."""
    name = key.partition(".")[0]
    return (
        Property(key, needed=True, fault_in=values.url_fault, place=True),
        Property(f"{name}.connectTimeoutMilliseconds", fault_in=values.number_fault),
        Property(f"{name}.readTimeoutMilliseconds", fault_in=values.number_fault),
    )


def post(
    settings: Settings, key: str, body: Mapping[str, object], *, query: str = "", token: str = ""
) -> bytes:
    """Post it, and give back what was answered with a status of 2xx; anything else was not delivered.

    `query` goes behind the URL, after whatever is there; `token` into the header that is made for it.
    """
    url, name = settings.url(key), key.partition(".")[0]
    if query:
        url += ("&" if "?" in url else "?") + query
    connect = settings.number(f"{name}.connectTimeoutMilliseconds", CONNECT) / 1000
    read = settings.number(f"{name}.readTimeoutMilliseconds", READ) / 1000
    sent = json.dumps(body, ensure_ascii=False).encode(errors="replace")
    addresses = reach.addresses(settings, key, lambda: egress.read(url))
    status, answer, failure = _exchange(url, addresses, sent, token, connect, read, settings.clock)
    if failure:
        raise Undelivered(f"the server in {key} {failure}")
    if not 200 <= status < 300:
        elsewhere = ", and redirects are not followed" if 300 <= status < 400 else ""
        raise Undelivered(f"the server in {key} answered with status {status}{elsewhere}")
    return answer


def fitted(alert: Alert, most: int) -> str:
    """As much of its text as has room in so many bytes of JSON, where a quote or a line end takes two."""
    text = alert.text(most=most)
    while (size := len(json.dumps(text, ensure_ascii=False).encode())) > most:
        whole = len(text.encode())
        text = alert.text(most=min(whole * most // size, whole * 9 // 10))
    return text


def accepted(settings: Settings, key: str, answer: bytes, *names: tuple[str, str]) -> None:
    """Raise unless an answer says in its JSON that its error code is 0. The names are those of the code and
    of the message that goes with it; of several pairs, the first that is there counts."""
    told = _object(answer)
    for code, message in names:
        if told.get(code) == 0:
            return
        if isinstance(told.get(code), int):
            why = " ".join(settings.hide(str(told.get(message, ""))).split())[:200]
            raise Undelivered(f"the server in {key} refused it: {code} {told[code]}, {why!r}")
    raise Undelivered(f"the server in {key} answered without an {names[0][0]}: is it the right one?")


def _object(answer: bytes) -> dict[str, object]:
    try:
        told = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _exchange(
    url: str, addresses: Sequence[str], body: bytes, token: str, connect: float, read: float, clock: Clock
) -> tuple[int, bytes, str]:
    """The status, the answer, and what went wrong, which is returned: raised, it would carry along the error
    it came from, and that the URL."""
    import urllib3  # not before it is needed: few jobs have a handler that posts

    place = urllib3.util.parse_url(url)
    headers = {"Content-Type": "application/json; charset=utf-8", "Accept-Encoding": "identity"}
    if addresses:  # else the connection says it, which is made to the name
        headers["Host"] = place.netloc or ""
    if token:
        headers["Authorization"] = f"Bearer {token}"
    elif place.auth:
        headers |= urllib3.util.make_headers(basic_auth=unquote(place.auth))
    try:
        with contextlib.closing(_connected(place, addresses, connect)) as connection:
            connection.timeout = read
            with _hanging_up(connection, read):
                connection.request(
                    "POST", place.request_uri, body=body, headers=headers, preload_content=False
                )
                response = connection.getresponse()
            return response.status, _beginning(response, clock, read), ""
    except (TimeoutError, urllib3.exceptions.ReadTimeoutError):
        return 0, b"", f"did not answer within {read:g} s"
    except (ssl.SSLError, urllib3.exceptions.SSLError):
        return 0, b"", "has a certificate that is not trusted, or speaks no TLS"
    except urllib3.exceptions.NameResolutionError:
        return 0, b"", "has a name that nobody knows"
    except urllib3.exceptions.NewConnectionError:
        return 0, b"", "cannot be connected to"
    except urllib3.exceptions.ConnectTimeoutError:  # which the two above are said to be as well
        return 0, b"", f"could not be reached within {connect:g} s"
    except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
        return 0, b"", f"could not be talked to ({type(error).__name__})"


def _connected(
    place: "urllib3.util.Url", addresses: Sequence[str], timeout: float
) -> "urllib3.connection.HTTPConnection":
    """A connection to the first of the addresses that takes one, or to the host by its name."""
    import urllib3

    host = (place.host or "").strip("[]")
    *others, last = addresses or (host,)
    for address in others:
        with contextlib.suppress(
            urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError
        ):
            return _connection(place, address, host, timeout)
    return _connection(place, last, host, timeout)


def _connection(
    place: "urllib3.util.Url", address: str, host: str, timeout: float
) -> "urllib3.connection.HTTPConnection":
    import urllib3

    # Without one it would be looked for behind the last colon, which an address may have as well.
    port = place.port or urllib3.connection.port_by_scheme[place.scheme or "http"]
    # A connection of our own and not urllib3's pools: those log the path and the query of every request.
    connection = (
        urllib3.connection.HTTPSConnection(address, port, timeout=timeout, server_hostname=host)
        if place.scheme == "https"
        else urllib3.connection.HTTPConnection(address, port, timeout=timeout)
    )
    try:
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _hanging_up(connection: "urllib3.connection.HTTPConnection", seconds: float) -> Iterator[None]:
    """Hang up unless the answer begins in time: who says a letter now and then is never silent for long."""
    late = threading.Event()

    def hang_up() -> None:
        late.set()
        if connection.sock is not None:
            with contextlib.suppress(OSError):  # it has ended by itself
                # Not TLS's own way of it, which would change what the other thread reads from.
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if late.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError


def _beginning(response: "urllib3.BaseHTTPResponse", clock: Clock, within: float) -> bytes:
    """As much of the answer as comes in time, and no more than we want to know."""
    answer, end = b"", clock.boot() + within
    while len(answer) < LONGEST_ANSWER and clock.boot() < end:
        piece = response.read1(LONGEST_ANSWER, decode_content=False)
        if not piece:
            break
        answer += piece
    return answer[:LONGEST_ANSWER]
