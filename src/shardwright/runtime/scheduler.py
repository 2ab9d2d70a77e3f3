"""The scheduler: what a service declares its jobs to, and what runs them.

    scheduler = Scheduler()                       # an embedded registry; nothing to install

    @scheduler.job(cron="0 0 2 * * ?", shards=4, failover=True)
    def reindex(shard: Shard) -> None: ...

    scheduler.run()                               # until SIGINT or SIGTERM, then leaves in order

Every process of the service does the same; each fire of each shard runs on one of them. In a service that
has a main loop of its own: `start()` and `stop()`, or `with scheduler:`.
"""

import atexit
import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NotInTime
from types import FrameType, TracebackType
from typing import Self, TypeVar

from .. import registry as registries
from ..errors import JobError
from ..jobs import JobConfig
from ..registry import Landed
from ..registry.url import found, parse
from . import bodies, identity
from .process import Job, Process
from .supervisor import Supervisor
from .work import Workshop

log = logging.getLogger("shardwright")

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")

#: For how many seconds what was told to stop may go on before it is left behind.
LAST_WORD = 2.0

#: Who is told to end again within so many seconds was told once: some tell a process and then its group.
TOLD_ONCE = 1.0


class Scheduler:
    """The jobs of one process.

    `registry` is an address such as `zookeeper://zk1,zk2/prod`; without one the environment's
    `SHARDWRIGHT_REGISTRY` is asked, and then an SQLite file in the working folder is used. `threads` are
    shared by all jobs. `grace` is for how many seconds what runs may go on when we are to end. `address`
    is what others know this machine by, if not by its own IPv4 address.
    """

    def __init__(
        self,
        registry: str | None = None,
        *,
        threads: int = 32,
        grace: float = 30.0,
        address: str | None = None,
    ) -> None:
        self._url = found(registry)
        self._threads, self._grace, self._address = threads, grace, address
        self._jobs: dict[str, Job] = {}
        self._supervisor = Supervisor(self._begin, self._give_up)
        self._over = threading.Event()
        self.failure: Exception | None = None
        """Why the scheduler ended by itself, if it did."""

    # -- declaring ----------------------------------------------------------------------------------

    def job(self, name: str | None = None, /, **settings: object) -> Callable[[F], F]:
        """Declare a function as a job, by its own name unless given one. It takes the shard, or nothing."""
        if callable(name):
            raise JobError(
                "write @scheduler.job(…) with brackets, such as @scheduler.job(cron='0 0 2 * * ?')"
            )

        def declare(function: F) -> F:
            self.add(function, name, **settings)
            return function

        return declare

    def add(self, function: Callable[..., object], name: str | None = None, /, **settings: object) -> None:
        """Declare a job; it begins at once if the scheduler runs. Beside the settings of a `JobConfig`,
        `class_name` may say what Java members know the job's code by."""
        name = name or str(getattr(function, "__name__", ""))
        kind = str(settings.pop("class_name", ""))
        job = Job(JobConfig.of({"name": name, **settings}), bodies.of(function, name), kind)
        with self._supervisor.changing:
            if name in self._jobs:
                raise JobError(f"there is a job {name!r} already: give this one another name")
            for warning in job.config.warnings():
                log.warning("%s: %s", name, warning)
            self._jobs[name] = job
            if self._supervisor.inside is not None:
                self._supervisor.inside.add(job)

    def remove(self, name: str, *, grace: float | None = None) -> None:
        """Leave a job in order: it goes on elsewhere, and what runs of it here may end first."""
        with self._supervisor.changing:
            self._known(name)
            del self._jobs[name]
            process = self._supervisor.inside
            gone = process.leave(name) if process is not None else None
        if gone is not None:
            self._wait(gone, self._grace if grace is None else grace, f"leaving the job {name!r}")

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What was declared."""
        return tuple(self._jobs.values())

    # -- running ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, in threads of its own. What was started is stopped when the interpreter ends, if not
        before."""
        with self._supervisor.changing:
            if self._supervisor.inside is not None:
                raise JobError("this scheduler runs already")
            self._over.clear()
            self.failure = None
            self._supervisor.start()
            atexit.register(self.stop)

    def stop(self, grace: float | None = None) -> None:
        """Leave in order: start nothing more, let what runs end within the grace time, hand everything
        over."""
        with self._supervisor.changing:
            process = self._supervisor.let_go()
            atexit.unregister(self.stop)
        if process is not None:
            leave(process, self._grace if grace is None else grace)
        self._over.set()

    def run(self) -> None:
        """Run until the process is told to end by SIGINT or SIGTERM, then leave in order; told twice, at
        once."""
        if not logging.getLogger().handlers:
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        told: list[tuple[float, int]] = []

        def tell(number: int, frame: FrameType | None) -> None:
            told.append((time.monotonic(), number))
            self._over.set()
            if told[-1][0] - told[0][0] > TOLD_ONCE:
                raise KeyboardInterrupt

        before = {number: signal.signal(number, tell) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.start()
            if not told:  # else it was told before it began, and nobody will say so again
                self._over.wait()
            if told:
                log.info("told to end by %s: what runs may end first", signal.Signals(told[0][1]).name)
        finally:
            self.stop()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.failure is not None:
            raise self.failure

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # -- steering -----------------------------------------------------------------------------------

    def trigger(self, name: str, *, wait: float = 10.0) -> None:
        """Have a job fire now, on all its members: every shard runs once, as soon as it is free."""
        process = self._running(name)
        doing = f"asking the job {name!r} to fire"
        end = time.monotonic() + wait
        if not self._wait(self._wait(process.is_known(name), wait, doing), end - time.monotonic(), doing):
            raise JobError(process.refused(name) or f"this process is not in the job {name!r} any more")
        asked = self._wait(process.trigger(name), end - time.monotonic(), doing)
        outcome = self._wait(asked, end - time.monotonic(), doing)
        if not isinstance(outcome, Landed):
            raise JobError(f"the job {name!r} could not be asked to fire: {outcome}; try again")

    def is_leader(self, name: str, *, wait: float = 5.0) -> bool:
        """Whether this process leads a job, waiting until somebody does; TimeoutError if nobody does in
        time."""
        doing = f"waiting for somebody to lead the job {name!r}"
        return self._wait(self._wait(self._running(name).is_leader(name), wait, doing), wait, doing)

    def resume(self, name: str) -> None:
        """Go on with a job that somebody ordered this process to stop."""
        self._running(name).again(self._jobs[name])

    # -- inside -------------------------------------------------------------------------------------

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

    def _begin(self, failed: Callable[[Exception], None]) -> Process:
        registry = registries.connect(self._url)
        where = self._address or identity.address()
        log.info("%s: joined as %s", parse(self._url), where)
        process = Process(registry, address=where, workers=Workshop(self._threads), failed=failed)
        process.start()
        process.add(*self._jobs.values())
        return process

    def _give_up(self, error: Exception) -> None:
        self.failure = error
        atexit.unregister(self.stop)
        self._over.set()

    def _wait(self, future: "Future[T]", seconds: float, doing: str) -> "T":
        try:
            return future.result(max(0.0, seconds))
        except NotInTime:
            raise TimeoutError(f"{doing} took longer than {seconds:g} s") from None


def leave(process: Process, grace: float) -> None:
    """Leave all jobs in order, and then at all events."""
    leaving = process.leave_all()
    if wait(leaving, grace).not_done and (running := process.cut_short()):
        log.warning("the grace time of %g s is over: %s is told to stop", grace, ", ".join(running))
        wait(leaving, LAST_WORD)
    if any(not each.done() for each in leaving):
        log.warning("left before everything was handed over: others take it over as from one that died")
    process.close()
