"""The scheduler: what a service declares its jobs to, and what runs them.

    scheduler = Scheduler()                       # an embedded registry; nothing to install

    @scheduler.job(cron="0 0 2 * * ?", shards=4, failover=True)
    def reindex(shard: Shard) -> None: ...

    scheduler.run()                               # until SIGINT or SIGTERM, then leaves in order

Every process of the service does the same; each fire of each shard runs on one of them. In a service that
has a main loop of its own: `start()` and `stop()`, or `with scheduler:`.
"""

import atexit
import contextlib
import inspect
import logging
import os
import shlex
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from .. import alerts
from .. import registry as registries
from ..alerts import Counts, Desk
from ..errors import JobError
from ..executors.inside import is_child
from ..executors.process import Isolated
from ..history import check_place
from ..history.events import Consumer
from ..jobs import JobConfig
from ..registry import Landed, Unknown
from ..registry.url import found, parse
from ..signals import Handler
from . import arguments, aside, bodies, identity, parent
from .bodies import Body
from .chronicle import Chronicle, place_of
from .ending import Ending
from .fleet import Fleet
from .job import Job, Make
from .job_types import COMMAND_LINE, CONTEXT, HTTP, SCRIPT, URI, JobTypes
from .listeners import Listener, check
from .loading import check_not_loading
from .process import MISSED_AFTER, Process
from .supervisor import Supervisor
from .work import Workshop, checked

log = logging.getLogger("shardwright")

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")
C = TypeVar("C")

#: For how many seconds what was told to stop may go on before it is left behind.
LAST_WORD = 2.0

#: Who is told to end again within so many seconds was told once: some tell a process and then its group.
TOLD_ONCE = 1.0

#: What Python calls a function that has no name.
LAMBDA = "<lambda>"

#: How the addresses of registries begin that Java members come to.
MET_BY_JAVA = ("zookeeper:", "zk:")

#: For how many seconds a replica that is not in all its jobs yet is not said to run.
JOINED = 30.0


