"""A job that Java and Python processes share: starts its members, and looks at its tree as a plain client."""

import contextlib
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from shardwright.coordination import instance
from shardwright.ops.operator import Operator
from shardwright.registry import connect
from tests.faults.processes import ROOT, Process
from tests.faults.proxy import Proxy
from tests.zookeeper_server import JVM, Server

from .owners import Owners
from .story import Story, by_fire, of_python, run_again, twice_at_once

#: The versions of ElasticJob to share jobs with.
VERSIONS = os.environ.get("VERSIONS", "3.0.4 3.0.3").split()

PYTHON = (sys.executable, "-X", "faulthandler", "-m", "tests.interop.python_peer")

#: How long anything may take that must come, on a machine as busy as you like.
PATIENCE = 60.0

NAME = "shared"
NEVER = "0 0 0 1 1 ? 2099"
NECESSARY, PROCESSING = "leader/sharding/necessary", "leader/sharding/processing"

#: How to look at the tree although the server was away.
AGAIN = {"max_tries": -1, "max_delay": 1.0}

#: What stands below a shard for good.
LASTING = ("instance", "disabled")

#: Below these stands what somebody is about to do.
UNDER_WAY = (
    "leader/failover/items",
    "leader/failover/latch",
    "leader/election/latch",
    "guarantee/started-latch",
    "guarantee/completed-latch",
    "trigger",
)

#: How long before a fire a shard must be somebody's who is then held to it, in seconds.
IN_TIME = 0.5


#: What our members say their address is. All processes of a test share a machine, and ElasticJob disables
#: and shuts down by address; that of the Java members is the machine's own.
OURS = "10.20.30.40"


def jar(version: str) -> Path:
    return ROOT / "build" / "java-peer" / version / "java-peer.jar"


def missing(version: str) -> str | None:
    """Why there can be no Java member and how to get one, in one line; None if there can."""
    return None if jar(version).exists() else f"no Java member of {version}: `make interop` builds it"


class Peer(Process):
    """A member of the job, in a process of its own."""

    def __init__(self, command: Sequence[str], settings: dict[str, object], log: Path) -> None:
        self.who = str(settings["who"])
        self.python = tuple(command) == PYTHON
        self.killed = False
        #: When it was kept from its work.
        self._absences: list[tuple[float, float]] = []
        self._events = Path(str(settings["events"]))
        with log.open("wb") as output:
            super().__init__([*command, json.dumps(settings)], output=output, listens=True)

    def kill(self) -> None:
        """It can tell nobody that its runs are over."""
        self.killed = True
        self._absences.append((time.time(), math.inf))
        super().kill()
        with self._events.open("a") as story:
            story.write(json.dumps({"event": "killed", "who": self.who, "at": time.time() * 1000}) + "\n")

    @contextlib.contextmanager
    def kept_away(self) -> Iterator[None]:
        """It can do nothing meanwhile, and is not to blame for that."""
        begin = time.time()
        yield
        self._absences.append((begin, time.time()))

    def was_away(self, begin: float, end: float) -> bool:
        return any(since <= end and begin <= until for since, until in self._absences)


def _is(peer: Peer, who: str) -> bool:
    return re.search(rf"@-@{peer.pid}(-|$)", who) is not None


