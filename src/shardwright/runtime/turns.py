"""Turns: how anybody here takes part in something the registry keeps.

A turn looks, decides, and sends what was decided; until every answer is back there is no other turn.
Nothing here waits or sleeps: whoever drives it calls `turn` when the registry has news, when something
here has happened, and at the time that `due` asks for. The same turns are driven by a thread in
production and by a seeded clock in simulation.
"""

# ruff: noqa: B027 - not everybody has something of its own to do at each occasion

import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from ..coordination.step import Effect, Look, Step
from ..errors import NotAllowed
from ..registry import Landed, Node, Outcome, Refused, Registry, Tree, Unknown, Unread, Write
from ..registry.writes import moved

log = logging.getLogger("shardwright")

#: After a refusal that no news explains: how long until the next look, at first and at most.
BACK_OFF, BACK_OFF_MOST = 0.05, 2.0

#: After how many refusals in a row, without news that would explain them, they are worth telling.
TELLING = 4

#: How many sentences are remembered, so that each is said once.
SAID = 1000

#: By how many seconds the registry's time may be told differently without having been set.
JUMP = 0.5

#: Spreads load and guards nothing; one for all, because each takes room and time to make.
_CHANCE = random.Random()  # noqa: S311

T = TypeVar("T")


class Turns(ABC):
    """One who takes turns. `name` is what the log calls it.

    `wake` is called whenever a turn is worth taking; `commit` sends writes, in whatever company, in the
    registry's stead. Who takes turns says where its trees are, what it decides and what then is done.
    """

    def __init__(
        self,
        name: str,
        registry: Registry,
        trees: Sequence[Tree],
        *,
        wake: Callable[[], None] = lambda: None,
        commit: Callable[..., Future[Outcome]] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self.left = False
        """Whether we are out of it, and take no more turns."""
        self._name = name
        self._registry = registry
        self._trees = trees
        self._wake = wake
        self._commit = commit or registry.commit
        self._chance = chance or _CHANCE
        self._session = ""
        self._under_way = 0
        self._restless = True
        self._seen: tuple[int, ...] = ()
        self._news: tuple[int, ...] = ()
        self._look_at: float | None = None
        self._refusals = self._unheard = 0
        self._said: set[str] = set()
        self._failure: Exception | None = None
        self._time: float | None = None
        for tree in trees:
            tree.watchers.append(wake)

    # -- what each has of its own -------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """A new session: whatever we were in the one before is over."""

    @abstractmethod
    def _decide_now(self) -> Iterable[Step | Look]:
        """Look, and decide."""

    @abstractmethod
    def _effect(self, effect: Effect, number: int) -> None:
        """Do what was decided to be done here, now that the writes it stands on have landed."""

    @abstractmethod
    def _full(self, path: str) -> str:
        """A decision's path as the registry says it."""

    def lose_lease(self) -> None:
        """The registry may have given us up."""

    def _landed(self, step: Step, writes: Sequence[Write], number: int) -> None:
        """What we wrote is in the registry."""

    def _stands(self, step: Step) -> bool:
        """Whether what was decided may be done, now that it has landed."""
        return True

    def _not_landed(self, step: Step, writes: Sequence[Write], outcome: Refused | Unknown) -> None:
        """What we wrote is not in the registry, or it cannot be told."""

    def _was_read(self, path: str, node: Node | None) -> None:
        """What a node holds has been read."""

    # -- what drives it -----------------------------------------------------------------------------

    def due(self) -> float | None:
        """The boot clock at which to take a turn although nothing happened."""
        return self._look_at

    def turn(self) -> bool:
        """Look, decide, and send, unless nothing has changed since the last look; whether we looked."""
        if self._failure is not None:
            raise self._failure
        session = self._registry.session()
        if session is None or self._under_way or self.left:
            return False
        for tree in self._trees:
            if not tree.synced:
                return False
        if session.id != self._session:
            self._session = session.id
            self._begin()
            self._again = True
        seen = self._changes()
        waits = self._look_at is None or self._registry.clock.boot() < self._look_at
        if seen == self._seen and not self._again and waits and not self._clock_was_set():
            return False
        self._seen, self._again, self._look_at = seen, False, None
        self._time = self._ahead()
        try:
            decided = list(self._decide_now())
        except Unread as unread:
            self._read(unread.paths)
            return True
        if not self._holds():
            # We stood still over it, for so long that others may hold us for dead: it was decided by the time
            # of day that it is now, and by what we knew then.
            self._again = True
            return True
        for each in decided:
            if isinstance(each, Look):
                self._look_at = each.at if self._look_at is None else min(self._look_at, each.at)
            else:
                self._perform(each)
        return True

    def _follow(self, tree: Tree) -> None:
        """Look at one more tree from now on."""
        self._trees = (*self._trees, tree)
        tree.watchers.append(self._wake)

    def recover(self) -> None:
        """After a turn has failed: look again."""
        self._failure = None
        self._again = True

    def close(self) -> None:
        """Keep no mirrors any longer, except those that others look at too."""
        for tree in self._trees:
            tree.watchers.remove(self._wake)
            if not tree.watchers:
                self._registry.forget(tree)

    @property
    def _again(self) -> bool:
        """Whether to look although nothing is new in the registry."""
        return self._restless

    @_again.setter
    def _again(self, again: bool) -> None:
        self._restless = again
        if again:
            self._wake()

    def _changes(self) -> tuple[int, ...]:
        return tuple([tree.changes for tree in self._trees])

    def _clock_was_set(self) -> bool:
        """Whether the registry's time of day has jumped: what we were to look at by the boot clock may be due
        now."""
        return self._time is not None and abs(self._ahead() - self._time) > JUMP

    def _ahead(self) -> float:
        """By how much the registry's time of day is ahead of the boot clock."""
        return self._registry.now().timestamp() - self._registry.clock.boot()

    # -- reading ------------------------------------------------------------------------------------

    def _read(self, paths: Iterable[str], *, fresh: bool = False) -> None:
        """Read, and look again when it is known; if asked for `fresh`, only if it tells us something new."""
        session = self._session
        self._under_way += 1

        def done(answer: "Future[dict[str, Node | None]]") -> None:
            self._under_way -= 1
            if (error := answer.exception()) is not None:
                if isinstance(error, NotAllowed):
                    self._say(f"cannot read what it needs to: {error}", logging.WARNING)
                self._look_later()
                return
            self._unheard = 0
            self._again = self._again or not fresh
            if session == self._session:
                for path, node in answer.result().items():
                    self._was_read(path, node)

        self._registry.read(paths, fresh=fresh).add_done_callback(self._heeding(done))

    def _heeding(self, act: Callable[[Future[T]], None]) -> Callable[[Future[T]], None]:
        """What a future calls back must not fail unheard: the next turn raises it."""

        def called_back(future: Future[T]) -> None:
            try:
                act(future)
            except Exception as error:
                self._failure = error

        return called_back

    # -- doing --------------------------------------------------------------------------------------

    def _perform(self, step: Step) -> None:
        if not step.writes:
            if step.then is not None:
                self._effect(step.then, 0)
            return
        writes = [moved(write, self._full(write.path)) for write in step.writes]
        session = self._session
        self._under_way += 1
        future = self._commit(*writes)
        future.add_done_callback(
            self._heeding(lambda done: self._answered(step, writes, session, done.result()))
        )

    def _answered(self, step: Step, writes: Sequence[Write], session: str, outcome: Outcome) -> None:
        self._under_way -= 1
        self._again = True
        if session != self._session:
            return
        match outcome:
            case Landed(number):
                self._refusals = 0
                self._landed(step, writes, number)
                if step.then is not None and self._stands(step):
                    self._effect(step.then, number)
            case Refused() | Unknown():
                self._not_landed(step, writes, outcome)
                self._wait_a_little(writes, outcome.why)

    def _wait_a_little(self, writes: Sequence[Write], why: str) -> None:
        """The world has moved on, and we shall be told how. If we are not, read what the step relied on, and
        do not insist too quickly."""
        self._refusals += 1
        news = self._changes()
        if news != self._news:
            self._news = news
            return
        if self._refusals >= TELLING:
            self._say(f"the registry does not do as we ask, and is asked again: {why}", logging.WARNING)
        self._again = False
        self._look_after(self._refusals)
        self._read([write.path for write in writes], fresh=True)

    def _look_later(self) -> None:
        """What we asked was not answered: ask again, and do not insist too quickly."""
        self._unheard += 1
        self._look_after(self._unheard)

    def _look_after(self, failures: int) -> None:
        longest = min(BACK_OFF_MOST, BACK_OFF * 2 ** min(failures, 10))
        again = self._registry.clock.boot() + longest * (0.5 + self._chance.random() / 2)
        self._look_at = again if self._look_at is None else min(self._look_at, again)
        self._wake()

    def _say(self, what: str, level: int = logging.INFO) -> None:
        """Tell the operator, once."""
        if what in self._said:
            return
        if len(self._said) >= SAID:
            self._said.clear()
        self._said.add(what)
        log.log(level, "%s: %s", self._name, what)

    def _holds(self) -> bool:
        """Whether the session we decided in is still ours, by our own clock too."""
        session = self._registry.session()
        return session is not None and session.id == self._session and session.lease_left() > 0
