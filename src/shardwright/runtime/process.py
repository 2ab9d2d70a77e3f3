"""A process: one connection, one reactor, one pool, and a member for each job.

Everything here happens in the reactor's thread, except what says otherwise.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent import futures
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial

from ..alerts import Alert, Desk, Kind
from ..coordination.barrier import DONE, VETOED
from ..coordination.barrier import FAILED as HOOK_FAILED
from ..coordination.due import AHEAD
from ..coordination.milestone import STARTED
from ..coordination.step import CallHook, Claim
from ..coordination.view import Source
from ..errors import Failed
from ..executors import guards
from ..history.events import RegistryBack, RegistryLost
from ..jobs import JobConfig
from ..outcomes import FAILED, OK, TIMED_OUT
from ..registry import Outcome, Registry, State
from ..shard import Shard
from . import aside, identity, listeners, tries
from .asking import Asking
from .chronicle import About, Chronicle, JobWitness
from .hub import Hub
from .job import Job
from .listeners import Caller, Failing, Fire, Party
from .member import Member
from .runs import Running
from .sentry import NODE as SENTRY
from .sentry import Sentry
from .tries import End, Left
from .work import Workers

log = logging.getLogger("shardwright")

#: For how many seconds the reactor may take to come to what it is asked.
PATIENCE = 30.0

#: For how many seconds we wait for a job to be left that may have nothing more to do.
MOMENT = 2.0

#: For how many seconds a fire may be late before somebody says that it was missed.
MISSED_AFTER = 300.0

#: For how many seconds the history is waited for in the end.
LAST_LINES = 5.0

Key = tuple[str, int, str]


class Process(Hub):
    """This process, while its scheduler runs."""

    def __init__(
        self,
        registry: Registry,
        *,
        address: str,
        workers: Workers,
        desk: Desk,
        chronicle: Chronicle | None = None,
        missed_after: float = MISSED_AFTER,
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__(registry, failed=failed, told=self._told)
        self.address = address
        self._desk = desk
        self._chronicle = chronicle or Chronicle(registry.clock, None)
        desk.told = self._chronicle.alerted
        self._about: dict[Key, About] = {}
        self._lost_at: float | None = None
        self._missed_after = missed_after
        self._workers = workers
        self._caller = Caller(workers, self.reactor.post, self._in, self._report)
        self._members: dict[str, Member] = {}
        self._leaving: dict[str, list[Future[None]]] = {}
        """Who waits until we have left a job."""
        self._next: dict[str, Job] = {}
        """The job that we are to be in when we have left one of that name."""
        self._declared: dict[str, JobConfig] = {}
        self._running: dict[Key, Running] = {}
        self._parties: dict[tuple[str, str], Party] = {}
        self._party_of: dict[Key, tuple[str, str]] = {}

    # -- any thread ---------------------------------------------------------------------------------

    def add(self, *jobs: Job) -> None:
        for asked in [self.reactor.ask(partial(self.be_in, job)) for job in jobs]:
            asked.result(PATIENCE)

    def again(self, job: Job) -> None:
        """Be in a job anew that we were ordered to stop, or refused, once what still runs of it here has
        ended. One that goes on is left alone."""
        gone: Future[None] = Future()

        def anew() -> None:
            member = self._members.get(job.name)
            if member is not None and not member.left and not member.local.stopped:
                gone.set_result(None)
                return
            self._leave(job.name, gone)
            self.be_in(job)

        self.reactor.ask(anew).result(PATIENCE)
        futures.wait([gone], MOMENT)  # where nothing runs that is all it takes

    def leave(self, name: str) -> "Future[None]":
        """Leave a job in order; the future is done when we have."""
        gone: Future[None] = Future()
        self.reactor.post(lambda: self._leave(name, gone))
        return gone

    def leave_all(self) -> "list[Future[None]]":
        return [self.leave(name) for name in list(self._members)]

    def is_leader(self, name: str) -> "Future[Future[bool]]":
        return self.reactor.ask(lambda: self._members[name].is_leader())

    def is_known(self, name: str) -> "Future[Future[bool]]":
        return self.reactor.ask(lambda: self._members[name].is_known())

    def refused(self, name: str) -> str | None:
        """Why we cannot be in a job at all, if we cannot."""
        member = self._members.get(name)
        return member.refused if member is not None else None

    def trigger(self, name: str, parameter: str = "") -> "Future[Future[Outcome]]":
        """Ask every member of a job to fire now, with this instead of the job's parameter."""
        return self.reactor.ask(lambda: Asking(self.registry, name, parameter).begin())

    def cut_short(self) -> list[str]:
        """Tell all that runs to stop; says what that is."""
        running = list(self._running.items())
        for _, run in running:
            self.reactor.post(run.cancel)
        return sorted({job for (job, _, _), _ in running})

    def start(self) -> None:
        self._chronicle.start()
        super().start()

    def kill_children(self) -> bool:
        """End what runs in processes of its own and has not ended when told to: others may begin it as soon
        as our session has ended. Whether there was any."""
        return guards.end([run.shard for run in list(self._running.values())], MOMENT)

    def close(self) -> None:
        self.kill_children()
        super().close()
        self._tell_all_to_stop()  # those whom a stuck reactor has not told
        self._workers.close()
        self._chronicle.close(LAST_LINES)

    def abandon(self) -> None:
        """End the session although the reactor may be stuck; what runs is told to stop."""
        self.kill_children()
        super().abandon()
        self._tell_all_to_stop()
        self._workers.close()
        self._chronicle.close(0.0)

    def _tell_all_to_stop(self) -> None:
        """Each in a thread of its own: what the job's own code does about it may be what the reactor is stuck
        in, and the others are to hear of it all the same."""
        for run in list(self._running.values()):
            if not run.shard.cancelled:
                aside.do(run.shard.cancel, within=0.0)

    # -- the reactor's thread -----------------------------------------------------------------------

    def stand_sentry(self) -> None:
        """Notice what others miss, if nobody else does."""

        def make(wake: Callable[[], None], commit: Callable[..., Future[Outcome]]) -> Sentry:
            return Sentry(
                self.registry,
                me=self.address,
                tell=self._pass_on,
                grace=self._missed_after,
                ours=lambda name: self._members[name].settings if name in self._members else None,
                members=self._in_it,
                wake=wake,
                commit=commit,
            )

        self.reactor.add(SENTRY, make)

    def _in_it(self, name: str) -> Sequence[str]:
        """Who is in a job of ours, as far as we have been told."""
        tree = self.registry.mirror(f"{self.registry.namespace}/{name}")
        return tree.children("instances") if tree.synced else (self._members[name].me,)

    def be_in(self, job: Job) -> None:
        """Take part in a job; where we are about to leave one of that name, when we have."""
        if job.name in self._members:
            self._next[job.name] = job
            log.info("%s: it begins here when what still runs of it has ended", job.name)
            return

        def make(wake: Callable[[], None], commit: Callable[..., Future[Outcome]]) -> Member:
            return Member(
                self.registry,
                job.config,
                identity=lambda: identity.new_name(self.address),
                work=lambda claim, token: self._work(job, claim, token),
                veto=lambda claim, token: self._veto(job, claim, token),
                cancel=lambda item, attempt: self._cancel((job.name, item, attempt)),
                call=lambda hook: self._call(job, hook),
                lost=lambda item, fire, why: self._lost(job, item, fire, why),
                hooks=listeners.hooks(job.listeners),
                witness=JobWitness(self._chronicle, job.name, partial(self._kept, job.name)),
                supersede=lambda item, attempt: self._supersede((job.name, item, attempt)),
                adopted=self._say_anew,
                kind=job.kind,
                slots=lambda: self._workers.free(self._settings(job)),
                wake=wake,
                commit=commit,
            )

        self._declared[job.name] = job.config
        self._members[job.name] = self.reactor.add(job.name, make)
        log.info("%s: %s", job.name, said(job.config, self.registry.now()))

    def _say_anew(self, before: JobConfig, config: JobConfig) -> None:
        """What was said last is not what will happen where the registry's settings are others."""
        now = self.registry.now()
        if (holds := said(config, now)) != said(before, now):
            log.info("%s: by the registry's settings: %s", config.name, holds)

    def _lost(self, job: Job, item: int, fire: str, why: str) -> None:
        alert = Alert(Kind.LOST, job.name, why, item, fire_time(fire))
        self._pass_on(self._settings(job), alert)

    def _kept(self, name: str, item: int, made: int, after: int, number: int) -> None:
        """The history has what became of a shard's fires; told by another thread."""
        member = self._members.get(name)
        if member is not None:
            self.reactor.post(lambda: member.kept(item, made, after, number))

    def _leave(self, name: str, gone: "Future[None]") -> None:
        self._next.pop(name, None)
        member = self._members.get(name)
        if member is None:
            gone.set_result(None)
            return
        self._leaving.setdefault(name, []).append(gone)
        member.on_left = partial(self._left, name)
        if member.left:
            self._left(name)
        else:
            member.drain()

    def _left(self, name: str) -> None:
        """We are not in a job any more; whoever takes its place may come."""
        self.reactor.remove(name)
        del self._members[name]
        self._workers.forget(name)
        for gone in self._leaving.pop(name):
            if not gone.done():
                gone.set_result(None)
        if (after := self._next.pop(name, None)) is not None:
            self.be_in(after)

    def _settings(self, job: Job) -> JobConfig:
        """The settings that hold; those declared while there are no others."""
        member = self._members.get(job.name)
        return member.settings if member is not None else job.config

    def _work(self, job: Job, claim: Claim, token: int) -> None:
        """Begin a run, at its time if we have claimed it early."""
        run, key = self._be_about_to_run(job, claim, token), (job.name, claim.item, claim.attempt)
        now = self.registry.now()
        # The clock may have been set back since the claim was made: no claim is further ahead than this.
        early = min((run.shard.fire_time or now) - now, AHEAD).total_seconds()
        if not job.listeners:
            run.begin(early)
        elif early > 0:
            boot = self.registry.clock.boot()
            self.reactor.later(boot + early, lambda: self._join(job, key, claim.fire))
        else:
            self._join(job, key, claim.fire)

    def _veto(self, job: Job, claim: Claim, token: int) -> None:
        """A run that is not to begin has failed."""
        run = self._be_about_to_run(job, claim, token)
        run.fail(
            Failed("what is called before all shards of a fire has failed, and they are not to run then")
        )

    def _be_about_to_run(self, job: Job, claim: Claim, token: int) -> Running:
        member, key = self._members[job.name], (job.name, claim.item, claim.attempt)
        # All tries stand on the session of the claim, which goes on while the registry is out of reach.
        session = self.registry.session()
        lease = session.lease_left if session is not None else lambda: 0.0
        left = Left(claim.checkpoint, partial(self._save, member, claim))
        shard = partial(self._shard, member, claim, token, lease, left)
        told, retried = partial(self._end, key, member), partial(self._retried, key)
        config = member.settings
        about = self._about[key] = self._facts(job.name, member, claim)
        body = self._chronicle.witnessed(job.body(config), about)
        run = Running(self.reactor, self._workers, config, body, shard, told, retried)
        self._running[key] = run
        self._chronicle.lease_margin(run.shard.lease_left)
        if claim.source is Source.FAILOVER:
            self._tell(config, Kind.FAILOVER, "its member died over it, and it runs again here", run.shard)
        return run

    def _facts(self, name: str, member: Member, claim: Claim) -> About:
        return About(
            job=name,
            made=member.made(claim.item),
            item=claim.item,
            fire=claim.fire,
            attempt=claim.attempt,
            by=member.me,
            source=claim.source.value,
            number=claim.tries,
            host=self.address,
        )

    def _join(self, job: Job, key: Key, fire: str) -> None:
        """Begin together with the other shards of the fire, once the listeners have heard of it."""
        run = self._running.get(key)
        if run is None:
            return  # it was called off
        place = self._party_of[key] = (job.name, fire)
        party = self._parties.get(place)
        if party is None:
            time = run.shard.fire_time
            party = Party(job.listeners, self._settings(job), time, self._caller, self.reactor.post)
            self._parties[place] = party
        party.join(key[1], lambda error: run.begin() if error is None else run.fail(error))

    def _call(self, job: Job, hook: CallHook) -> None:
        """Call what is called once in the cluster, on behalf of all."""
        member, config = self._members[job.name], self._settings(job)
        name, _, _ = hook.round.partition("/")
        items = tuple(item for item in range(config.shards) if item not in hook.disabled)
        time = fire_time(hook.fire)
        fire = Fire(job.name, time, items, config.parameter, hook.disabled, hook.failed)
        ordered = job.listeners if name == STARTED else job.listeners[::-1]

        def over(failing: Failing | None) -> None:
            outcome = (
                DONE if failing is None else VETOED if failing.vital and name == STARTED else HOOK_FAILED
            )
            member.called(hook.round, hook.fire, outcome)

        self._caller.call(config, ordered, name, fire, over)

    def _in(self, seconds: float, note: Callable[[], None]) -> Callable[[], None]:
        later = self.reactor.later(self.registry.clock.boot() + seconds, note)
        return lambda: self.reactor.call_off(later)

    def _report(self, config: JobConfig, failing: Failing) -> None:
        error = failing if failing.__cause__ is not None else None
        self._tell(config, Kind.HOOK_FAILED, str(failing), error=error)

    def _save(self, member: Member, claim: Claim, checkpoint: str) -> None:
        self.reactor.post(lambda: member.save(claim.item, claim.attempt, checkpoint))

    def _shard(
        self, member: Member, claim: Claim, token: int, lease: Callable[[], float], left: Left, retries: int
    ) -> Shard:
        config = member.settings
        return Shard(
            item=claim.item,
            total=config.shards,
            parameter=config.item_parameters.get(claim.item, ""),
            job_name=config.name,
            job_parameter=claim.parameter or config.parameter,
            fire_time=fire_time(claim.fire),
            token=token,
            attempt=claim.tries + retries,
            source=claim.source.value,
            checkpoint=left.checkpoint,
            task_id=f"{config.name}@-@{claim.item}@-@READY@-@{member.me}",
            _hide=self._desk.settings(config, self._declared.get(config.name)).hide,
            _to_move=lambda: member.to_move(claim.item),
            _lease=lease,
            _save=left.save,
        )

    def _retried(self, key: Key, end: End, shard: Shard) -> None:
        self._chronicle.retried(self._about[key], shard.attempt, end.outcome, _failure(end, shard))

    def _end(self, key: Key, member: Member, end: End, shard: Shard) -> None:
        self._running.pop(key, None)
        self._chronicle.ended(self._about.pop(key), end.outcome, _failure(end, shard))
        place = self._party_of.pop(key, None)
        if place is not None and self._parties[place].leave(key[1], failed=end.outcome != OK):
            del self._parties[place]
        if end.outcome in (FAILED, TIMED_OUT):
            kind = Kind.FAILED if end.outcome == FAILED else Kind.TIMED_OUT
            what = tries.said(end.error) if end.error is not None else ""
            self._tell(member.settings, kind, what, shard, end.error)
        member.finished(key[1], key[2], end.outcome)

    def _tell(
        self,
        config: JobConfig,
        kind: Kind,
        what: str,
        shard: Shard | None = None,
        error: BaseException | None = None,
    ) -> None:
        """Have people hear of it, by the job's error handler."""
        item, fire = (shard.item, shard.fire_time) if shard is not None else (None, None)
        details = tries.told(error) if error is not None else ""
        self._pass_on(config, Alert(kind, config.name, what, item, fire, details))

    def _pass_on(self, config: JobConfig, alert: Alert) -> None:
        self._desk.tell(config, alert, self._declared.get(config.name))

    def _cancel(self, key: Key) -> None:
        run = self._running.get(key)
        if run is not None:
            log.info("%s: shard %d is told to stop", key[0], key[1])
            run.cancel()

    def _supersede(self, key: Key) -> None:
        run = self._running.get(key)
        if run is not None:
            log.info("%s: the next fire of shard %d has come, and what runs is told to stop", key[0], key[1])
            run.supersede()

    def _told(self, state: State) -> None:
        self._chronicle_state(state)
        match state:
            case State.CONNECTED:
                log.info("connected to the registry again")
            case State.SUSPENDED:
                log.warning("cut off from the registry: nothing new is started")
            case State.LOST:
                log.warning("given up by the registry, or about to be: nothing new is started")
                for name, item, _ in sorted(self._running):
                    member = self._members.get(name)
                    if member is not None and member.settings.lease_lost == "continue":
                        log.warning("%s: shard %d goes on, and may run elsewhere by now", name, item)
                for name in sorted({job for job, _, _ in self._running} & self._members.keys()):
                    settings = self._members[name].settings
                    self._tell(settings, Kind.LEASE_LOST, "the registry gave this process up in mid-run")

    def _chronicle_state(self, state: State) -> None:
        now, boot = self.registry.clock.wall(), self.registry.clock.boot()
        if state is State.CONNECTED and self._lost_at is not None:
            self._chronicle.publish(RegistryBack(at=now, seconds=boot - self._lost_at))
            self._lost_at = None
        elif state is not State.CONNECTED and self._lost_at is None:
            self._lost_at = boot
            self._chronicle.publish(RegistryLost(at=now))
        if state is State.LOST:
            for about in self._about.values():
                self._chronicle.lease_lost(about)


def _failure(end: End, shard: Shard) -> str:
    """Why it failed, as it may be kept; nothing if it did not."""
    return shard.masked(tries.told(end.error)) if end.error is not None else ""


def said(config: JobConfig, now: datetime) -> str:
    """What a job will do, in words."""
    schedule = config.timetable()
    fire = schedule.next(now) if schedule is not None else None
    when = f"fires next at {fire.isoformat()}" if fire is not None else "fires when asked to"
    shards = f"{config.shards} shards, " if config.shards > 1 else ""
    return f"{shards}{when}"


def fire_time(fire: str) -> datetime | None:
    """When a fire was scheduled for; None for one that has no time."""
    return None if fire.startswith("#") else datetime.fromisoformat(fire).astimezone(UTC)
