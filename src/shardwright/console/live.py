"""Live: how all jobs of a registry stand, kept up to date, and told to those who follow.

One thread for each registry has a connection of its own, with a mirror of the namespace and one of what is
ours beside it. The mirrors note what changes; jobs that have changed are looked at again, and no others, at
most a few times a second. What comes of it is a picture, which is frozen: whoever asks is given the last one.

Cursors are in the mirror too, as one watch covers all that is below a node; on ZooKeeper what they hold is
read for those jobs alone whose runs leave no mark, and for those that somebody follows.
"""

import asyncio
import contextlib
import heapq
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from ..coordination import settings
from ..errors import NotAllowed, RegistryError, ShardwrightError
from ..ops import jobs, looking, overview, shards
from ..ops.overview import Load, Row, Totals
from ..ops.statistics import Statistics
from ..ops.values import plain
from ..registry import Registry, State, Tree, Unread
from ..registry.tree import Branch
from .lasts import Lasts
from .refusals import Refusal

log = logging.getLogger("shardwright.console")

#: How many seconds lie between two looks at what has changed, at least.
PAUSE = 0.4

#: For how many seconds a registry may be away without a word about it.
GRACE = 1.0

#: How long to wait before a connection is tried anew, in seconds.
AGAIN = 1.0

#: More changed jobs than this are not told one by one.
MANY = 100

#: How many events wait for somebody slow, before they are dropped and all is fetched anew.
MOST_EVENTS = 100

#: How often what is read may change meanwhile, before it is left for the next look.
TRIES = 5

#: How many may wait for the first look at all jobs: they have threads that serve everybody.
MOST_WAITING = 4


@dataclass(frozen=True, slots=True)
class Event:
    """Something that is told to those who follow; its data is JSON."""

    name: str
    data: str


@dataclass(frozen=True)
class Picture:
    """How all jobs stood at one moment."""

    at: datetime
    rows: Mapping[str, Row]
    statistics: Statistics

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        return overview.loads(self.rows)


class Listener:
    """Somebody who follows, in the loop of the server. Told by any thread; too slow a listener loses what
    waits, and is told to fetch anew."""

    def __init__(self, job: str | None, leave: Callable[["Listener"], None]) -> None:
        self.job = job
        self._leave = leave
        self._events: deque[Event] = deque()
        self._lost = self._ended = False
        self._lock = threading.Lock()
        self._wake: Callable[[], None] = _nobody_waits

    def tell(self, event: Event) -> None:
        with self._lock:
            if event.name in ("hello", "trouble") or len(self._events) >= MOST_EVENTS:
                # What was to be told before is of no use to one who fetches all anew.
                self._lost = event.name not in ("hello", "trouble")
                self._events.clear()
            if event.name == "job":  # it tells all there is, as the one before did
                self._events = deque(each for each in self._events if each.name != "job")
            if not self._lost:
                self._events.append(event)
        self._wake()

    def behind(self) -> bool:
        """Whether it has lost something; it is to be told hello."""
        return self._lost

    def end(self) -> None:
        self._ended = True
        self._wake()

    def close(self) -> None:
        self._leave(self)

    async def next(self, patience: float) -> list[Event] | None:
        """What has been told since; nothing after a while, None at the end."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(told.set)
            except RuntimeError:  # the server has stopped
                log.debug("somebody was told something who is gone")

        self._wake = wake
        if not self._events and not self._ended:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), patience)
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return None if self._ended else events


def _nobody_waits() -> None:
    """It has not begun to listen, and will see."""


@dataclass
class _Known:
    """What the watcher knows; its thread's alone."""

    rows: dict[str, Row] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    next_fires: list[tuple[datetime, str]] = field(default_factory=list)
    with_cursors: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    focused: set[str] = field(default_factory=set)


