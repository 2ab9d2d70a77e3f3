"""The connection: to the first address that takes one, of those that are allowed, and cut when it must be."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator

from ...egress import Place
from ...errors import Failed


class Line:
    """The connection in use, which other threads may cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self.is_cut = False

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True
            if self._handle is not None:
                with contextlib.suppress(OSError):  # it has ended by itself
                    self._handle.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def in_use(self, connection: socket.socket) -> Iterator[None]:
        # A handle of our own: TLS takes the other over, and what is closed may be somebody else's by then.
        with connection.dup() as handle:
            with self._lock:
                if self.is_cut:
                    raise ConnectionAbortedError
                self._handle = handle
            try:
                yield
            finally:
                with self._lock:
                    self._handle = None


@contextlib.contextmanager
def connected(line: Line, place: Place, addresses: Iterable[str], timeout: float) -> Iterator[socket.socket]:
    """A connection to the first of the addresses that takes one, and to no other."""
    failure = OSError()
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as plain, line.in_use(plain):
            plain.settimeout(timeout)
            try:
                plain.connect((address, place.port))
            except OSError as error:
                failure = error
                continue
            with _secured(plain, place) as connection:
                yield connection
            return
    raise Failed(f"no connection to {place.netloc}: {told(failure)}")


def _secured(plain: socket.socket, place: Place) -> socket.socket:
    if place.scheme == "http":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=place.host.rstrip("."))


@contextlib.contextmanager
def alarm(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Have something done unless we are out of here in time."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def told(error: OSError) -> str:
    """What is wrong with a connection, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS cannot be spoken with the server ({error.reason or type(error).__name__})"
    if isinstance(error, TimeoutError):
        return "the server was silent for too long"
    return (error.strerror or type(error).__name__).lower()
