"""A member: one job in this process. How it takes turns is said in `turns`; here is what a job has of its
own: its settings, its cursors, its runs and hooks, and what is done about them."""

import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol, TypeVar

from .. import coordination
from ..coordination import claim as claims
from ..coordination import failover, instance, leader, sharding
from ..coordination.account import Entry
from ..coordination.step import (
    Adopt,
    Called,
    CallHook,
    Claim,
    Effect,
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
    Supersede,
    Sure,
    Veto,
)
from ..coordination.view import Call, Cursors, Hooks, Local, Nodes, Run, View
from ..jobs import JobConfig
from ..outcomes import CUT_SHORT, FAILED
from ..registry import Create, Node, Outcome, Put, Refused, Registry, Require, Tree, Unknown, Write
from ..shard import check_checkpoint
from .turns import Turns

log = logging.getLogger(__name__)

#: Where the places of groups are, beside all jobs of a namespace.
GROUPS = "~shardwright~groups"

#: By what its cursor says in the end: why a fire is lost that did not come to its end, and is not run again.
NOT_AGAIN = {
    failover.DIED: f"{failover.DIED}, and the job does not want it to be run again",
    CUT_SHORT: claims.NOT_AGAIN,
}

#: How many characters are kept of how a run ended.
LONGEST_OUTCOME = 1000

Work = Callable[[Claim, int], None]


class Witness(Protocol):
    """Who is told what happens to a job here, besides what is to be done."""

    @property
    def keeps(self) -> bool:
        """Whether there is a history here, so that cursors have to say what becomes of fires."""

    @property
    def heard(self) -> bool:
        """Whether anybody wants to be told, a history or not."""

    def account(self, made: int, item: int, entries: tuple[Entry, ...], *, after: int, ours: bool) -> None:
        """What became of fires: of which making of the job, of which shard, and what; maybe more than once.
        It is all that there is to say after the entry of that number. `ours` is what we have written
        ourselves, which nobody was told before. `Member.kept` must be called when the history has it. Where
        there is none, it is only what we have written ourselves, told once."""

    def moved(self, shards: int) -> None:
        """We have given so many shards to others."""

    def refused(self, item: int) -> None:
        """What we wrote for a shard came too late."""


class Nobody:
    """Nobody is told."""

    keeps = heard = False

    def account(
        self, made: int, item: int, entries: tuple[Entry, ...], *, after: int, ours: bool
    ) -> None: ...
    def moved(self, shards: int) -> None: ...
    def refused(self, item: int) -> None: ...


RunEffect = Start | Supersede | Go | Veto | CallHook | Forget | Saved | Called | Sure | Reread
T = TypeVar("T")


