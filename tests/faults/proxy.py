"""A wire between a ZooKeeper client and its server that misbehaves when told to, and counts what passes.

    with Proxy(server.hosts) as proxy:
        client = KazooClient(proxy.hosts)
        eaten = proxy.eat_reply("create")     # the server creates the node, the client loses its connection
        ...
        eaten.wait()

It knows ZooKeeper's frames, so that it can pick one out. A connection that speaks anything else (TLS, a
four-letter word) is passed on as it comes: it can be cut, half-opened, stalled and delayed all the same.

One thread does it all. What a test asks for is a note to that thread, in force when the call returns.
"""

import asyncio
import contextlib
import itertools
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Literal, Self, TypeVar

from tests.faults.frames import END, NAMES, Direction, Frame, Frames

Where = Literal["both", "c2s", "s2c"]
T = TypeVar("T")
NO_FAREWELL = struct.pack("ii", 1, 0)


class Action(Enum):
    EAT_REQUEST = "the request never reaches the server"
    EAT_REPLY = "the server does it and the answer is lost"
    HOLD_REPLY = "the answer, and all behind it, waits to be released"


class Rule:
    """What the proxy will do to the next requests of a kind."""

    def __init__(self, proxy: "Proxy", action: Action, op: str, count: int, about: str, cut: bool) -> None:
        if op not in NAMES:
            raise ValueError(f"ZooKeeper has no operation {op!r}")
        self.action = action
        self.op = op
        self.about = about.encode()
        self.cut = cut
        self.unmatched = self.outstanding = count
        self.released = asyncio.Event()
        self._proxy = proxy
        self._happened = threading.Event()

    def wait(self, within: float = 10.0) -> None:
        """Until it has happened, as often as it was asked for."""
        assert self._happened.wait(within), f"not within {within} s: {self.op}, {self.action.value}"

    def release(self) -> None:
        """Let go of what is held."""
        self._proxy.tell(self.released.set)

    def matches(self, request: Frame) -> bool:
        return self.op == request.op and self.about in request.data

    def happens(self) -> None:
        self.outstanding -= 1
        if not self.outstanding:
            self._happened.set()


