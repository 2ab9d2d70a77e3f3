"""The connection: kazoo's, with what it lacks. The only module that knows kazoo.

kazoo keeps the TCP connection, the handshake, authentication and the search for a server; none of its
recipes, watches or futures is used. What is ours:

    one reader      takes all the frames a single `recv` brought. kazoo reads each frame in two calls that
                    both wait for the GIL: with busy user threads a round trip takes seconds that way
    one writer      sends everything that waits in a single `send`
    a lease clock   kazoo never says LOST while it is cut off, and hides the time-out the server granted
    one watch       for a whole subtree, which kazoo 2.11 cannot ask for
    one session     a request is sent in the session it was meant for, or not at all

`Client` is the owner's to call; the rest runs on the connection's own thread and leaves word with a `Post`.
Answers are taken apart by whoever owns the registry.
"""

import contextlib
import logging
import select
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.connection import CLOSE_RESPONSE, PING_XID, WATCH_XID, ConnectionHandler
from kazoo.protocol.serialization import Close, CloseInstance, Connect, int_struct
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from ...clock import Clock
from ...logs import Log
from . import wire

# Of its own level, because kazoo writes credentials to its log when asked for every detail.
log = Log("shardwright.registry.zookeeper.connection")
log.setLevel(logging.INFO)

#: As much as is read, or written, in one call.
_CHUNK = 1 << 18

_START = int_struct.size

#: How often in a row a server may close the connection in place of an answer before we wonder why.
_SHUT_OUT = 5


@dataclass(frozen=True, slots=True)
class Access:
    """Who we are to the server, and how the way there is guarded. Never printed with its secrets."""

    user: str | None = None
    password: str | None = None
    sasl: bool = False
    tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"<Access user={self.user!r} sasl={self.sasl} tls={self.tls is not None}>"


class Post(Protocol):
    """Where the connection leaves word. Called on its thread, but for `changed`, which notes of its call in
    the owner's; must not wait for anything."""

    def connected(self, session: str, timeout: float, sent: float) -> None: ...
    def suspended(self) -> None: ...
    def expired(self) -> None: ...
    def heard(self, sent: float) -> None: ...
    def take(self, notes: Iterable[Callable[[], None]]) -> None: ...
    def changed(self, event: wire.Event) -> None: ...
    def broke(self, error: BaseException) -> None: ...


class Call:
    """One request under way: what to send, and whom to tell how it ended."""

    __slots__ = ("answered", "body", "failed", "kind", "received", "sent", "session")

    def __init__(
        self,
        kind: int,
        body: bytes,
        answered: "Callable[[Call, bytes], None]",
        failed: "Callable[[Call, str], None]",
    ) -> None:
        self.kind = kind
        self.body = body
        self.answered = answered
        self.failed = failed
        self.session = ""
        self.sent: float | None = None
        """The boot clock when it went out; None for as long as it certainly has not."""
        self.received = 0.0


class Client:
    """One session after another with a ZooKeeper ensemble; the first may be one that another began."""

    def __init__(
        self,
        hosts: str,
        access: Access,
        timeout: float,
        clock: Clock,
        post: Post,
        *,
        session: tuple[int, bytes] | None = None,
    ) -> None:
        self.trouble = ""
        """Why the last attempt to connect failed, in words."""
        self.refused = False
        """Whether the server does not accept our credentials."""
        self.ended = False
        """Whether the server has said that it ended our session when we asked it to."""
        self.acl = wire.CREATOR_ALL if access.user is not None else wire.WORLD_ALL
        self._kazoo = _Kazoo(hosts, access, timeout, clock, post, self, session)

    def start(self) -> None:
        self._kazoo.start_async()

    def send(self, session: str, calls: Iterable[Call]) -> None:
        """Send these in this session, in this order, or tell each that it was not sent."""
        for call in calls:
            call.session = session
            self._kazoo._queue.append((call, None))
        self._kazoo.wake()

    def drop(self) -> None:
        """Break the connection and make it anew: the way to find out how things stand."""
        if self._kazoo.connected:
            self._kazoo._queue.append((_DROP, None))
            self._kazoo.wake()

    def stop(self, within: float) -> None:
        """End the session, and the thread with it. A server that does not answer is not waited for."""
        kazoo, connection = self._kazoo, self._kazoo._connection
        if kazoo._stopped.is_set():
            return
        kazoo._stopped.set()
        kazoo._queue.append((CloseInstance, None))
        kazoo.wake()
        if not connection.connection_stopped.wait(within):
            connection.break_off()
        if not connection.connection_stopped.wait(within):
            log.warning("the server does not answer; the session is left to end by itself")
            return
        connection.stop()
        kazoo.close()

    def identity(self) -> tuple[int, bytes] | None:
        """What another connection needs to take this session over, or to end it. A secret."""
        found: tuple[int, bytes] | None = self._kazoo.client_id
        return found