class Member(Turns):
    """One job in this process.

    `work` is called to run a claimed shard under the number of its claim; it must return at once, and
    `finished` must be called when the run is over. `cancel` is called for a run that is no longer ours: we
    were ordered to stop, or its claim went with our session and the job does not want it to go on;
    `supersede` for one that the next fire has come to, where the job wants that to end it. `veto` is called
    instead of `work` for a shard that is not to begin, because a hook forbids it. `call` is called to call a
    hook for a fire, and `called` must be when that is over. `lost` is called with a shard, its fire and a
    sentence when we have written of a run that it did not come to its end and is not run again.

    `witness` is told what happens besides.

    `adopted` is called with the settings that held and those that hold from now on, where they differ.

    `slots` says how many more shards could start at once.

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
        supersede: Callable[[int, str], None] = lambda item, attempt: None,
        veto: Work | None = None,
        call: Callable[[CallHook], None] = lambda hook: None,
        lost: Callable[[int, str, str], None] = lambda item, fire, why: None,
        hooks: Hooks | None = None,
        witness: Witness | None = None,
        adopted: Callable[[JobConfig, JobConfig], None] = lambda before, now: None,
        kind: str = "",
        slots: Callable[[], int] = lambda: 1,
        wake: Callable[[], None] = lambda: None,
        commit: Callable[..., Future[Outcome]] | None = None,
        decide: Callable[[View], Iterable[Step | Look]] = coordination.decide,
        chance: random.Random | None = None,
    ) -> None:
        namespace = registry.namespace
        self._root = f"{namespace}/{config.name}"
        self._own_root = f"{namespace}~shardwright/{config.name}"
        self._job: Tree = registry.mirror(self._root)
        self._own: Tree = registry.mirror(f"{self._own_root}/watched")
        super().__init__(
            config.name, registry, (self._job, self._own), wake=wake, commit=commit, chance=chance
        )
        self.config = config
        self.settings = config
        self._witness = witness or Nobody()
        told = self._witness
        self.local = Local(
            hooks=hooks or Hooks(), kept={} if told.keeps else None, heard=told.heard and not told.keeps
        )
        self.me = ""
        self.refused: str | None = None
        """Why we cannot be in the job at all."""
        self.on_left: Callable[[], None] = lambda: None
        """Called when we have left, or were refused."""
        self._identity, self._work, self._cancel, self._decide = identity, work, cancel, decide
        self._call, self._kind, self._slots, self._supersede = call, kind, slots, supersede
        self._lost, self._veto, self._adopted = lost, veto or self._fail, adopted
        self._schedule = config.timetable()
        self._cursors: dict[int, Node | None] = {}
        self._learned: dict[int, float] = {}
        self._given: dict[int, int] = {}
        self._held: dict[int, tuple[Claim, int]] = {}
        self._groups: dict[str, Tree] = {}
        self._be_in_group(config)
        self._asking: list[Callable[[View | None], bool]] = []
        self._told: dict[int, tuple[int, int]] = {}
        """Up to which entry of each shard's account the history was told."""

    # -- what happens to it -------------------------------------------------------------------------

    def finished(self, item: int, attempt: str, outcome: str) -> None:
        """A run is over; ignored where it is not one of ours any more, or was over before."""
        run = self.local.runs.get(item)
        if (item, attempt) in self.local.loose:
            self.local = replace(self.local, loose=self.local.loose - {(item, attempt)})
            self._again = True
        elif run is not None and run.attempt == attempt and run.outcome is None:
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

    def to_move(self, item: int) -> bool:
        """Whether somebody waits for a shard that runs here, or for us to leave. Any thread may ask."""
        word, flag = sharding.next_node(item), sharding.NECESSARY
        return self.local.draining or word[1:] in self._own or flag in self._job

    def drain(self) -> None:
        """Leave in order. What is claimed and has not begun is left to others."""
        self.local = replace(self.local, draining=True)
        self._give_back()
        self._again = True

    def recover(self) -> None:
        """After a turn has failed: forget what may be half known, and look again."""
        self._cursors.clear()
        super().recover()

    def lose_lease(self) -> None:
        """The registry may have given us up: what runs is told to stop, unless the job wants it to go on."""
        if self.settings.lease_lost == "stop":
            self._cancel_all()

    # -- looking ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """A new session: we are somebody else now, and what ran before is no longer ours. What the job wants
        to go on all the same does, and nobody hears how it ends; an order to stop reaches it, too."""
        self.me = self._identity()
        self._cursors.clear()
        self._given = {}
        self._give_back()
        goes_on: frozenset[tuple[int, str]] = frozenset()
        if self.settings.lease_lost == "stop":
            self._cancel_all()
        else:
            runs = self.local.runs.items()
            goes_on = self.local.loose.union((item, run.attempt) for item, run in runs if run.outcome is None)
        self.local = replace(
            self.local, runs={}, calls={}, loose=goes_on, unsure=frozenset(), since=self._registry.now()
        )

    def _decide_now(self) -> list[Step | Look]:
        view = self._view()
        self._forget_cursors_of_what_was_given(sharding.given(view))
        decided = list(self._decide(view))
        self._answer(view)
        return decided

    def _forget_cursors_of_what_was_given(self, given: dict[int, int]) -> None:
        """A new owner reads the cursor once, also of a shard that was its own before: who had it meanwhile
        may have died over it, and nobody need have looked meanwhile."""
        if given == self._given:
            return
        for item, number in given.items():
            if self._given.get(item) != number:
                self._cursors.pop(item, None)
        self._given = given

    def _view(self) -> View:
        now = self._registry.now()
        if now < self.local.since:
            # The registry's clock was set back: we have been there all the time.
            self.local = replace(self.local, since=now)
        if self._slots() != self.local.slots:
            self.local = replace(self.local, slots=self._slots())
        return View(
            Nodes(self._job, self._own),
            self.me,
            self._session,
            now,
            self._registry.clock.boot(),
            self.settings,
            self._schedule,
            Cursors(f"{self._own_root}/cursor", self._cursors, self._learned),
            self.local,
            self.config,
            self._kind,
            self._registry.clock.wall(),
            self._registry.largest // 2,
            self._groups,
        )

    def _was_read(self, path: str, node: Node | None) -> None:
        item = self._item_of(path)
        if item is not None:
            self._know(item, node)

    def _item_of(self, path: str) -> int | None:
        folder, _, name = path.rpartition("/")
        return int(name) if folder == f"{self._own_root}/cursor" else None

    # -- doing --------------------------------------------------------------------------------------

    def _landed(self, step: Step, writes: Sequence[Write], number: int) -> None:
        """What we wrote to cursors is what they hold."""
        for write in writes:
            item = self._item_of(write.path)
            if item is None:
                continue
            if isinstance(write, Create):
                self._know(item, Node(write.data, 0, "", number, number), ours=True)
            elif isinstance(write, Put) and write.version is not None:
                known = self._cursors.get(item)
                made = known.made if known is not None else 0
                if known is not None:
                    self._tell_if_lost(item, claims.read(known.data), claims.read(write.data))
                self._know(item, Node(write.data, write.version + 1, "", made, number), ours=True)
        for told in step.writes:
            if isinstance(told, claims.ToldCreate | claims.ToldPut):
                item = int(told.path.rpartition("/")[2])
                made = claims.read(told.data).made
                self._witness.account(made, item, told.entries, after=0, ours=True)
        if moved := sum(_gives_away(write, self._root, self.me) for write in writes):
            self._witness.moved(moved)

    def _tell_if_lost(self, item: int, before: claims.Cursor, now: claims.Cursor) -> None:
        if before.run is not None and now.run is None and now.last in NOT_AGAIN:
            self._lost(item, before.run.fire, NOT_AGAIN[now.last])

    def _know(self, item: int, node: Node | None, *, ours: bool = False) -> None:
        self._cursors[item] = node
        self._learned[item] = self._registry.clock.boot()
        if node is not None and self.local.kept is not None:
            self._tell(item, claims.read(node.data), ours=ours)

    def _tell(self, item: int, cursor: claims.Cursor, *, ours: bool) -> None:
        """Have the history told what a cursor keeps for it, as far as it may not have been."""
        after = _of(cursor.made, self._told.get(item))
        new = tuple(entry for entry in cursor.tail if entry.number > after)
        if new:
            self._told[item] = cursor.made, new[-1].number
            self._witness.account(cursor.made, item, new, after=after, ours=ours)

    def made(self, item: int) -> int:
        """Which making of the job a shard that we have claimed is of."""
        known = self._cursors.get(item)
        return claims.read(known.data).made if known is not None else 0

    def kept(self, item: int, made: int, after: int, number: int) -> None:
        """The history has what a shard's cursor told of it, after one entry and up to another. Where what
        came before was never kept, the cursor goes on saying it, and all is told again with its next move."""
        if self.local.kept is None:
            return
        has = _of(made, self.local.kept.get(item))
        if after > has:
            self._told[item] = made, has
        else:
            self.local = replace(self.local, kept={**self.local.kept, item: (made, max(has, number))})

    def _stands(self, step: Step) -> bool:
        if not isinstance(step.then, Start) or not self._made_anew(step):
            return True
        # What made it ours may be gone. The claim is found again, and looked at.
        claimed = {claim.item for claim in step.then.claims}
        self.local = replace(self.local, unsure=self.local.unsure | claimed)
        return False

    def _made_anew(self, step: Step) -> bool:
        """Whether somebody wrote a node between our look and our commit, though the version we required was
        right: a node that a Java member deletes and makes again has the version it had. The registry tells of
        that before it answers."""
        required = (write.path for write in step.writes if isinstance(write, Require))
        theirs = (path for path in required if path[:1] not in ("~", "+"))
        return any(self._job.known(path) is None for path in theirs)

    def _not_landed(self, step: Step, writes: Sequence[Write], outcome: Refused | Unknown) -> None:
        if isinstance(outcome, Unknown) and isinstance(step.then, Start):
            claimed = {claim.item for claim in step.then.claims}
            self.local = replace(self.local, unsure=self.local.unsure | claimed)
        for write in writes:
            item = self._item_of(write.path)
            if item is not None:
                self._cursors.pop(item, None)
        if isinstance(outcome, Refused) and isinstance(step.then, Forget):
            for late in step.then.items:
                self._witness.refused(late)

    def _effect(self, effect: Effect, number: int) -> None:
        match effect:
            case _ if isinstance(effect, RunEffect):
                self._effect_on_runs(effect, number)
            case Say(what):
                self._say(what)
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
            case Go() | Veto() | CallHook() if not self._holds():
                pass
            case Start(claims):
                self._start(claims, number)
            case Supersede(items):
                told = {item: replace(local.runs[item], superseded=True) for item in items}
                self._set_runs({**local.runs, **told})
                for item in items:
                    self._supersede(item, told[item].attempt)
            case Go(items) | Veto(items):
                begun = {item: replace(local.runs[item], held=False) for item in items}
                self._set_runs({**local.runs, **begun})
                begin = self._work if isinstance(effect, Go) else self._veto
                for item in items:
                    begin(*self._held.pop(item))
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
                self._call(effect)
            case Called(round_):
                calls = {name: call for name, call in local.calls.items() if name != round_}
                self.local = replace(local, calls=calls)

    def _start(self, claims: tuple[Claim, ...], number: int) -> None:
        held = self.local.hooks.started
        new = {claim.item: Run(claim.attempt, fire=claim.fire, held=held) for claim in claims}
        runs = self.local.runs
        beside = {(item, runs[item].attempt) for item in new if item in runs and runs[item].outcome is None}
        self.local = replace(self.local, loose=self.local.loose | beside)
        self._set_runs({**self.local.runs, **new})
        self.local = replace(self.local, unsure=self.local.unsure.difference(new))
        for claim in claims:
            if held:
                self._held[claim.item] = (claim, number)
            else:
                self._work(claim, number)

    def _fail(self, claim: Claim, number: int) -> None:
        self.finished(claim.item, claim.attempt, FAILED)

    def _adopt(self, text: str, config: JobConfig) -> None:
        if self.local.adopted is not None and config != self.settings:
            log.info("%s: its settings have changed", self.config.name)
        if config != self.settings:
            self._schedule = config.timetable()
            self._be_in_group(config)
            self._adopted(self.settings, config)
        self.settings = config
        self.local = replace(self.local, adopted=text)
        self._again = True

    def _be_in_group(self, config: JobConfig) -> None:
        """See who has the places of the job's group. Of one that it has left too: what runs may have one."""
        if config.group is not None and config.group not in self._groups:
            tree = self._registry.mirror(f"{self._registry.namespace}{GROUPS}/{config.group}")
            self._groups[config.group] = tree
            self._follow(tree)

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
        for item, attempt in sorted(self.local.loose):
            self._cancel(item, attempt)

    def _set_run(self, item: int, run: Run) -> None:
        self._set_runs({**self.local.runs, item: run})

    def _set_runs(self, runs: Mapping[int, Run]) -> None:
        self.local = replace(self.local, runs=runs)

    def _full(self, path: str) -> str:
        """A path as the registry says it: the job's, ours that are watched (~), ours that are not (~~), what
        several jobs share (+)."""
        if path.startswith("+"):
            return f"{self._registry.namespace}{GROUPS}/{path[1:]}"
        if path.startswith("~~"):
            return f"{self._own_root}/{path[2:]}"
        if path.startswith("~"):
            return f"{self._own_root}/watched/{path[1:]}"
        return f"{self._root}/{path}" if path else self._root


def _gives_away(write: Write, root: str, me: str) -> bool:
    """Whether a shard is somebody else's by this."""
    owned = write.path.startswith(f"{root}/sharding/") and write.path.endswith("/instance")
    return owned and isinstance(write, Put | Create) and write.data != me


def _of(made: int, told: tuple[int, int] | None) -> int:
    """A number that was noted of this making of the job; 0 where it was none of its."""
    return told[1] if told is not None and told[0] == made else 0