class Watcher:
    """Watches one registry, in a thread of its own."""

    def __init__(self, name: str, open_it: Callable[[], Registry], lasts: Lasts) -> None:
        self._name = name
        self._open = open_it
        self._lasts = lasts
        self._known = _Known()
        self._listeners: frozenset[Listener] = frozenset()
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._stopped = threading.Event()
        self._ready = threading.Event()
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)
        self._picture: Picture | None = None
        self._trouble = ""
        self._greeted = False
        self._thread: threading.Thread | None = None

    # -- what others ask ----------------------------------------------------------------------------

    def start(self) -> None:
        with self._lock:
            if self._thread is not None or self._stopped.is_set():
                return
            self._thread = threading.Thread(target=self._run, name=f"console {self._name}", daemon=True)
            self._thread.start()
            self._lasts.start(self._bell.set)

    def stop(self) -> None:
        self._stopped.set()
        self._bell.set()
        self._lasts.stop()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def picture(self, patience: float) -> Picture:
        """The last picture; a few wait for the first one. While the registry is away there is none."""
        if not self._ready.is_set() and self._waiting.acquire(blocking=False):
            try:
                self._ready.wait(patience)
            finally:
                self._waiting.release()
        if self._trouble:
            raise RegistryError(self._trouble)
        if self._picture is None:
            raise Refusal(503, "busy", "the registry is still being read: try again in a moment")
        return self._picture

    def join(self, listener: Listener) -> None:
        with self._lock:  # or what it is told of trouble comes after the word that it is over, and stays
            self._listeners |= {listener}
            if self._trouble:
                listener.tell(_event("trouble", {"error": self._trouble}))
            elif self._picture is not None:
                listener.tell(_hello(self._picture))
        self._bell.set()

    def leave(self, listener: Listener) -> None:
        with self._lock:
            self._listeners -= {listener}

    # -- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._open() as registry:
                    self._follow(registry)
            except (ShardwrightError, TimeoutError, OSError) as error:
                self._say_trouble(str(error))
            except Exception:
                log.exception("the console cannot watch %s", self._name)
                self._say_trouble("the console cannot watch this registry: its log says why")
            self._stopped.wait(AGAIN)

    def _follow(self, registry: Registry) -> None:
        following = _Following(registry, self._bell)
        self._known, self._greeted = _Known(), False
        there = looked = registry.clock.boot()
        while not self._stopped.is_set():
            self._bell.clear()
            registry.pump()
            now, pause = registry.clock.boot(), GRACE / 4
            if registry.state is State.CONNECTED:
                there = now
            elif now > there + GRACE:
                self._say_trouble("the registry does not answer at the moment; it is tried again and again")
            if following.complete():
                if self._look(following):
                    looked = registry.clock.boot()
                pause = self._pause(registry)
            self._bell.wait(pause)
            # What comes right after a look waits for more of its kind.
            self._stopped.wait(max(0.0, looked + PAUSE - registry.clock.boot()))

    def _pause(self, registry: Registry) -> float:
        """Until the next fire has passed, or for a while."""
        fires = self._known.next_fires
        if not fires:
            return GRACE
        return min(GRACE, max(0.01, (fires[0][0] - registry.now()).total_seconds()))

    def _look(self, following: "_Following") -> bool:
        """Look again at what has changed, and tell; whether there was anything to look at."""
        known, now = self._known, following.registry.now()
        focused = {each.job for each in self._listeners if each.job is not None}
        with_cursors = known.with_cursors | focused
        wanted = (
            known.changed | following.changed(with_cursors) | self._passed(now) | (focused - known.focused)
        )
        known.focused = focused
        told, first = self._news(), not self._greeted or bool(self._trouble)
        if not (wanted or told or first):
            self._tell_the_slow()
            return False
        # What goes on changing while it is read is looked at the next time.
        known.changed = following.read_up(wanted, with_cursors)
        if known.changed and first:
            known.changed = wanted  # nothing of it was taken in: all of it is looked at again
            return True
        seen = wanted - known.changed
        sights = {name: following.sight(name, now, cursors=name in with_cursors) for name in seen}
        changed = self._take_in(sights)
        self._picture = Picture(now, dict(known.rows), known.totals.statistics())
        self._tell(changed, {name: sight for name, sight in sights.items() if name in focused}, told, first)
        return True

    def _take_in(self, sights: Mapping[str, looking.Sight | None]) -> set[str]:
        """Put what was seen into the rows; which of them are otherwise now."""
        known, changed = self._known, set()
        for name, sight in sights.items():
            old = known.rows.get(name)
            try:
                new = overview.row(sight) if sight is not None else None
            except Exception:  # one job that nobody foresaw must not hide the others
                log.exception("%s: the job %r cannot be shown as it is now", self._name, name)
                continue
            if sight is not None and sight.config is not None and not sight.config.monitor_execution:
                if name not in known.with_cursors:
                    known.with_cursors.add(name)
                    known.changed.add(name)  # again, with them
                    self._bell.set()
            else:
                known.with_cursors.discard(name)
            if new == old:
                continue
            changed.add(name)
            known.totals.change(old, new)
            if new is None:
                known.rows.pop(name, None)
                self._lasts.forget(name)
                continue
            known.rows[name] = new
            if new.brief.next_fires and (old is None or old.brief.next_fires != new.brief.next_fires):
                heapq.heappush(known.next_fires, (new.brief.next_fires[0], name))
        # Also those whose rows are what they were: a run may have come and gone between two looks.
        touched = sights.keys() & known.rows.keys()
        self._lasts.follow({name: known.rows[name].brief.shards or 1 for name in touched})
        return changed

    def _passed(self, now: datetime) -> set[str]:
        """The jobs whose next fire is not to come any more."""
        fires, found = self._known.next_fires, set()
        while fires and fires[0][0] <= now:
            found.add(heapq.heappop(fires)[1])
        return found

    def _news(self) -> set[str]:
        return self._lasts.taken_news() & self._known.rows.keys()

    # -- telling ------------------------------------------------------------------------------------

    def _say_trouble(self, why: str) -> None:
        if self._trouble == why:
            return
        if not self._trouble:
            log.warning("%s: %s", self._name, why)
        event = _event("trouble", {"error": why})
        with self._lock:
            self._trouble = why
            self._ready.set()
            for listener in self._listeners:
                listener.tell(event)

    def _tell(
        self,
        changed: set[str],
        focused: Mapping[str, looking.Sight | None],
        told: set[str],
        first: bool,
    ) -> None:
        picture = self._picture
        assert picture is not None
        if first:
            event = _hello(picture)
            with self._lock:
                self._trouble, self._greeted = "", True
                self._ready.set()
                for listener in self._listeners:
                    listener.tell(event)
        elif changed or told:
            event = self._jobs_event(picture, changed | told)
            for listener in self._listeners:
                listener.tell(event)
        events = {name: _job_event(sight) for name, sight in focused.items() if sight is not None}
        for listener in self._listeners:
            if listener.job in events:
                listener.tell(events[listener.job])
        self._tell_the_slow()

    def _tell_the_slow(self) -> None:
        for listener in self._listeners:
            if listener.behind() and self._picture is not None:
                listener.tell(_hello(self._picture))

    def _jobs_event(self, picture: Picture, names: Collection[str]) -> Event:
        many = len(names) > MANY
        there = [] if many else sorted(name for name in names if name in picture.rows)
        gone = [] if many else sorted(name for name in names if name not in picture.rows)
        rows = [{**told(picture.rows[name]), "last": self._lasts.told(name)} for name in there]
        statistics = picture.statistics.as_json()
        return _event("jobs", {"changed": rows, "gone": gone, "many": many, "statistics": statistics})