_DROP = object()


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]
    """kazoo's threads without the two we have no use for."""

    def __init__(self, patience: float, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self._patience = patience
        self._tls = tls

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False

    def create_connection(self, address: Any, *, timeout: float, hostname: str, **options: Any) -> Any:
        # A host that swallows everything must not use up the time in which the others could be asked.
        connection = socket.create_connection(address, min(timeout, self._patience))
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # kazoo's own TLS leaves the socket open when the handshake fails.
            return self._tls.wrap_socket(connection, server_hostname=hostname) if self._tls else connection
        except BaseException:
            connection.close()
            raise

    def select(self, reads: Any, writes: Any, errors: Any, timeout: float | None = None) -> Any:
        """kazoo makes a new epoll for every call; a poll needs none."""
        poll = select.poll()
        for each in reads:
            poll.register(each, select.POLLIN)
        for each in writes:
            poll.register(each, select.POLLOUT)
        ready = {fd for fd, _ in poll.poll(None if timeout is None else max(0.0, timeout) * 1000.0)}
        return [x for x in reads if x.fileno() in ready], [x for x in writes if x.fileno() in ready], []


class _Kazoo(KazooClient):  # type: ignore[misc]
    """kazoo's client with our connection in it."""

    def __init__(
        self,
        hosts: str,
        access: Access,
        timeout: float,
        clock: Clock,
        post: Post,
        client: Client,
        session: tuple[int, bytes] | None,
    ) -> None:
        count = hosts.count(",") + 1
        digest = access.user is not None and not access.sasl
        super().__init__(
            hosts=hosts,
            timeout=timeout,
            client_id=session,
            handler=_Handler(max(timeout / count, 0.5), access.tls),
            auth_data={("digest", f"{access.user}:{access.password}")} if digest else None,
            sasl_options=_sasl_options(access),
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=1.0),
            logger=log,
        )
        self.post = post
        self._connection = _Connection(self, self._conn_retry.copy(), _sasl_options(access), clock, client)
        self._awake = False

    def wake(self) -> None:
        """Have the connection's thread look at the queue, by one byte however much was put there."""
        if self._awake:
            return
        self._awake = True
        pipe = self._connection._write_sock
        if pipe is not None:
            pipe.send(b"\0")

    def _session_callback(self, state: str) -> None:
        was_live = self._live.is_set()
        if state == KeeperState.EXPIRED_SESSION:
            self.post.expired()
        elif was_live and state not in (KeeperState.CONNECTED, KeeperState.CONNECTED_RO):
            self.post.suspended()
        super()._session_callback(state)

    def _notify_pending(self, state: str) -> None:
        """The connection is gone: tell those whose answer will not come, and those never sent."""
        failed: list[Call] = []
        for waiting in (self._pending, self._queue):
            while waiting:  # others may add to it meanwhile
                call = waiting.popleft()[0]
                if isinstance(call, Call):
                    failed.append(call)
        if failed:
            why = "the connection broke before the answer came"
            self.post.take([_failure(call, why) for call in failed])


