"""A member: one job in this process, from looking to having it done.

A turn looks at the job, decides, and sends what was decided; until every answer is back there is no other
turn. Nothing here waits or sleeps: whoever drives the member calls `turn` when the registry has news,
when a run has ended, and at the time it asks for. The same turns are driven by a thread in production and
by a seeded clock in simulation.
"""

import logging
import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from .. import coordination
from ..coordination import instance, leader
from ..coordination.ending import CUT_SHORT
from ..coordination.step import (
    Adopt,
    Called,
    CallHook,
    Claim,
    Forget,
    Go,
    Leave,
    Look,
    Refuse,
    Reject,
    Reread,
    Saved,
    Say,
    Start,
    Step,
    Stop,
    Sure,
)
from ..coordination.view import Call, Cursors, Hooks, Local, Nodes, Run, View
from ..jobs import JobConfig
from ..registry import Create, Landed, Node, Outcome, Put, Refused, Registry, Tree, Unknown, Unread, Write
from ..shard import check_checkpoint

log = logging.getLogger(__name__)

#: After a refusal that no news explains: how long until the next look, at first and at most.
BACK_OFF, BACK_OFF_MOST = 0.05, 2.0

#: How many characters are kept of how a run ended.
LONGEST_OUTCOME = 1000

#: By how many seconds the registry's time may be told differently without having been set.
JUMP = 0.5

#: How many sentences are remembered, so that each is said once.
SAID = 1000

Work = Callable[[Claim, int], None]
RunEffect = Start | Go | CallHook | Forget | Saved | Called | Sure | Reread
T = TypeVar("T")