class _Following:
    """The mirrors, and what has changed in them."""

    def __init__(self, registry: Registry, bell: threading.Event) -> None:
        self.registry = registry
        self._theirs = registry.mirror(registry.namespace)
        self._ours = registry.mirror(f"{registry.namespace}{looking.OURS}")
        self._changed: set[str] = set()
        # What may have to be read, by job: nodes that were told to have changed, and not how.
        self._stale: dict[Tree, dict[str, set[str]]] = {self._theirs: {}, self._ours: {}}
        for tree in self._stale:
            tree.journal = set(tree)
        registry.bell = bell.set

    def complete(self) -> bool:
        return self._theirs.synced and self._ours.synced

    def changed(self, with_cursors: Collection[str]) -> set[str]:
        """The jobs of which something has changed since this was asked; of cursors only where they count."""
        self._gather(with_cursors)
        found, self._changed = self._changed, set()
        return found

    def read_up(self, names: Collection[str], with_cursors: Collection[str]) -> set[str]:
        """Read what of these jobs was only told to have changed; gives back those that are not known now."""
        for _ in range(TRIES):
            unread = self._all_unread(names, with_cursors)
            if not unread:
                return set()
            try:
                self.registry.wait(self.registry.read(unread))
            except NotAllowed:
                continue  # what we may not read is known for that now, and counts as empty
            except (RegistryError, TimeoutError) as error:
                log.debug("what has changed could not be read: %s", error)
                return set(names)
        # What changes all the time, or did while others were read last, keeps nobody from the others.
        return {self._job_of(path) for path in self._all_unread(names, with_cursors)}

    def _all_unread(self, names: Collection[str], with_cursors: Collection[str]) -> tuple[str, ...]:
        self._gather(with_cursors)
        return (*self._unread(self._theirs, names, ()), *self._unread(self._ours, names, with_cursors))

    def _job_of(self, path: str) -> str:
        root = next(tree.root for tree in (self._ours, self._theirs) if path.startswith(f"{tree.root}/"))
        return path[len(root) + 1 :].partition("/")[0]

    def sight(self, name: str, now: datetime, *, cursors: bool) -> looking.Sight | None:
        """How a job stands; None where there is none."""
        if f"{name}/{settings.NODE}" not in self._theirs:
            return None
        root, own_root = self._theirs.full(name), self._ours.full(name)
        job, own = Branch(self._theirs, name), Branch(self._ours, f"{name}/watched")
        claimed = Branch(self._ours, f"{name}/cursor") if cursors else None
        return looking.sight_of(name, root, own_root, job, own, claimed, now)

    def _gather(self, with_cursors: Collection[str]) -> None:
        """Take what the mirrors have noted."""
        for tree, stale in self._stale.items():
            journal, tree.journal = tree.journal or set(), set()
            for path in journal:
                name, _, rest = path.partition("/")
                if not name:
                    continue
                stale.setdefault(name, set()).add(path)
                if tree is self._theirs or name in with_cursors or not _is_cursor(rest):
                    self._changed.add(name)

    def _unread(self, tree: Tree, names: Collection[str], with_cursors: Collection[str]) -> tuple[str, ...]:
        """What has to be read of these jobs."""
        wanted: list[str] = []
        for name in names:
            stale = self._stale[tree].pop(name, set())
            later = {path for path in stale if tree is self._ours and _is_cursor(path.partition("/")[2])}
            if name in with_cursors:
                later = set()
            if later:
                self._stale[tree][name] = later
            wanted.extend(stale - later)
        try:
            tree.need(wanted)
        except Unread as unread:
            for path in unread.paths:
                inner = path[len(tree.root) + 1 :]
                self._stale[tree].setdefault(inner.partition("/")[0], set()).add(inner)
            return unread.paths
        return ()


def _is_cursor(rest: str) -> bool:
    return rest == "cursor" or rest.startswith("cursor/")


def told(row: Row) -> dict[str, object]:
    """A row of the fleet, but for what the history knows."""
    return {**row.brief.as_json(), "java": row.java}


def _hello(picture: Picture) -> Event:
    return _event("hello", {"at": plain(picture.at), "statistics": picture.statistics.as_json()})


def _job_event(sight: looking.Sight) -> Event:
    return _event(
        "job",
        {
            "brief": jobs.seen([sight], fires=5)[0].as_json(),
            "leader": jobs.leader_of(sight),
            "members": [each.as_json() for each in jobs.members(sight)],
            "map": shards.mapped(sight).as_json(),
        },
    )


def _event(name: str, data: Mapping[str, object]) -> Event:
    return Event(name, json.dumps(data, separators=(",", ":")))