class _Connection(ConnectionHandler):  # type: ignore[misc]
    """kazoo's connection with our reader, our writer and our clock."""

    def __init__(self, kazoo: _Kazoo, retry: KazooRetry, sasl: Any, clock: Clock, client: Client) -> None:
        super().__init__(kazoo, retry, logger=log, sasl_options=sasl)
        self._clock = clock
        self._told = client
        self._received = bytearray()
        self._ping_sent = 0.0
        self._granted = (0.0, 0.0)
        self._unanswered = 0
        self._shut_out = 0
        self._highest = 0
        self._is_first = True
        self._spoke_of_older = False
        self._xid = 0

    def zk_loop(self) -> None:
        """The thread. Should it end although nobody stopped it, nobody would ever connect again: first of all
        the owner is told."""
        fault: BaseException = RuntimeError("the connection was given up")
        try:
            super().zk_loop()
        except BaseException as error:
            fault = error
        if not self.client._stopped.is_set():
            self.client.post.broke(fault)
            log.critical("the thread of the connection has ended", exc_info=fault)

    def _connect_attempt(self, *args: Any) -> Any:
        """One server, from connecting to losing it. kazoo's thread would end over what it does not expect,
        and nobody would ever connect again."""
        try:
            return super()._connect_attempt(*args)
        except Exception as unexpected:
            log.error("the connection broke over something unexpected", exc_info=unexpected)
            self._told.trouble = repr(unexpected)
            if self.client._state != KeeperState.CONNECTING:
                self.client._session_callback(KeeperState.CONNECTING)
            return None

    def break_off(self) -> None:
        """End whatever the thread waits for. Called by another thread."""
        connection = self._socket
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _expand_client_hosts(self) -> Any:
        try:
            found = super()._expand_client_hosts()
        except Exception as error:
            # kazoo expects names that are not known, and no resolver that has no descriptor left.
            self._told.trouble = f"the servers' names cannot be looked up: {error!r}"
            log.warning("%s", self._told.trouble)
            return []
        if not found:
            self._told.trouble = "no server of that name is known"
        return found

    def _connect(self, *args: Any) -> Any:
        """Connect and authenticate; only then is the session ours to use (kazoo says CONNECTED sooner)."""
        self._received.clear()
        shut_out = self._shut_out
        try:
            timeouts = super()._connect(*args)
        except AuthFailedError as refused:
            self._told.refused = True
            self._told.trouble = "the server does not accept the credentials"
            self.client.post.take([])  # nothing to take: it only wakes the owner, who waits to be let in
            # kazoo would give up for good; credentials can be mended on the server's side.
            raise ConnectionDropped(self._told.trouble) from refused
        except (ConnectionDropped, KazooTimeoutError, OSError) as failed:
            self._told.trouble = str(failed).removeprefix("socket connection error: ")
            if self._shut_out > max(shut_out, _SHUT_OUT - 1) and self._highest:
                # Nor does a server talk to anybody while it is in no majority.
                self._speak_of_older("the servers close each connection at once; if they have a majority, ")
            raise
        self._told.refused, self._told.trouble, self._is_first = False, "", True
        timeout, sent = self._granted
        self.client.post.connected(wire.session_text(self.client._session_id), timeout, sent)
        return timeouts

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        if not isinstance(request, Connect):
            return super()._invoke(timeout, request, xid)
        # A server that just starts may take a connection and never answer. Who waits for it as long as the
        # session lasts has none afterwards; who never waits that long never gets in where all is slow.
        self._unanswered += 1
        sent = self._clock.boot()
        try:
            answer = super()._invoke(timeout * min(self._unanswered / 3, 1.0), request, xid)
        except ConnectionDropped:
            self._shut_out += 1
            raise
        self._unanswered = self._shut_out = 0
        self._granted = (answer[0].time_out / 1000.0, sent)
        return answer

    def _send_ping(self, connect_timeout: float) -> None:
        self._ping_sent = self._clock.boot()
        super()._send_ping(connect_timeout)

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        """Send all that waits in as few calls as possible."""
        client = self.client
        with contextlib.suppress(BlockingIOError):
            self._read_sock.recv(4096)
        client._awake = False
        while client._queue:
            frames: list[bytes] = []
            size = 0
            unsent: list[Callable[[], None]] = []
            session = wire.session_text(client._session_id)
            now = self._clock.boot()
            while client._queue and size < _CHUNK:
                request, asked = client._queue.popleft()
                if request is _DROP:
                    raise ConnectionDropped("asked to connect anew")
                if isinstance(request, Call) and request.session != session:
                    unsent.append(_failure(request, "the session ended before it was sent"))
                    continue
                self._xid = (self._xid % 2147483647) + 1
                if isinstance(request, Call):
                    request.sent = now
                    body = int_struct.pack(request.kind) + request.body
                else:
                    body = int_struct.pack(request.type) + bytes(request.serialize())
                frames.append(int_struct.pack(len(body) + 4) + int_struct.pack(self._xid) + body)
                size += len(frames[-1])
                client._pending.append((request, asked, self._xid))
            if unsent:
                client.post.take(unsent)
            if frames:
                self._write(b"".join(frames), connect_timeout)

    def _read_socket(self, read_timeout: float) -> Any:
        """Take everything that has arrived, and deal with every whole frame of it."""
        self._receive()
        received, at, notes = self._received, 0, []
        result = None
        sent = 0.0
        while len(received) - at >= _START:
            (size,) = int_struct.unpack_from(received, at)
            if size < wire.REPLY_HEADER:
                raise ConnectionDropped(f"the server sent a frame of {size} bytes")
            if len(received) - at - _START < size:
                break
            frame = bytes(received[at + _START : at + _START + size])
            at += _START + size
            xid, number, _ = wire.header(frame)
            if xid == WATCH_XID:
                notes.append(_change(self.client.post, frame))
            elif xid == PING_XID:
                self.ping_outstanding.clear()
                sent = max(sent, self._ping_sent)
                self._compare(number)
            else:
                answered, note = self._answer(xid, number, frame)
                sent = max(sent, answered)
                if note is None:
                    result = CLOSE_RESPONSE
                else:
                    notes.append(note)
        del received[:at]
        if sent:
            self.client.post.heard(sent)
        if notes:
            self.client.post.take(notes)
        return result

    def _answer(self, xid: int, number: int, frame: bytes) -> tuple[float, Callable[[], None] | None]:
        """When the request this frame answers was sent, and what to tell its asker; None for a goodbye."""
        if not self.client._pending:
            raise ConnectionDropped(f"the server answered request {xid}, which nobody made")
        call, _, expected = self.client._pending.popleft()
        if number > 0:
            self.client.last_zxid = number
        self._compare(number)
        if xid != expected:
            raise ConnectionDropped(f"the server answered request {xid} where {expected} was due")
        if isinstance(call, Close):
            self._told.ended = True
            return 0.0, None
        call.received = self._clock.boot()
        return call.sent, lambda: call.answered(call, frame)

    def _compare(self, number: int) -> None:
        """Whether a server that has just let us in knows all that we have seen. It should not have, else."""
        if self._is_first and number > 0:
            self._is_first = False
            if number < self._highest:
                self._speak_of_older("")
            else:
                self._spoke_of_older = False
        self._highest = max(self._highest, number)

    def _speak_of_older(self, why: str) -> None:
        """Numbers may come again by which others tell new writes from old ones: somebody should know."""
        self._told.trouble = (
            f"{why}the data of the servers is older than what we have seen (number {self._highest:#x}): "
            "was it restored or wiped? Then numbers of commits, which are fencing tokens, go back"
        )
        if not self._spoke_of_older:
            self._spoke_of_older = True
            self.client.post.take([])  # only to wake the owner, who may want to know
            log.error("%s", self._told.trouble)

    def _receive(self) -> None:
        with self._socket_error_handling():
            while True:
                try:
                    data = self._socket.recv(_CHUNK)
                except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    return
                if not data:
                    raise ConnectionDropped("the server closed the connection")
                self._received += data
                # Under TLS a record may hold more than was asked for, and then select says nothing.
                if not (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0):
                    return


def _failure(call: Call, why: str) -> Callable[[], None]:
    return lambda: call.failed(call, why)


def _change(post: Post, frame: bytes) -> Callable[[], None]:
    return lambda: post.changed(wire.event(frame))


def _sasl_options(access: Access) -> dict[str, str | None] | None:
    if not access.sasl:
        return None
    return {"mechanism": "DIGEST-MD5", "username": access.user, "password": access.password}