class Scheduler:
    """The jobs of one process.

    `registry` is an address such as `zookeeper://zk1,zk2/prod`; without one the environment's
    `SHARDWRIGHT_REGISTRY` is asked, and then an SQLite file in the working folder is used. `threads` are
    shared by all jobs. `grace` is for how many seconds what runs may go on when we are to end. `address`
    is what others know this machine by, if not by its own IPv4 address.

    `script_folders` is where scripts may come from: without any, none is run. `http_allowed` is what calls
    may reach besides public addresses, and alerts where only the registry says where they go: names,
    networks, or `host:port`. `missed_after` is for how many seconds a fire may be late, of any job of the
    namespace, before somebody alive says that it was missed.

    `history` is where what becomes of fires is kept: a database's address, or a file. Without one the
    environment's `SHARDWRIGHT_HISTORY` is asked, and then it is a file beside a registry that is one, and
    nowhere otherwise; False keeps none. An address that cannot be, or whose driver is not installed, is
    refused at the start; a database that is down stops nobody. What is older than `history_age`, and what is
    beyond the latest `history_rows` shards of fires, is only counted; changes by operators are kept for
    `audit_age`. Of several processes with one history the one that keeps least decides. `elasticjob_tables`
    is whether ElasticJob's two tables of event tracing are written, too: as a rule in a database its console
    can read, which is not SQLite; "3.0.4" makes them, where they are not there, in the form in which that
    console reads both, and "3.0.5", or True, in the newer one.
    """

    def __init__(
        self,
        registry: str | None = None,
        *,
        threads: int = 32,
        grace: float = 30.0,
        address: str | None = None,
        script_folders: Iterable[str | Path] = (),
        http_allowed: Iterable[str] = (),
        missed_after: float = MISSED_AFTER,
        history: str | Path | bool | None = None,
        history_age: str | float | timedelta = "90d",
        history_rows: int = 1_000_000,
        audit_age: str | float | timedelta = "400d",
        elasticjob_tables: bool | str | None = None,
    ) -> None:
        self._url = found(registry)
        self._history = place_of(self._url, history)
        self._keep = arguments.retention(history_age, history_rows, audit_age)
        self._tables = arguments.tables(elasticjob_tables)
        self._consumers: list[Consumer] = []
        self._threads, self._address = checked(threads), address
        self._grace = arguments.seconds("grace", grace)
        self._jobs: dict[str, Job] = {}
        self._missed_after = arguments.seconds("missed_after", missed_after)
        self._types = JobTypes(script_folders, arguments.egress(http_allowed))
        self._desk = Desk(egress=self._types.egress)
        self._line: parent.Line | None = None
        self.failure: Exception | None = None
        """Why the scheduler ended by itself, if it did."""
        self._be_idle()
        _schedulers.add(self)

    # -- declaring ----------------------------------------------------------------------------------

    def job(self, name: str | None = None, /, **settings: Any) -> Callable[[F], F]:
        """Declare a function as a job, by its own name unless given one. It takes the shard, or nothing."""
        if callable(name):
            raise JobError(
                "write @scheduler.job(…) with brackets, such as @scheduler.job(cron='0 0 2 * * ?')"
            )
        if isinstance(name, str) and name and not settings.keys() & {"cron", "schedule"}:
            arguments.check_no_schedule(name)

        def declare(function: F) -> F:
            self.add(function, name, **settings)
            return function

        return declare

    def add(
        self,
        function: object,
        name: str | None = None,
        /,
        *,
        class_name: str = "",
        isolated: bool = False,
        listeners: Iterable[Listener | str] = (),
        **settings: object,
    ) -> None:
        """Declare a job; it begins at once if the scheduler runs. It is a function that takes the shard or
        nothing, a coroutine function, a `Dataflow`, or an object of a class that `add_class` knows.

        Beside the settings of a `JobConfig`: `class_name` is what Java members know the job's code by;
        `isolated` runs each shard in a process of its own, which may crash, and can be ended; `listeners` are
        called around its fires.
        """
        name = name or str(getattr(function, "__name__", ""))
        if name == LAMBDA:
            raise JobError("a lambda has no name: give the job one, as in scheduler.add(function, 'name')")
        config, heard = self._config(name, settings, listeners)
        make = self._types.of_object(function)
        if make is not None and isolated:
            raise JobError(
                f"job {name!r}: isolated=True is for a function, not for a {type(function).__name__}: "
                "leave it out, or give a function of a module that does the same"
            )
        if make is None:
            body = bodies.of(function, name)
            takes_shard = body is function
            make = _Function(_isolated(function, body, config) if isolated else body, takes_shard)
        self._declare(Job(config, make, class_name, heard))

    def script(
        self,
        name: str,
        argv: Sequence[str | Path],
        /,
        *,
        elasticjob: bool = False,
        listeners: Iterable[Listener | str] = (),
        **settings: object,
    ) -> None:
        """Declare a program as a job, from one of the `script_folders`: it has the shard as JSON on its
        standard input and in its environment; with `elasticjob` also as its last argument."""
        props = {COMMAND_LINE: shlex.join(arguments.words(argv, name)), CONTEXT: str(elasticjob).lower()}
        self.typed(SCRIPT, name, listeners=listeners, **arguments.with_props(settings, props))

    def http(
        self,
        name: str,
        uri: str,
        /,
        *,
        method: str = "GET",
        data: str | None = None,
        content_type: str | None = None,
        listeners: Iterable[Listener | str] = (),
        **settings: object,
    ) -> None:
        """Declare a call over HTTP as a job, with the shard in ElasticJob's header. What answers 400 or above
        has failed."""
        told = {URI: uri, "http.method": method, "http.data": data, "http.content.type": content_type}
        props = {key: value for key, value in told.items() if value is not None}
        self.typed(HTTP, name, listeners=listeners, **arguments.with_props(settings, props))

    def typed(
        self, kind: str, name: str, /, *, listeners: Iterable[Listener | str] = (), **settings: object
    ) -> None:
        """Declare a job of a type: SCRIPT, HTTP, or one that `add_type` added."""
        make = self._types.make(kind)
        config, heard = self._config(name, settings, listeners)
        make(config)  # what is wrong with it is said now
        self._declare(Job(config, make, kind, heard, self._types.places(kind)))

    def add_type(self, kind: str, make: Make, *, places: Iterable[str] | None = None) -> None:
        """Add a job type: `make` makes what is run for a shard out of the settings that hold.

        `places` are the props that say where it sends what it is given: where the registry has others than
        this program declares, a run that would send our secrets there fails instead. If unsaid, any may be.
        """
        self._types.add(kind, make, places)

    def add_class(self, of: type[C], make: Callable[[C, JobConfig], Body]) -> None:
        """Add a job type for objects of a class, which `add` then takes: `make` makes what is run for a shard
        out of such an object and the settings that hold."""
        self._types.add_class(of, make)

    def subscribe(self, consumer: Consumer) -> None:
        """Have somebody told of what happens from the next start on: each event is a value of
        `shardwright.history.events`. Consumers are called one after the other in a thread of their own."""
        self._consumers.append(consumer)

    def _config(
        self, name: str, settings: Mapping[str, object], heard: Iterable[Listener | str]
    ) -> tuple[JobConfig, tuple[Listener, ...]]:
        some = arguments.listed(heard, name)
        names = [each for each in some if isinstance(each, str)]
        config = JobConfig.of({"name": name, "listeners": names, **settings})
        alerts.check(config)
        return config, check([each for each in some if not isinstance(each, str)], name)

    def _declare(self, job: Job) -> None:
        name = job.name
        with self._supervisor.changing:
            if name in self._jobs:
                raise JobError(f"there is a job {name!r} already: give this one another name")
            for warning in self._warnings(job):
                log.warning("%s: %s", name, warning)
            self._jobs[name] = job
            if self._supervisor.inside is not None:
                self._supervisor.inside.add(job)

    def _warnings(self, job: Job) -> Iterator[str]:
        if is_child():  # it declares all jobs once more, to run one of them
            return
        yield from job.config.warnings(java=self._url.lower().startswith(MET_BY_JAVA))
        shards = job.config.shards
        if isinstance(job.make, _Function) and not job.make.takes_shard and shards > 1:
            yield (
                f"its function takes no shard, so all {shards} shards do the same: "
                "take the shard, or leave shards out"
            )

    def remove(self, name: str, *, grace: float | None = None) -> None:
        """Leave a job in order: it goes on elsewhere, and what runs of it here may end first."""
        seconds = self._grace if grace is None else arguments.seconds("grace", grace)
        with self._supervisor.changing:
            self._known(name)
            del self._jobs[name]
            process = self._supervisor.inside
            gone = process.leave(name) if process is not None else None
        if gone is not None:
            self._wait(gone, seconds, f"leaving the job {name!r}")

    @property
    def registry(self) -> str:
        """The address of the registry, with the password if it has one."""
        return self._url

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What was declared."""
        return tuple(self._jobs.values())

    @property
    def alerts(self) -> Counts:
        """What became of the alerts of this process since it was last started: how many messages were
        delivered, and how many could not be."""
        return self._desk.counts

    # -- running ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, in threads of its own. What was started is stopped when the interpreter ends, if not
        before. A fork of this process begins without it, and may start one of its own."""
        _check_no_child()
        with self._supervisor.changing:
            if self._supervisor.inside is not None:
                raise JobError("this scheduler runs already")
            self._over.clear()
            self.failure = None
            self._desk = Desk(egress=self._types.egress)
            self._supervisor.start()
            atexit.register(self.stop)

    def stop(self, grace: float | None = None) -> None:
        """Leave in order: start nothing more, let what runs end within the grace time, hand everything
        over. A run, for whose own end that would wait, is refused it: have another thread do it."""
        seconds = self._grace if grace is None else arguments.seconds("grace", grace)
        with self._supervisor.changing:
            if self._supervisor.inside is not None and self._workshop.runs_here():
                raise JobError(
                    "stop() waits for what runs, and was called by a run: call it in another thread that the "
                    "run does not wait for, or send the process SIGTERM"
                )
            process = self._supervisor.let_go()
            atexit.unregister(self.stop)
        if process is not None:
            leave(process, seconds)
            self._desk.close()
        self._over.tell()

    def run(self, *, processes: int = 1) -> None:
        """Run until the process is told to end by SIGINT or SIGTERM, then leave in order; told twice, at
        once.

        With `processes` this program is started so many times more, and each of those runs; this process only
        looks after them. It starts another for one that dies, whose work others have at once, replaces all of
        them, one after the other, when told to by SIGHUP, and ends with exit code 1 if one has ended badly.
        """
        check_not_loading()
        if not logging.getLogger().handlers:
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
            # How the history's tables are made is of no interest to whoever reads this.
            logging.getLogger("alembic").setLevel(logging.WARNING)
        self._line = parent.line()
        if not self._jobs and self._line is None:  # of several replicas their parent says it
            log.warning("no job is declared: nothing will run here until one is added")
        if self._line is None and processes != 1:
            self._look_after(processes)
        else:
            self._run()

    def _look_after(self, processes: int) -> None:
        _check_no_child()
        if self._supervisor.inside is not None:
            raise JobError("this scheduler runs already: call run(processes=…) instead of start()")
        code = Fleet(processes, self._url, grace=self._grace + LAST_WORD).run()
        if code:
            raise SystemExit(code)

    def _run(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise JobError(
                "run() hears signals, which only the main thread can: call start() and stop() in this one"
            )
        told: list[tuple[float, int]] = []

        def tell(number: int, frame: FrameType | None) -> None:
            told.append((time.monotonic(), number))
            self._over.tell()
            if told[-1][0] - told[0][0] > TOLD_ONCE:
                raise KeyboardInterrupt

        handlers: dict[signal.Signals, Handler] = {signal.SIGINT: tell, signal.SIGTERM: tell}
        if self._line is not None:  # SIGHUP is the parent's to hear, whoever else is told
            handlers[signal.SIGHUP] = lambda number, frame: None
        with self._over.hearing(handlers) as wait_until_told:
            try:
                self.start()
                self._report()
                if not told:  # else it was told before it began, and nobody will say so again
                    wait_until_told()
                if told:
                    log.info("told to end by %s: what runs may end first", signal.Signals(told[0][1]).name)
            finally:
                self.stop()
                if self._line is not None:
                    self._line.left()
        if self.failure is not None:
            raise self.failure

    def _report(self) -> None:
        """Tell the parent, if there is one, when we are in our jobs; and hear when it is gone."""
        line = self._line
        if line is None:
            return

        def join() -> None:
            since = time.monotonic()
            for name in list(self._jobs):
                with contextlib.suppress(JobError, KeyError, TimeoutError):
                    known = self._wait(self._running(name).is_known(name), JOINED, "joining", since)
                    self._wait(known, JOINED, "joining", since)
            line.running()

        def orphaned() -> None:
            log.warning("the process that looks after this one is gone: what runs may end first")
            self._over.tell()

        threading.Thread(target=join, name="shardwright-joining", daemon=True).start()
        line.on_break(orphaned)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # -- steering -----------------------------------------------------------------------------------

    def trigger(self, name: str, *, parameter: str = "", wait: float = 10.0) -> None:
        """Have a job fire now, on all its members: every shard runs once, as soon as it is free. With a
        `parameter` it is those runs' `shard.job_parameter`, instead of the job's; Java members ignore it."""
        arguments.check_parameter(parameter)
        process = self._running(name)
        doing, since = f"asking the job {name!r} to fire", time.monotonic()
        known = self._wait(process.is_known(name), wait, doing, since)
        if not self._wait(known, wait, doing, since):
            raise JobError(process.refused(name) or f"this process is not in the job {name!r} any more")
        asked = self._wait(process.trigger(name, parameter), wait, doing, since)
        outcome = self._wait(asked, wait, doing, since)
        if isinstance(outcome, Unknown):
            raise JobError(
                f"the job {name!r} may have been asked to fire: {outcome.why}; look before you try again"
            )
        if not isinstance(outcome, Landed):
            raise JobError(f"the job {name!r} could not be asked to fire: {outcome.why}; try again")

    def is_leader(self, name: str, *, wait: float = 5.0) -> bool:
        """Whether this process leads a job, waiting until somebody does; TimeoutError if nobody does in
        time."""
        doing, since = f"waiting for somebody to lead the job {name!r}", time.monotonic()
        asked = self._wait(self._running(name).is_leader(name), wait, doing, since)
        return self._wait(asked, wait, doing, since)

    def resume(self, name: str) -> None:
        """Go on with a job that somebody ordered this process to stop, as soon as what still runs of it here
        has ended."""
        self._running(name).again(self._jobs[name])

    # -- inside -------------------------------------------------------------------------------------

    def _be_idle(self) -> None:
        """Nothing runs: as it was made, and in a fork, where what our parent runs is not ours."""
        self._supervisor = Supervisor(self._begin, self._give_up)
        self._workshop = self._new_workshop()
        self._line = None
        self._over = Ending()

    def _known(self, name: str) -> Job:
        if name not in self._jobs:
            there = ", ".join(map(repr, sorted(self._jobs))) or "none"
            raise JobError(f"there is no job {name!r} here; there are: {there}")
        return self._jobs[name]

    def _running(self, name: str) -> Process:
        with self._supervisor.changing:
            self._known(name)
            if self._supervisor.inside is None:
                raise JobError("this scheduler does not run: call start() or run() first")
            return self._supervisor.inside

    def _is_coroutine(self, name: str) -> bool:
        job = self._jobs.get(name)
        return job is not None and isinstance(job.make, _Function) and job.make.is_coroutine

    def _begin(self, failed: Callable[[Exception], None]) -> Process:
        if self._history is not None:
            check_place(self._history)
        where = self._address or identity.address()
        registry = registries.connect(self._url)
        self._workshop = self._new_workshop()
        with contextlib.ExitStack() as undoing:  # whoever tries again must not find us still there
            undoing.callback(registry.close)
            if self._line is not None:
                registry.confide(self._line.session)
            log.info("%s: joined as %s", parse(self._url), where)
            process = Process(
                registry,
                address=where,
                workers=self._workshop,
                desk=self._desk,
                chronicle=Chronicle(
                    registry.clock, self._history, self._consumers, keep=self._keep, tables=self._tables
                ),
                missed_after=self._missed_after,
                failed=failed,
            )
            undoing.pop_all()
            undoing.callback(process.abandon)
            process.start()
            process.add(*self._jobs.values())
            process.reactor.post(process.stand_sentry)
            undoing.pop_all()
        return process

    def _new_workshop(self) -> Workshop:
        return Workshop(self._threads, in_loop=self._is_coroutine)

    def _give_up(self, error: Exception) -> None:
        self.failure = error
        atexit.unregister(self.stop)
        self._over.tell()

    def _wait(self, future: "Future[T]", seconds: float, doing: str, since: float | None = None) -> "T":
        """Wait so many seconds from now, or from when that began."""
        left = seconds if since is None else since + seconds - time.monotonic()
        try:
            return future.result(max(0.0, left))
        except NotInTime:
            raise TimeoutError(f"{doing} took longer than {seconds:g} s") from None


def _check_no_child() -> None:
    if is_child():
        raise JobError(
            "this is the process of one isolated run, which imports your program to find its function: "
            'start the scheduler below `if __name__ == "__main__":`'
        )


def _isolated(function: object, body: Body, config: JobConfig) -> Body:
    if body is not function:
        raise JobError(f"job {config.name!r}: what runs in a process of its own must take the shard")
    return Isolated(body, bound=config.lease_lost == "stop")


@dataclass(frozen=True, slots=True)
class _Function:
    """Makes what is run out of a function, which is the same whatever the settings."""

    body: Body
    takes_shard: bool

    def __call__(self, config: JobConfig) -> Body:
        return self.body

    @property
    def is_coroutine(self) -> bool:
        return inspect.iscoroutinefunction(self.body)


def leave(process: Process, grace: float) -> None:
    """Leave all jobs in order, and then at all events."""
    leaving = process.leave_all()
    running = process.cut_short() if wait(leaving, grace).not_done else []
    if running and wait(leaving, LAST_WORD).not_done and process.kill_children():
        wait(leaving, LAST_WORD)
    left = all(each.done() for each in leaving)
    process.close()

    def say() -> None:
        if running:
            log.warning("the grace time of %g s was over: %s was told to stop", grace, ", ".join(running))
        if not left:
            log.warning("left before everything was handed over: others take it over as from one that died")

    if running or not left:
        aside.do(say, LAST_WORD)


_schedulers: "weakref.WeakSet[Scheduler]" = weakref.WeakSet()
_inherited: list[Supervisor[Process]] = []


def _fork() -> None:
    """What our parent runs is not ours, and its threads are not here. It is kept, so that nothing of it is
    ended here: it has the parent's own connections."""
    for each in list(_schedulers):
        _inherited.append(each._supervisor)
        each._be_idle()


os.register_at_fork(after_in_child=_fork)