class Job:
    """One job, in a namespace of its own on a shared server."""

    def __init__(self, server: Server, folder: Path, namespace: str, version: str, digest: str = "") -> None:
        self.story = Story(folder / "events")
        self.cron: str | None = None
        self.shards = 1
        self.class_name = "shardwright.peer.RecordingJob"
        self.failover = False
        self.monitor = True
        # ElasticJob makes a missed fire good one period late, which looks like a fire that ran twice.
        self.misfire = False
        self.strategy: str | None = None
        self.parameters: str | None = None
        self.static = False
        self.once = False
        self._server = server
        self._jar = jar(version)
        self._digest = digest
        self._folder = folder
        self._namespace = namespace
        self._peers: list[Peer] = []
        #: Whether something is wrong already, so that it is no use to look for more.
        self.failed = False
        self._proxies = contextlib.ExitStack()
        self._client = KazooClient(
            server.hosts,
            timeout=PATIENCE,
            auth_data={("digest", digest)} if digest else None,
            connection_retry=AGAIN,
            command_retry=AGAIN,
        )

    # Members

    def java(self, who: str = "java", *, length: float = 0.1, session: float = 10.0, hosts: str = "") -> Peer:
        """A Java member whose runs take so many seconds, when it has joined."""
        return self.joined(self.begin("java", who, length=length, session=session, hosts=hosts))

    def python(
        self, who: str = "python", *, length: float = 0.1, session: float = 10.0, hosts: str = ""
    ) -> Peer:
        """A Python one."""
        return self.joined(self.begin("python", who, length=length, session=session, hosts=hosts))

    def begin(
        self, kind: str, who: str, *, length: float = 0.1, session: float = 10.0, hosts: str = ""
    ) -> Peer:
        """A member that may still be joining."""
        settings = self._settings(who, length, session, hosts)
        return self._begin(PYTHON if kind == "python" else self._program("Peer"), settings)

    def ready(self, who: str) -> Peer:
        """A Java member that has connected, and joins at once when it is told `join`."""
        settings = self._settings(who, 0.1, 10.0, "") | {"waits": True}
        peer = self._begin(self._program("Peer"), settings)
        self.until(lambda: self.story.told("ready", who))
        return peer

    def _program(self, name: str) -> tuple[str, ...]:
        return ("java", *JVM, "-cp", str(self._jar), f"shardwright.peer.{name}")

    def _begin(self, command: Sequence[str], settings: dict[str, object]) -> Peer:
        peer = Peer(command, settings, self._folder / f"{settings['who']}.log")
        self._peers.append(peer)
        return peer

    def joined(self, peer: Peer) -> Peer:
        self.until(lambda: self.id_of(peer) is not None and self.leader() is not None)
        self.until(lambda: peer.python or self.story.told("joined", peer.who))
        return peer

    def members(
        self,
        first: str,
        *,
        length: float = 0.1,
        session: float = 10.0,
        lengths: dict[str, float] | None = None,
        hosts: dict[str, str] | None = None,
    ) -> dict[str, Peer]:
        """A Java member and a Python one; whoever comes first leads."""
        start = {"java": self.java, "python": self.python}
        lasting = {**dict.fromkeys(start, length), **(lengths or {})}
        wires = hosts or {}
        peers = {
            who: start[who](length=lasting[who], session=session, hosts=wires.get(who, ""))
            for who in sorted(start, key=lambda who: who != first)
        }
        self.until_shared_out(self.shards, *peers.values())
        assert self.leader() == self.id_of(peers[first])
        return peers

    def console(self) -> "Console":
        """ElasticJob's operations API, in a process of its own."""
        peer = self._begin(self._program("Console"), self._settings("console", 0.0, 10.0, ""))
        self.until(lambda: self.story.told("joined", "console"))
        return Console(self, peer)

    def proxy(self) -> Proxy:
        """A wire to the server for some of the members, as long as the job lasts."""
        return self._proxies.enter_context(Proxy(self._server.hosts))

    @contextlib.contextmanager
    def operator(self) -> Iterator[Operator]:
        """Ours."""
        registry = connect(self.url())
        try:
            yield Operator(registry)
        finally:
            registry.close()

    def url(self) -> str:
        who = f"{self._digest}@" if self._digest else ""
        return f"zookeeper://{who}{self._server.hosts}/{self._namespace}"

    def _settings(self, who: str, length: float, session: float, hosts: str) -> dict[str, object]:
        return {
            "hosts": hosts or self._server.hosts,
            "namespace": self._namespace,
            "session": int(session * 1000),
            "digest": self._digest or None,
            "address": OURS,
            "job": NAME,
            "className": self.class_name,
            "cron": self.cron,
            "shards": self.shards,
            "failover": self.failover,
            "monitor": self.monitor,
            "misfire": self.misfire,
            "overwrite": False,
            "strategy": self.strategy,
            "parameters": self.parameters,
            "staticSharding": self.static,
            "once": self.once,
            "length": int(length * 1000),
            "events": str(self.story.path),
            "who": who,
        }

    def id_of(self, peer: Peer) -> str | None:
        """What a member is called in the tree now: `<address>@-@<pid>`, and a random part if it is Python."""
        return next((who for who in self.names("instances") if _is(peer, who)), None)

    # The tree

    def get(self, path: str) -> str | None:
        with contextlib.suppress(NoNodeError):
            data: bytes = self._client.retry(self._client.get, self._path(path))[0]
            return data.decode()
        return None

    def names(self, path: str) -> list[str]:
        with contextlib.suppress(NoNodeError):
            return sorted(self._client.retry(self._client.get_children, self._path(path)))
        return []

    def made(self, path: str) -> int:
        """The number of the commit that made a node; 0 if it is not there."""
        stat = self._client.retry(self._client.exists, self._path(path))
        return stat.czxid if stat else 0

    def session_of(self, path: str) -> int:
        """The session that an ephemeral node belongs to; 0 if it is not there."""
        stat = self._client.retry(self._client.exists, self._path(path))
        return stat.ephemeralOwner if stat else 0

    def leader(self) -> str | None:
        return self.get("leader/election/instance")

    def owners(self) -> dict[int, str | None]:
        return {int(item): self.get(f"sharding/{item}/instance") for item in self.names("sharding")}

    def owned_by(self, peer: Peer) -> list[int]:
        me = self.id_of(peer)
        return sorted(item for item, owner in self.owners().items() if me is not None and owner == me)

    def running(self) -> list[int]:
        return [int(item) for item in self.names("sharding") if self.made(f"sharding/{item}/running")]

    def misfired(self) -> list[int]:
        """The shards of which a missed fire is noted."""
        return [int(item) for item in self.names("sharding") if self.made(f"sharding/{item}/misfire")]

    def flagged(self) -> bool:
        return bool(self.made(NECESSARY) or self.made(PROCESSING))

    def put(self, path: str, data: str) -> None:
        self._client.set(self._path(path), data.encode())

    def plant(self, path: str, data: str = "") -> None:
        self._client.create(self._path(path), data.encode(), makepath=True)

    def change(self, **settings: object) -> None:
        """Write other settings, as a console does."""
        text = self.get("config") or ""
        for name, value in settings.items():
            text = re.sub(rf"^{name}: .*$", f"{name}: {value}", text, flags=re.MULTILINE)
        self._client.retry(self._client.set, self._path("config"), text.encode())

    # Waiting

    def until(self, come: Callable[[], object], within: float = PATIENCE) -> None:
        """Wait until something is so. Nothing tells of a line in a file, so it is asked again and again."""
        end = time.monotonic() + within
        while not come():
            dead = [peer.who for peer in self._peers if not peer.alive() and not self._may_be_gone(peer)]
            assert not dead, f"{dead} ended by themselves\n{self}"
            assert time.monotonic() < end, f"not within {within:g} s\n{self}"
            time.sleep(0.05)  # a file tells nobody that it has grown

    def _may_be_gone(self, peer: Peer) -> bool:
        return peer.killed or self.story.told("left", peer.who)

    def until_shared_out(self, shards: int, *peers: Peer) -> None:
        """Until so many shards are owned by just these members, each of them having some, and nobody is told
        to wait."""

        def shared_out() -> bool:
            owners = self.owners()
            ids = {self.id_of(peer) for peer in peers}
            return (
                sorted(owners) == list(range(shards)) and set(owners.values()) == ids and not self.flagged()
            )

        self.until(shared_out)

    def next_fires(self, count: int, period: float) -> dict[float, list[int]]:
        """Wait until so many fires from now on are over, and say which shards ran for each."""
        first = (time.time() // period + 1) * period
        fires = [first + number * period for number in range(count)]
        self.until(lambda: max(by_fire(self.story.runs(), period), default=0) > fires[-1])
        found = by_fire(self.story.runs(), period)
        return {fire: found.get(fire, []) for fire in fires}

    # What is asked of every scenario

    def check(self) -> None:
        """Whatever was played: no shard ran twice at once on Python members, none of their fires ran again
        but as a failover, and when nothing fires any more nothing of what was under way is left. Then the
        Python members leave, each in good order."""
        if self.cron is not None:
            self.change(cron=NEVER)
        self.until(self._is_quiet)
        ours = of_python(self.story.runs())
        assert twice_at_once(ours) == [], str(self)
        assert run_again(ours) == [], str(self)
        staying = [peer for peer in self._peers if peer.python and peer.alive()]
        for peer in staying:
            peer.tell("stop")
        assert [peer.who for peer in staying if peer.wait(PATIENCE)] == [], str(self)
        assert [who for who in self.names("instances") if instance.is_python(who)] == [], str(self)
        self.until(self._is_quiet)  # a Java member may have begun a fire before it heard of the new cron

    def _is_quiet(self) -> bool:
        return not self.story.open() and not self.leftovers()

    def leftovers(self) -> list[str]:
        """What nobody needs when nothing runs, and some would wait for. A Java member makes good what it
        missed only with its next fire, and a Java leader shares out only then: what either has noted may
        stand. One notes it also where nothing is made good, and may have given the shard to one of ours
        since: then it goes with the next fire."""
        owners = self.owners().items()
        noted = {item for item, who in owners if who and not (self.misfire and instance.is_python(who))}
        found = [
            f"sharding/{item}/{name}"
            for item in self.names("sharding")
            for name in self.names(f"sharding/{item}")
            if name not in LASTING and not (name == "misfire" and int(item) in noted)
        ]
        found += [f"{under}/{name}" for under in UNDER_WAY for name in self.names(under)]
        if instance.is_python(self.leader() or ""):
            found += [flag for flag in (NECESSARY, PROCESSING) if self.made(flag)]
        return found

    def assert_none_lost(self, period: float) -> None:
        """That Python members ran each of the fires that none of them may lose, and that there were some."""
        ran = self.fires_of_ours(period)
        assert ran
        assert [lost for lost, times in ran.items() if times == 0] == [], str(self)

    def fires_of_ours(self, period: float) -> dict[tuple[float, int], int]:
        """How often Python members ran each fire of a shard that was nobody's but living Python members' from
        before it until the next one was due."""
        ran = [(run.fire, run.item) for run in of_python(self.story.runs())]
        first = (self._born // period + 1) * period
        fires = [first + period * number for number in range(int((time.time() - first) // period))]
        return {
            (fire, item): ran.count((fire * 1000, item))
            for fire in fires
            for item in range(self.shards)
            if self._is_ours(item, fire, period)
        }

    def _is_ours(self, item: int, fire: float, period: float) -> bool:
        begin, end = fire - IN_TIME, fire + period
        had = self._owners.during(item, begin, end)
        # In between, while a Java leader shares out, it is nobody's.
        owners = [peer for who in had for peer in self._peers if who is not None and _is(peer, who)]
        known = had[0] is not None and had[-1] is not None
        return known and all(peer.python and not peer.was_away(begin, end) for peer in owners)

    # The life of it

    def __enter__(self) -> Self:
        self._client.start()
        self._owners = Owners(self._client, lambda item: self._path(f"sharding/{item}/instance"))
        self._born = time.time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and not self.failed:
                self.check()
        finally:
            for peer in self._peers:
                peer.close()
            self._proxies.close()
            self._client.stop()
            self._client.close()

    def __str__(self) -> str:
        """All there is to know, for whoever wonders why a test failed."""
        logs = (
            f"-- {peer.who}\n{(self._folder / f'{peer.who}.log').read_text()[-4000:]}" for peer in self._peers
        )
        tree = "\n".join(self._dump(""))
        return (
            f"-- the story\n{self.story}\n-- the owners\n{self._owners}\n-- the tree\n{tree}\n"
            + "\n".join(logs)
        )

    def _dump(self, path: str) -> Iterator[str]:
        yield f"{path or '/'} = {self.get(path)!r}"
        for name in self.names(path):
            yield from self._dump(f"{path}/{name}".lstrip("/"))

    def _path(self, path: str) -> str:
        return f"/{self._namespace}/{NAME}/{path}".rstrip("/")


class Console:
    """What ElasticJob's operations API does and says, by a line for each."""

    def __init__(self, job: Job, peer: Peer) -> None:
        self._job = job
        self._peer = peer
        self._asked = 0

    def __call__(self, line: str) -> Any:
        self._peer.tell(line)
        self._asked += 1
        self._job.until(lambda: len(self._job.story.answers()) >= self._asked)
        return self._job.story.answers()[-1]