class Member:
    """One job in this process.

    `work` is called to run a claimed shard under the number of its claim; it must return at once, and
    `finished` must be called when the run is over. `cancel` is called for a run that is no longer ours: its
    claim went with our session, or we were ordered to stop. `call` is called to call a hook for a fire, and
    `called` must be when that is over.

    `slots` says how many more shards could start at once. `wake` is called whenever a turn is worth taking;
    `commit` sends writes, in whatever company, in the registry's stead.

    `config` is what our own code asks for; `settings` are those that hold, once they are agreed.
    """

    def __init__(
        self,
        registry: Registry,
        config: JobConfig,
        *,
        identity: Callable[[], str],
        work: Work,
        cancel: Callable[[int, str], None] = lambda item, attempt: None,
        call: Callable[[str, str], None] = lambda round, fire: None,
        hooks: Hooks | None = None,
        kind: str = "",
        slots: Callable[[], int] = lambda: 1,
        wake: Callable[[], None] = lambda: None,
        commit: Callable[..., Future[Outcome]] | None = None,
        decide: Callable[[View], Iterable[Step | Look]] = coordination.decide,
        chance: random.Random | None = None,
    ) -> None:
        self.config = config
        self.settings = config
        self.local = Local(hooks=hooks or Hooks())
        self.me = ""
        self.left = False
        self.refused: str | None = None
        """Why we cannot be in the job at all."""
        self.on_left: Callable[[], None] = lambda: None
        """Called when we have left, or were refused."""
        self._registry = registry
        self._identity, self._work, self._cancel, self._decide = identity, work, cancel, decide
        self._call, self._kind, self._slots, self._wake = call, kind, slots, wake
        self._commit = commit or registry.commit
        self._chance = chance or random.Random()  # noqa: S311 - spreads load, guards nothing
        namespace = registry.namespace
        self._root = f"{namespace}/{config.name}"
        self._own_root = f"{namespace}~shardwright/{config.name}"
        self._job: Tree = registry.mirror(self._root)
        self._own: Tree = registry.mirror(f"{self._own_root}/watched")
        self._schedule = config.timetable()
        self._session = ""
        self._cursors: dict[int, Node | None] = {}
        self._learned: dict[int, float] = {}
        self._under_way = 0
        self._restless = True
        self._seen = (-1, -1)
        self._look_at: float | None = None
        self._refusals = 0
        self._said: set[str] = set()
        self._news: tuple[int, int] = (-1, -1)
        self._held: dict[int, tuple[Claim, int]] = {}
        self._asking: list[Callable[[View | None], bool]] = []
        self._failure: Exception | None = None
        self._time: float | None = None
        for tree in (self._job, self._own):
            tree.watchers.append(wake)

    # -- what drives it -----------------------------------------------------------------------------

    def due(self) -> float | None:
        """The boot clock at which to take a turn although nothing happened."""
        return self._look_at

    def turn(self) -> bool:
        """Look, decide, and send, unless nothing has changed since the last look; whether we looked."""
        if self._failure is not None:
            raise self._failure
        session = self._registry.session()
        if session is None or self._under_way or self.left or not (self._job.synced and self._own.synced):
            return False
        if session.id != self._session:
            self._begin(session.id)
        now = self._registry.clock.boot()
        seen = (self._job.changes, self._own.changes)
        waits = self._look_at is None or now < self._look_at
        if seen == self._seen and not self._again and waits and not self._clock_was_set():
            return False
        self._seen, self._again, self._look_at = seen, False, None
        self._time = self._ahead()
        try:
            view = self._view()
            decided = list(self._decide(view))
            self._answer(view)
        except Unread as unread:
            self._read(unread.paths)
            return True
        for each in decided:
            if isinstance(each, Look):
                self._look_at = each.at if self._look_at is None else min(self._look_at, each.at)
            else:
                self._perform(each)
        return True

    def finished(self, item: int, attempt: str, outcome: str) -> None:
        """A run is over; ignored where it is not one of ours any more, or was over before."""
        run = self.local.runs.get(item)
        if run is not None and run.attempt == attempt and run.outcome is None:
            self._set_run(item, replace(run, outcome=outcome[:LONGEST_OUTCOME]))
            self._again = True

    def save(self, item: int, attempt: str, checkpoint: str) -> None:
        """Leave a text for whoever runs the shard next, written under the run's claim or not at all."""
        check_checkpoint(checkpoint)
        run = self.local.runs.get(item)
        if run is not None and run.attempt == attempt and run.outcome is None:
            self._set_run(item, replace(run, unsaved=checkpoint))
            self._again = True

    def called(self, round_: str, fire: str, outcome: str) -> None:
        """A hook has been called."""
        call = self.local.calls.get(round_)
        if call is not None and call.fire == fire:
            self.local = replace(
                self.local, calls={**self.local.calls, round_: replace(call, outcome=outcome)}
            )
            self._again = True

    def ask(self, question: Callable[[View], T | None], otherwise: T) -> "Future[T]":
        """The first answer to a question about the job, as soon as there is one; `otherwise` once we have
        left. Whoever waits for it sets the deadline."""
        future: Future[T] = Future()

        def tell(view: View | None) -> bool:
            answer = otherwise if view is None else question(view)
            if answer is None:
                return False
            if future.set_running_or_notify_cancel():
                future.set_result(answer)
            return True

        self._asking.append(tell)
        self._again = True
        if self.left:
            self._answer(None)
        return future

    def is_leader(self) -> "Future[bool]":
        """Whether we lead the job, as soon as somebody does or nobody can."""
        return self.ask(leader.verdict, otherwise=False)

    def is_known(self) -> "Future[bool]":
        """Whether we are in the job, as soon as we are."""
        return self.ask(lambda view: instance.registered(view) or None, otherwise=False)

    def _answer(self, view: View | None) -> None:
        """Answer those who asked, as far as it can be told."""
        for tell in list(self._asking):
            if tell(view):
                self._asking.remove(tell)

    def drain(self) -> None:
        """Leave in order. What is claimed and has not begun is left to others."""
        self.local = replace(self.local, draining=True)
        self._give_back()
        self._again = True

    def recover(self) -> None:
        """After a turn has failed: forget what may be half known, and look again."""
        self._failure = None
        self._cursors.clear()
        self._again = True

    def lose_lease(self) -> None:
        """The registry may have given us up: what runs is told to stop, unless the job wants it to go on."""
        if self.settings.lease_lost == "stop":
            self._cancel_all()

    def close(self) -> None:
        """Keep no mirrors any longer."""
        for tree in (self._job, self._own):
            tree.watchers.clear()
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

    def _clock_was_set(self) -> bool:
        """Whether the registry's time of day has jumped: what we were to look at by the boot clock may be due
        now."""
        return self._time is not None and abs(self._ahead() - self._time) > JUMP

    def _ahead(self) -> float:
        """By how much the registry's time of day is ahead of the boot clock."""
        return self._registry.now().timestamp() - self._registry.clock.boot()

    # -- looking ------------------------------------------------------------------------------------

    def _begin(self, session: str) -> None:
        """A new session: we are somebody else now, and what ran before is no longer ours."""
        self._session = session
        self.me = self._identity()
        self._cursors.clear()
        self._cancel_all()
        self._held.clear()
        self.local = replace(self.local, runs={}, calls={}, unsure=frozenset(), since=self._registry.now())
        self._again = True

    def _view(self) -> View:
        now = self._registry.now()
        if now < self.local.since:
            # The registry's clock was set back: we have been there all the time.
            self.local = replace(self.local, since=now)
        return View(
            Nodes(self._job, self._own),
            self.me,
            self._session,
            now,
            self._registry.clock.boot(),
            self.settings,
            self._schedule,
            Cursors(f"{self._own_root}/cursor", self._cursors, self._learned),
            replace(self.local, slots=self._slots()),
            self.config,
            self._kind,
            self._registry.clock.wall(),
            self._registry.largest // 2,
        )

    def _read(self, paths: Iterable[str], *, fresh: bool = False) -> None:
        """Read, and look again when it is known; if asked for `fresh`, only if it tells us something new."""
        session = self._session
        self._under_way += 1

        def done(answer: "Future[dict[str, Node | None]]") -> None:
            self._under_way -= 1
            self._again = self._again or not fresh
            if answer.exception() is None and session == self._session:
                for path, node in answer.result().items():
                    item = self._item_of(path)
                    if item is not None:
                        self._know(item, node)

        self._registry.read(paths, fresh=fresh).add_done_callback(self._heeding(done))

    def _heeding(self, act: Callable[[Future[T]], None]) -> Callable[[Future[T]], None]:
        """What a future calls back must not fail unheard: the next turn raises it."""

        def called_back(future: Future[T]) -> None:
            try:
                act(future)
            except Exception as error:
                self._failure = error

        return called_back

    def _item_of(self, path: str) -> int | None:
        folder, _, name = path.rpartition("/")
        return int(name) if folder == f"{self._own_root}/cursor" else None

    # -- doing --------------------------------------------------------------------------------------

    def _perform(self, step: Step) -> None:
        if not step.writes:
            self._effect(step, 0)
            return
        writes = [replace(write, path=self._full(write.path)) for write in step.writes]
        session = self._session
        self._under_way += 1
        future = self._commit(*writes)
        future.add_done_callback(
            self._heeding(lambda done: self._answered(step, writes, session, done.result()))
        )

    def _answered(self, step: Step, writes: list[Write], session: str, outcome: Outcome) -> None:
        self._under_way -= 1
        self._again = True
        if session != self._session:
            return
        match outcome:
            case Landed(number):
                self._refusals = 0
                self._learn(writes, number)
                self._effect(step, number)
            case Unknown():
                if isinstance(step.then, Start):
                    claimed = {claim.item for claim in step.then.claims}
                    self.local = replace(self.local, unsure=self.local.unsure | claimed)
                self._forget(writes)
                self._wait_a_little(writes)
            case Refused():
                self._forget(writes)
                self._wait_a_little(writes)

    def _learn(self, writes: list[Write], number: int) -> None:
        """What we wrote to cursors is what they hold."""
        for write in writes:
            item = self._item_of(write.path)
            if item is None:
                continue
            if isinstance(write, Create):
                self._know(item, Node(write.data, 0, "", number, number))
            elif isinstance(write, Put) and write.version is not None:
                known = self._cursors.get(item)
                made = known.made if known is not None else 0
                self._know(item, Node(write.data, write.version + 1, "", made, number))

    def _know(self, item: int, node: Node | None) -> None:
        self._cursors[item] = node
        self._learned[item] = self._registry.clock.boot()

    def _forget(self, writes: list[Write]) -> None:
        for write in writes:
            item = self._item_of(write.path)
            if item is not None:
                self._cursors.pop(item, None)

    def _wait_a_little(self, writes: list[Write]) -> None:
        """The world has moved on, and we shall be told how. If we are not, read what the step relied on, and
        do not insist too quickly."""
        self._refusals += 1
        news = (self._job.changes, self._own.changes)
        if news != self._news:
            self._news = news
            return
        longest = min(BACK_OFF_MOST, BACK_OFF * 2 ** min(self._refusals, 10))
        self._again = False
        again = self._registry.clock.boot() + longest * (0.5 + self._chance.random() / 2)
        self._look_at = again if self._look_at is None else min(self._look_at, again)
        self._wake()
        self._read([write.path for write in writes], fresh=True)

    def _effect(self, step: Step, number: int) -> None:
        """Do what was decided to be done here, now that the writes it stands on have landed."""
        match step.then:
            case None:
                return
            case Start() | Go() | CallHook() | Forget() | Saved() | Called() | Sure() | Reread() as effect:
                self._effect_on_runs(effect, number)
            case Say(what):
                if what not in self._said:
                    if len(self._said) >= SAID:
                        self._said.clear()
                    self._said.add(what)
                    log.info("%s: %s", self.config.name, what)
                return
            case Stop(why):
                log.warning("%s: stopped, %s", self.config.name, why)
                self.local = replace(self.local, stopped=True)
                self._cancel_all()
            case Leave():
                self._leave()
            case Adopt(text, config):
                self._adopt(text, config)
            case Reject(text, why):
                log.error("%s: its new settings are not taken up: %s", self.config.name, why)
                self.local = replace(self.local, adopted=text)
            case Refuse(why):
                log.error("%s: %s", self.config.name, why)
                self.refused = why
                self._leave()
        self._again = True

    def _leave(self) -> None:
        self.left = True
        self._answer(None)
        self.on_left()

    def _effect_on_runs(self, effect: RunEffect, number: int) -> None:
        local = self.local
        match effect:
            case Start(claims) if not self._holds():
                # The answer came when we may be given up already. If we are not, the claim is found again.
                self.local = replace(local, unsure=local.unsure.union(claim.item for claim in claims))
            case Go() | CallHook() if not self._holds():
                pass
            case Start(claims):
                self._start(claims, number)
            case Go(items):
                begun = {item: replace(local.runs[item], held=False) for item in items}
                self._set_runs({**local.runs, **begun})
                for item in items:
                    self._work(*self._held.pop(item))
            case Forget(items):
                over = frozenset(items)
                self._set_runs({item: run for item, run in local.runs.items() if item not in over})
            case Saved(texts):
                for item, text in texts:
                    run = self.local.runs.get(item)
                    if run is not None and run.unsaved == text:
                        self._set_run(item, replace(run, unsaved=None))
            case Sure(item):
                self.local = replace(local, unsure=local.unsure - {item})
            case Reread(items):
                for item in items:
                    self._cursors.pop(item, None)
            case CallHook(round_, fire):
                self.local = replace(local, calls={**local.calls, round_: Call(fire)})
                self._call(round_, fire)
            case Called(round_):
                calls = {name: call for name, call in local.calls.items() if name != round_}
                self.local = replace(local, calls=calls)

    def _start(self, claims: tuple[Claim, ...], number: int) -> None:
        held = self.local.hooks.started
        new = {claim.item: Run(claim.attempt, fire=claim.fire, held=held) for claim in claims}
        self._set_runs({**self.local.runs, **new})
        self.local = replace(self.local, unsure=self.local.unsure.difference(new))
        for claim in claims:
            if held:
                self._held[claim.item] = (claim, number)
            else:
                self._work(claim, number)

    def _adopt(self, text: str, config: JobConfig) -> None:
        if self.local.adopted is not None and config != self.settings:
            log.info("%s: its settings have changed", self.config.name)
        self.settings = config
        self._schedule = config.timetable()
        self.local = replace(self.local, adopted=text)
        self._again = True

    def _holds(self) -> bool:
        """Whether the session we decided in is still ours, by our own clock too."""
        session = self._registry.session()
        return session is not None and session.id == self._session and session.lease_left() > 0

    def _give_back(self) -> None:
        """What was held until all were claimed does not begin here any more."""
        for item, (claim, _) in list(self._held.items()):
            del self._held[item]
            self.finished(item, claim.attempt, CUT_SHORT)

    def _cancel_all(self) -> None:
        self._give_back()
        for item, run in list(self.local.runs.items()):
            if run.outcome is None:
                self._cancel(item, run.attempt)

    def _set_run(self, item: int, run: Run) -> None:
        self._set_runs({**self.local.runs, item: run})

    def _set_runs(self, runs: Mapping[int, Run]) -> None:
        self.local = replace(self.local, runs=runs)

    def _full(self, path: str) -> str:
        """A path as the registry says it: the job's, ours that are watched (~), ours that are not (~~)."""
        if path.startswith("~~"):
            return f"{self._own_root}/{path[2:]}"
        if path.startswith("~"):
            return f"{self._own_root}/watched/{path[1:]}"
        return f"{self._root}/{path}" if path else self._root
