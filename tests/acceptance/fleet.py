"""A fleet: the replicas of a service under test, what is done to them, and what they have done.

    with Fleet(url, tmp_path, [LONG]) as fleet:
        fleet.start(2)
        run = fleet.wait_for_a_run(LONG)
        fleet.kill(fleet.replica_of(run))
        fleet.finish()

What is done is noted in the same history as what was run. `finish` waits until every shard has come to a fire
after now, ends the replicas in order, and judges the whole history.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from shardwright.errors import RegistryError
from shardwright.registry import Create, Delete, Landed, Registry, Tree, connect
from tests.acceptance import history, replica, verdict
from tests.acceptance.history import History, Run
from tests.acceptance.jobs import Job
from tests.acceptance.notes import Notes
from tests.acceptance.verdict import Violation
from tests.faults.processes import Child

PATIENCE = 60.0


class Replica(Child):
    """One process of the fleet."""

    def __init__(
        self,
        url: str,
        address: str,
        path: Path,
        jobs: Sequence[Job],
        *,
        busy: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        told = json.dumps([job.told() for job in jobs])
        super().__init__(replica.run, url, address, str(path), told, busy, env=env)
        self.address = address


class Fleet:
    """Replicas that have the same jobs. `door` is where the test itself reaches the registry, if not by the
    address that the replicas are given."""

    def __init__(self, url: str, folder: Path, jobs: Sequence[Job], *, door: str | None = None) -> None:
        self.url, self.jobs = url, jobs
        self.replicas: list[Replica] = []
        """Those that live."""
        self._all: list[Replica] = []
        self._door = door or url
        self._path = folder / "history.jsonl"
        self._notes = Notes(self._path)
        self._notes.add("clock")
        self._read: tuple[int, History] = 0, History()
        self._started = 0

    # -- what is done to it --------------------------------------------------------------------------

    def start(
        self,
        count: int = 1,
        *,
        url: str | None = None,
        busy: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> list[Replica]:
        """More replicas, each on a server of its own, all begun together; there when this returns."""
        new = []
        for _ in range(count):
            self._started += 1
            address = f"10.0.0.{self._started}"
            new.append(Replica(url or self.url, address, self._path, self.jobs, busy=busy, env=env))
        self.replicas += new
        self._all += new
        for each in new:
            each.expect("joined as", within=PATIENCE)
        return new

    def kill(self, *those: Replica) -> None:
        """`kill -9`."""
        for each in those:
            self._notes.add("fault", kind="kill", pid=each.pid)
            each.kill()
            self.replicas.remove(each)

    def terminate(self, *those: Replica) -> None:
        """SIGTERM: they end what runs, hand everything over, and go. No fault, and no excuse for anything."""
        for each in those:
            os.kill(each.pid, signal.SIGTERM)
        for each in those:
            assert each.wait(30.0) == 0, self.story()
            self.replicas.remove(each)

    @contextmanager
    def stopped(self, *those: Replica) -> Iterator[None]:
        """SIGSTOP, and SIGCONT in the end."""
        for each in those:
            self._notes.add("fault", kind="stop", pid=each.pid)
            each.stop()
        yield
        for each in those:
            self._notes.add("over", pid=each.pid)
            each.cont()

    @contextmanager
    def stopped_in_mid_run(self, job: Job) -> Iterator[Run]:
        """Whoever begins a run is stopped. One that happens to be in the midst of a write keeps all others
        from writing to an SQLite file, and one that was quicker than we has ended its run: those are other
        stories, so it goes on, and another one is stopped."""
        while True:
            run = self.wait_for_a_run(job)
            with self.stopped(self.replica_of(run)):
                if self._can_be_written() and run in self.history().going_on():
                    yield run
                    return

    @contextmanager
    def trouble(self, kind: str, who: Replica | None = None) -> Iterator[None]:
        """Something that the block does to a replica, or to all of them."""
        pid = who.pid if who is not None else None
        self._notes.add("fault", kind=kind, pid=pid)
        yield
        self._notes.add("over", pid=pid)

    def stepped(self, offset: float) -> None:
        """The registry's clock has been set: it is off by so much from now on."""
        self._notes.add("fault", kind="step", pid=None)
        self._notes.add("step", offset=offset)

    def trigger(self, job: Job) -> None:
        """Ask all who are in a job for a run, as ElasticJob's console does."""
        self._notes.add("asked", job=job.name)
        with connect(self._door) as registry:
            root = f"{registry.namespace}/{job.name}"
            found = registry.wait(registry.names([f"{root}/instances", f"{root}/trigger"]))
            old = [Delete(f"{root}/trigger/{who}") for who in found[f"{root}/trigger"] or ()]
            new = [Create(f"{root}/trigger/{who}") for who in found[f"{root}/instances"] or ()]
            assert isinstance(registry.wait(registry.commit(*old, *new)), Landed)

    # -- what it has done ----------------------------------------------------------------------------

    def history(self) -> History:
        """Read anew when there is more of it: whoever waits asks again and again."""
        if self._path.stat().st_size > self._read[0]:
            text = self._path.read_bytes()
            self._read = len(text), history.read(text[: text.rfind(b"\n") + 1].decode().splitlines())
        return self._read[1]

    def wait(self, enough: Callable[[History], object], within: float = PATIENCE) -> History:
        """The history, as soon as it is as wanted."""
        deadline = time.monotonic() + within
        while not enough(found := self.history()):
            for each in self.replicas:
                assert each.alive(), f"{each.address} ended by itself\n{self.story()}"
            assert time.monotonic() < deadline, f"not within {within} s\n{self.story()}"
            time.sleep(0.02)  # a file tells nobody that it has grown
        return found

    def wait_while(self, seconds: float) -> None:
        """For as long as something is to last."""
        over = boot() + seconds
        self.wait(lambda _: boot() > over, within=seconds + PATIENCE)

    def wait_for_quiet(self, seconds: float) -> None:
        """Until nothing has begun for so long."""
        self.wait(lambda found: boot() > max(run.began for run in found.runs) + seconds)

    def wait_for_all_shards(self, after: datetime | None = None) -> History:
        """Until every shard of every job with a schedule has run for a fire that is later than now, or than
        another time."""
        after = after or datetime.now(UTC)
        wanted = {(job.name, item) for job in self.jobs if job.every for item in range(job.shards)}

        def have_come(found: History) -> bool:
            offset = timedelta(seconds=found.steps[-1][1] if found.steps else 0.0)
            come = {
                run.shard
                for run in found.runs
                if run.fire is not None
                and run.fire > after + offset
                and run.outcome in (history.OK, history.FAILED)
            }
            return come >= wanted

        return self.wait(have_come)

    def wait_until_shared_out(self, job: Job) -> None:
        """Until every replica has its share of a job: who asks for a run asks those whom it finds there, and
        a shard that goes to another in that very moment is not asked."""

        def without_a_share(nodes: Mapping[str, verdict.Node]) -> Iterator[Violation]:
            owners = {
                nodes.get(f"{job.name}/sharding/{item}/instance", verdict.Node()).data
                for item in range(job.shards)
            }
            if "" in owners or len(owners) < min(job.shards, len(self.replicas)):
                yield Violation("UNBALANCED", f"{job.name}: {owners}")

        with connect(self._door) as registry:
            broken = self._settled(registry, without_a_share)
        assert not broken, "\n".join(map(str, broken)) + f"\n{self.story()}"

    def wait_for_a_run(self, job: Job, by: Replica | None = None) -> Run:
        """One that begins from now on, and goes on."""
        found: list[Run] = []
        now = boot()

        def begun(so_far: History) -> bool:
            found[:] = [
                run
                for run in so_far.going_on()
                if run.job == job.name and run.began > now and (by is None or by.pid == run.pid)
            ]
            return bool(found)

        self.wait(begun)
        return found[0]

    def replica_of(self, run: Run) -> Replica:
        """Who runs it."""
        return next(each for each in self.replicas if each.pid == run.pid)

    def leader(self, job: Job) -> Replica:
        """Who leads a job, as the registry says."""
        deadline = time.monotonic() + PATIENCE
        with connect(self._door) as registry:
            path = f"{registry.namespace}/{job.name}/leader/election/instance"
            while time.monotonic() < deadline:
                node = registry.wait(registry.read([path], fresh=True))[path]
                for each in self.replicas:
                    if node is not None and node.data.startswith(f"{each.address}@-@{each.pid}-"):
                        return each
        raise AssertionError(f"nobody leads {job.name} within {PATIENCE} s\n{self.story()}")

    # -- its end -------------------------------------------------------------------------------------

    def finish(self, until: datetime | None = None) -> History:
        """When all shards have come to a fire after now, or after another time: end in order, and judge
        everything up to then, and what is left in the registry."""
        until = until or datetime.now(UTC)
        self.wait_for_all_shards(after=until)
        with connect(self._door) as registry:
            broken = self._settled(registry, lambda nodes: verdict.unbalanced(nodes, self.jobs))
            self.terminate(*self.replicas)
            broken += self._settled(registry, verdict.left)
        found = self.history()
        broken += verdict.violations(found, self.jobs, until)
        assert not broken, "\n".join(map(str, broken)) + f"\n{self.story()}"
        return found

    def _settled(
        self, registry: Registry, judge: Callable[[Mapping[str, verdict.Node]], Iterator[Violation]]
    ) -> list[Violation]:
        """What is wrong with the registry's nodes, once nothing is, or after a while: sessions of those who
        were killed have to end, and shards to move."""
        trees = [registry.mirror(f"{registry.namespace}{own}") for own in ("", "~shardwright")]
        deadline = time.monotonic() + PATIENCE
        while (found := list(judge(_nodes(registry, trees)))) and time.monotonic() < deadline:
            _wait_for_news(registry, trees)
        return found

    def _can_be_written(self) -> bool:
        try:
            with connect(self._door, patience=2.0) as registry:
                probe = Create(f"{registry.namespace}~probe/{boot()}")
                return isinstance(registry.wait(registry.commit(probe)), Landed)
        except RegistryError:
            return False

    def story(self) -> str:
        """Everything that happened, and what each replica said."""
        notes = self._path.read_text()
        said = "\n".join(f"--- {each.address}\n" + "\n".join(each.lines) for each in self._all)
        return f"{notes}\n{said}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._all:
            each.close()
        self._notes.close()


def boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _nodes(registry: Registry, trees: Sequence[Tree]) -> dict[str, verdict.Node]:
    """What there is below these roots, by where it is there."""
    registry.wait_for(lambda: all(tree.synced for tree in trees), PATIENCE)
    paths = {f"{tree.root}/{path}": path for tree in trees for path in tree if path}
    held = registry.wait(registry.read(paths))
    return {
        paths[path]: verdict.Node(node.data, ephemeral=bool(node.owner))
        for path, node in held.items()
        if node is not None
    }


def _wait_for_news(registry: Registry, trees: Sequence[Tree]) -> None:
    """What was told before we began to wait is looked at a moment later."""
    seen = [tree.changes for tree in trees]
    with contextlib.suppress(TimeoutError):
        registry.wait_for(lambda: [tree.changes for tree in trees] != seen, 0.5)
