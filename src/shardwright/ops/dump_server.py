"""The dump port: `dump@<job>` and a line end in, the job's dump out, as ElasticJob's port does it.

It is off unless somebody starts it, and answers on this machine only: on a loopback address, or on a Unix
socket that only its user can open. Whoever asks has a deadline for the question and for taking the answer,
one at a time; what is no such question is closed without an answer.

It has a thread of its own, and no registry: `answer` is called in that thread. A registry belongs to one
thread, so `from_url` opens another for each question.
"""

import contextlib
import ipaddress
import logging
import os
import re
import select
import selectors
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import OperationError, ShardwrightError
from ..registry import connect
from . import dump

log = logging.getLogger("shardwright.dump")

#: What is asked, and how long that may be.
QUESTION = re.compile(rb"dump@([^\r\n@]+)\r?\n")
LONGEST = 1024

_LAST_PORT = 65535

#: For how many seconds an answer of the registry is waited for.
PATIENCE = 5.0

#: For how many seconds nobody is let in after that could not be done.
PAUSE = 1.0

Answer = Callable[[str], Iterable[str]]


def from_url(url: str) -> Answer:
    """Answer from the registry at an address."""

    def answer(job: str) -> Iterable[str]:
        with connect(url, patience=PATIENCE) as registry:
            return dump.of(registry, job)

    return answer


@dataclass(frozen=True, slots=True)
class _Open:
    """What there is while it listens: the way in, a bell to have it stop, and who answers."""

    door: socket.socket
    bell: socket.socket
    rung: socket.socket
    thread: threading.Thread


class DumpServer:
    """A dump port, from `start` to `close`. An address is a host and a port (0: any that is free), or the
    path of a Unix socket."""

    def __init__(
        self,
        answer: Answer,
        *,
        address: tuple[str, int] | str = ("127.0.0.1", 9888),
        deadline: float = 5.0,
        largest: int = 16 << 20,
    ) -> None:
        if not isinstance(address, str):
            check_loopback(address[0])
        self._answer, self._deadline, self._largest = answer, deadline, largest
        self._asked = address
        self._open: _Open | None = None

    @property
    def address(self) -> tuple[str, int] | str:
        """Where it listens, once it does."""
        if self._open is None or isinstance(self._asked, str):
            return self._asked
        host, port = self._open.door.getsockname()[:2]
        return host, port

    def start(self) -> None:
        if self._open is not None:
            raise OperationError(f"the dump port is open already, on {self.address}")
        try:
            door = _unix(self._asked) if isinstance(self._asked, str) else _tcp(self._asked)
        except (OSError, OverflowError) as error:  # the latter: there is no such port
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise OperationError(f"the dump port cannot listen on {self._asked}: {why}") from None
        bell, rung = socket.socketpair()
        thread = threading.Thread(target=self._serve, args=(door, rung), name="shardwright-dump", daemon=True)
        self._open = _Open(door, bell, rung, thread)
        log.info("answers dump@<job> on %s", self.address)
        thread.start()

    def close(self) -> None:
        """Listen no longer; an answer that is under way ends by its deadline."""
        if self._open is None:
            return
        self._open.bell.send(b".")
        self._open.thread.join(self._deadline * 2)
        for each in (self._open.door, self._open.bell, self._open.rung):
            each.close()
        if isinstance(self._asked, str):
            Path(self._asked).unlink(missing_ok=True)
        self._open = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- its thread ---------------------------------------------------------------------------------

    def _serve(self, door: socket.socket, rung: socket.socket) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(door, selectors.EVENT_READ)
            waiting.register(rung, selectors.EVENT_READ)
            while all(key.fileobj is not rung for key, _ in waiting.select()):
                client = _let_in(door, rung)
                if client is not None:
                    with client:
                        self._attend(client)

    def _attend(self, client: socket.socket) -> None:
        """One question and its answer, within the deadline."""
        end = time.monotonic() + self._deadline
        try:
            found = QUESTION.fullmatch(_question(client, end))
            if found is None:
                return
            job = found[1].decode()
            _send(client, self._said(job), end)
        except (TimeoutError, ConnectionError, UnicodeDecodeError) as error:
            log.info("a client of the dump port was given up on: %s", error)
        except ShardwrightError as error:
            log.info("a question to the dump port was not answered: %s", error)
        except Exception:
            # It is not ours what fails here, and the next one who asks must be answered all the same.
            log.exception("a question to the dump port could not be answered")

    def _said(self, job: str) -> bytes:
        said = "".join(f"{line}\n" for line in self._answer(job)).encode(errors="replace")
        if len(said) <= self._largest:
            return said
        return said[: self._largest].rpartition(b"\n")[0] + b"\n... (cut: larger than the port may tell)\n"


def check_loopback(host: str) -> None:
    """Refuse to listen where others than this machine could ask: nobody is asked who they are."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise OperationError(
            f"the dump port listens on this machine only: on 127.0.0.1, ::1 or a Unix socket, not on {host!r}"
        )


def _tcp(address: tuple[str, int]) -> socket.socket:
    if not 0 <= address[1] <= _LAST_PORT:
        raise OverflowError(f"a port must be 0-{_LAST_PORT}")
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    server = socket.create_server(address, family=family)
    server.setblocking(False)
    return server


def _unix(path: str) -> socket.socket:
    """A socket that only its user can open; one that a dead server left is replaced."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode) and not _answers(path):
            Path(path).unlink()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind(path)
        Path(path).chmod(0o600)  # nobody gets in before it listens
        server.listen()
    except OSError:
        server.close()
        raise
    server.setblocking(False)
    return server


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def _let_in(door: socket.socket, rung: socket.socket) -> socket.socket | None:
    """Whoever knocks, unless they went away again, or there is no file left for another socket."""
    try:
        return door.accept()[0]
    except (BlockingIOError, ConnectionError):
        return None
    except OSError as error:
        log.warning("the dump port lets nobody in for now: %s", error)
        select.select([rung], [], [], PAUSE)  # they knock all the while
        return None


def _question(client: socket.socket, end: float) -> bytes:
    """What is asked: all up to the end of the line, or as much as anybody may ask."""
    asked = b""
    while not asked.endswith(b"\n") and len(asked) < LONGEST:
        client.settimeout(_left(end))
        more = client.recv(LONGEST - len(asked))
        if not more:
            break
        asked += more
    return asked


def _send(client: socket.socket, said: bytes, end: float) -> None:
    rest = memoryview(said)
    while rest:
        client.settimeout(_left(end))
        rest = rest[client.send(rest) :]


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("the deadline is over")
    return left