@dataclass(eq=False)
class Link:
    """One client's connection and its continuation to the server."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    # What awaits the answers to the requests under way, by xid.
    fates: dict[int | None, Rule] = field(default_factory=dict)
    # Bytes are missing from one of its streams.
    torn: bool = False
    # The how-manieth connection it is.
    number: int = 0

    def close(self) -> None:
        self.client.close()
        self.server.close()

    def reset(self) -> None:
        reset(self.client)
        reset(self.server)
        for task in self.tasks:
            task.cancel()


class Proxy:
    """Listens on loopback and forwards to one server.

    `observer` is shown every frame with the number of its connection, in the proxy's own thread.
    """

    def __init__(self, server: str, *, observer: Callable[[int, Frame], None] | None = None) -> None:
        host, _, port = server.rpartition(":")
        self.hosts = ""
        self._server = (host, int(port))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._serving: set[asyncio.Task[None]] = set()
        self._links: set[Link] = set()
        self._numbers = itertools.count(1)
        self._observer = observer
        self._failures: list[Exception] = []
        self._is_cut = False
        self._swallowed: set[Direction] = set()
        self._delays: dict[Direction, float] = {"c2s": 0.0, "s2c": 0.0}
        self._flowing: dict[Direction, asyncio.Event] = {"c2s": asyncio.Event(), "s2c": asyncio.Event()}
        self._healed = asyncio.Event()
        self._rules: list[Rule] = []
        self._held: set[Rule] = set()
        self._news = threading.Condition()  # guards the counts: the test's thread reads them
        self._requests: Counter[str] = Counter()
        self._notifications: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    # What a test may ask for

    def cut(self) -> None:
        """Reset every connection, and every new one at once, until `heal`."""
        self._run(self._cut())

    def half_open(self, where: Where = "both") -> None:
        """Swallow all bytes in that direction, the end of a connection too: TCP stays up and nobody is told.

        Whatever lost bytes is reset by `heal`: there is no TCP stream with a hole in it.
        """
        self.tell(lambda: self._swallowed.update(_directions(where)))

    def stall(self, where: Where = "both") -> None:
        """Keep all bytes in that direction until `heal`, like a network that is away for a moment."""
        self.tell(lambda: self._stall(where))

    def delay(self, seconds: float, where: Where = "both") -> None:
        """Let all bytes take so much longer."""
        self.tell(lambda: self._delays.update(dict.fromkeys(_directions(where), seconds)))

    def eat_request(self, op: str, *, count: int = 1, about: str = "", cut: bool = True) -> Rule:
        """The next such request never reaches the server; then, unless told otherwise, the connection is cut.

        `about` picks the requests that contain this text, such as a path.
        """
        return self._rule(Action.EAT_REQUEST, op, count, about, cut)

    def eat_reply(self, op: str, *, count: int = 1, about: str = "", cut: bool = True) -> Rule:
        """The server does it, the client never hears of it; then, unless told otherwise, it is cut off."""
        return self._rule(Action.EAT_REPLY, op, count, about, cut)

    def hold_reply(self, op: str, *, about: str = "") -> Rule:
        """The answer to the next such request, and all that comes behind it, waits to be released."""
        return self._rule(Action.HOLD_REPLY, op, 1, about, cut=False)

    def heal(self) -> None:
        """Be a plain wire again: all of the above is over, rules too; what was kept or held goes its way."""
        self.tell(self._heal)

    # What a test may look at

    @property
    def requests(self) -> Counter[str]:
        """How many of each operation the clients have sent."""
        with self._news:
            return Counter(self._requests)

    @property
    def notifications(self) -> Counter[str]:
        """How many watch events of each type the server has sent."""
        with self._news:
            return Counter(self._notifications)

    @property
    def bytes(self) -> Counter[str]:
        """How many bytes have been sent each way."""
        with self._news:
            return Counter(self._bytes)

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._links)

    def reset_counts(self) -> None:
        with self._news:
            self._requests.clear()
            self._notifications.clear()
            self._bytes.clear()

    def until(self, condition: Callable[[], bool], within: float = 10.0) -> None:
        """Wait until the condition holds; it is asked again whenever something has passed or ended."""
        with self._news:
            assert self._news.wait_for(condition, within), (
                f"not within {within} s; so far {dict(self._requests)}"
            )

    # What happens in the proxy's own thread

    def tell(self, what: Callable[[], object]) -> None:
        async def do() -> None:
            what()

        self._run(do())

    def _run(self, what: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(10)

    def __enter__(self) -> Self:
        self._thread.start()
        self._heal()
        self._listener = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.hosts = f"127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._failures and not error:
            raise self._failures[0]

    async def _close(self) -> None:
        self._listener.close()
        await self._cut()

    async def _cut(self) -> None:
        self._is_cut = True
        for link in self._links:
            link.reset()
        await asyncio.gather(*self._serving)

    def _stall(self, where: Where) -> None:
        for direction in _directions(where):
            self._flowing[direction].clear()

    def _heal(self) -> None:
        self._is_cut = False
        self._swallowed.clear()
        self._delays = {"c2s": 0.0, "s2c": 0.0}
        self._rules.clear()
        self._healed.set()
        self._healed = asyncio.Event()
        for direction in _directions("both"):
            self._flowing[direction].set()
        for rule in self._held:
            rule.released.set()
        for link in self._links:
            link.fates.clear()
            if link.torn:
                link.reset()

    def _rule(self, action: Action, op: str, count: int, about: str, cut: bool) -> Rule:
        rule = Rule(self, action, op, count, about, cut)
        self.tell(lambda: self._rules.append(rule))
        return rule

    async def _serve(self, from_client: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        await self._keep(from_client, client)
        self._serving.remove(task)
        with self._news:
            self._news.notify_all()

    async def _keep(self, from_client: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        try:
            from_server, server = await asyncio.open_connection(*self._server)
        except OSError:
            return reset(client)
        link = Link(client, server, number=next(self._numbers))
        if self._is_cut:
            return link.reset()
        self._links.add(link)
        link.tasks += self._pump(link, "c2s", from_client, server)
        link.tasks += self._pump(link, "s2c", from_server, client)
        endings = await asyncio.gather(*link.tasks, return_exceptions=True)
        self._failures += [ending for ending in endings if isinstance(ending, Exception)]
        self._links.remove(link)
        return link.reset() if link.torn else link.close()

    def _pump(
        self, link: Link, direction: Direction, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> list[asyncio.Task[None]]:
        under_way: asyncio.Queue[tuple[float, Frame]] = asyncio.Queue()
        return [
            asyncio.create_task(self._take_in(direction, link, Frames(source, direction), under_way)),
            asyncio.create_task(self._pass_on(direction, link, under_way, sink)),
        ]

    async def _take_in(
        self, direction: Direction, link: Link, frames: Frames, under_way: asyncio.Queue[tuple[float, Frame]]
    ) -> None:
        frame = None
        while frame != END:
            frame = await frames.next()
            self._count(direction, frame)
            if self._observer is not None:
                self._observer(link.number, frame)
            under_way.put_nowait((self._loop.time() + self._delays[direction], frame))

    async def _pass_on(
        self,
        direction: Direction,
        link: Link,
        under_way: asyncio.Queue[tuple[float, Frame]],
        sink: asyncio.StreamWriter,
    ) -> None:
        frame = None
        while frame != END:
            due, frame = await under_way.get()
            await self._wait_until(due)
            await self._flowing[direction].wait()
            if direction in self._swallowed:
                link.torn = True
            elif frame == END:
                link.close()
            elif await self._may_pass(link, frame):
                await send(sink, frame.data)

    async def _wait_until(self, due: float) -> None:
        with contextlib.suppress(TimeoutError):
            if due > self._loop.time():
                await asyncio.wait_for(self._healed.wait(), due - self._loop.time())

    async def _may_pass(self, link: Link, frame: Frame) -> bool:
        """Do to a frame what a rule says; whether it goes on its way."""
        rule = self._rule_for(link, frame)
        if not rule:
            return True
        if rule.action is Action.HOLD_REPLY:
            self._held.add(rule)
            rule.happens()
            await rule.released.wait()
            return True
        link.torn = True
        if rule.cut:
            link.reset()
        rule.happens()
        return False

    def _rule_for(self, link: Link, frame: Frame) -> Rule | None:
        """The rule that is due now; one about an answer is chosen when its request passes."""
        if not frame.op:
            return link.fates.pop(frame.xid, None)
        rule = next((rule for rule in self._rules if rule.matches(frame)), None)
        if not rule:
            return None
        rule.unmatched -= 1
        if not rule.unmatched:
            self._rules.remove(rule)
        if rule.action is Action.EAT_REQUEST:
            return rule
        link.fates[frame.xid] = rule
        return None

    def _count(self, direction: Direction, frame: Frame) -> None:
        with self._news:
            self._bytes[direction] += len(frame.data)
            if frame.op:
                self._requests[frame.op] += 1
            if frame.event:
                self._notifications[frame.event] += 1
            self._news.notify_all()


def reset(connection: asyncio.StreamWriter) -> None:
    """Close with an RST instead of a farewell; harmless if it is closed."""
    with contextlib.suppress(OSError):
        connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_FAREWELL)
    connection.transport.abort()


async def send(connection: asyncio.StreamWriter, data: bytes) -> None:
    """Send it if anybody is still there; that nobody is, we learn by reading."""
    with contextlib.suppress(OSError):
        connection.write(data)
        await connection.drain()


def _directions(where: Where) -> tuple[Direction, ...]:
    return ("c2s", "s2c") if where == "both" else (where,)
