"""What a story is told with: real schedulers on a real registry, all that ran in them, and an operator.

The operator is a plain client of the registry. It knows ElasticJob's tree and nothing of Shardwright, reads
it as a console does, and steers by writing nodes: `servers/<address>`, `instances/<id>`, `config` and so on.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from shardwright import Scheduler, Shard
from shardwright.registry import Create, Delete, Landed, Put, Tree, Unread, Write, connect

PATIENCE = 20.0
EVERY_SECOND = "0/1 * * * * ?"
ONCE_A_YEAR = "0 0 0 1 1 ?"

A, B, C = "10.0.0.1", "10.0.0.2", "10.0.0.3"

#: A claim is made up to a second before its fire: what was claimed by now begins within that.
AHEAD = timedelta(seconds=1)

#: Who ran which shard of a fire.
Fire = dict[int, str]


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a shard: on which server, of which job, for which fire."""

    who: str
    job: str
    item: int
    fire: datetime | None
    total: int
    parameter: str


def told(runs: list[Ran]) -> Fire:
    """Who ran which shard; each has run once."""
    assert len({ran.item for ran in runs}) == len(runs), f"a shard ran twice: {runs}"
    return {ran.item: ran.who for ran in sorted(runs, key=lambda ran: ran.item)}


class Story:
    """One cluster, from its first member to its last."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.operator = connect(url)
        self.ran: list[Ran] = []
        self._news = threading.Condition()
        self._started: list[Scheduler] = []

    def close(self) -> None:
        for scheduler in self._started:
            scheduler.stop(grace=1.0)
        self.operator.close()

    # -- members ------------------------------------------------------------------------------------

    def start(self, address: str, *jobs: str, **settings: Any) -> Scheduler:
        """A process of its own, as far as anybody can tell, that has these jobs (`job` if none is named)."""
        scheduler = Scheduler(self.url, address=address)
        for name in jobs or ("job",):
            scheduler.add(self.note(address), name, **{"cron": ONCE_A_YEAR, **settings})
        scheduler.start()
        self._started.append(scheduler)
        return scheduler

    def note(self, address: str) -> Callable[[Shard], None]:
        """A job's code that does nothing but note that it ran, and where."""

        def body(shard: Shard) -> None:
            with self._news:
                told = (address, shard.job_name, shard.item, shard.fire_time, shard.total)
                self.ran.append(Ran(*told, shard.job_parameter))
                self._news.notify_all()

        return body

    def two(self, *jobs: str, shards: int = 4, **settings: Any) -> tuple[Scheduler, Scheduler]:
        """Two members that share the shards of each job; the first leads."""
        names = jobs or ("job",)
        first = self.start(A, *names, shards=shards, **settings)
        self.until(lambda: all(self.leader(job) == A for job in names))
        second = self.start(B, *names, shards=shards, **settings)
        self.until(lambda: all(set(self.owners(shards, job)) == {A, B} for job in names))
        return first, second

    # -- what ran -----------------------------------------------------------------------------------

    def until_ran(self, enough: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(enough, PATIENCE), self.ran

    def next_fire(self, shards: int = 4, job: str = "job") -> Fire:
        """The next fire by the calendar that nobody has claimed yet, as soon as all its shards have run."""
        unclaimed = self.operator.now() + AHEAD

        def runs() -> list[Ran]:
            later = [ran for ran in self.ran if ran.job == job and ran.fire and ran.fire > unclaimed]
            return [ran for ran in later if ran.fire == min(filter(None, (ran.fire for ran in later)))]

        self.until_ran(lambda: len(runs()) >= shards)
        return told(runs())

    def ask_for_a_run(self, shards: int = 4, job: str = "job") -> Fire:
        """Have the job fire now, and see who runs what."""
        before = len(self.ran)
        self.ask(job)

        def runs() -> list[Ran]:
            return [ran for ran in self.ran[before:] if ran.job == job and ran.fire is None]

        self.until_ran(lambda: len(runs()) >= shards)
        return told(runs())

    def nothing_fires(self, job: str = "job") -> bool:
        """Whether a job that should fire every second is silent while another one, on a server of its own,
        fires and fires again."""
        unclaimed = self.operator.now() + AHEAD
        self.start("10.9.9.9", "metronome", cron=EVERY_SECOND)
        for _ in range(2):
            self.next_fire(1, "metronome")
        return not [ran for ran in self.ran if ran.job == job and (ran.fire is None or ran.fire > unclaimed)]

    # -- the operator -------------------------------------------------------------------------------

    def path(self, path: str = "", job: str = "job") -> str:
        return f"{self.operator.namespace}/{job}/{path}".rstrip("/")

    def tree(self, job: str = "job") -> Tree:
        return self.operator.mirror(self.path(job=job))

    def until(self, true: Callable[[], bool]) -> None:
        """Follow the registry until something is true of it."""

        def looked() -> bool:
            try:
                return true()
            except Unread as unread:
                self.operator.read(unread.paths)
                return False

        self.operator.wait_for(looked, PATIENCE)

    def until_they_say(self, members: Sequence[Scheduler], *leads: bool, job: str = "job") -> None:
        """Ask the members themselves whether they lead, until they say so: what they know may be a little
        older than what the operator does."""
        end = time.monotonic() + PATIENCE
        while (said := tuple(each.is_leader(job) for each in members)) != leads:
            assert time.monotonic() < end, said

    def leader(self, job: str = "job") -> str | None:
        """The server that leads."""
        who = self.tree(job).get("leader/election/instance")
        return who.partition("@-@")[0] if who is not None else None

    def owners(self, shards: int = 4, job: str = "job") -> list[str]:
        """The servers that own the shards, in the shards' order."""
        tree = self.tree(job)
        ids = [tree.get(f"sharding/{item}/instance") or "" for item in range(shards)]
        return [who.partition("@-@")[0] for who in ids]

    def right_now(self, *paths: str, job: str = "job") -> list[str | None]:
        """What these nodes hold at this very moment."""
        full = [self.path(path, job) for path in paths]
        found = self.operator.wait(self.operator.read(full, fresh=True))
        return [node.data if (node := found[path]) is not None else None for path in full]

    def instance_of(self, address: str, job: str = "job") -> str:
        """The id that a server's one process has in a job."""
        self.until(lambda: self.tree(job).synced)
        (who,) = (each for each in self.tree(job).children("instances") if each.startswith(f"{address}@-@"))
        return who

    def ask(self, job: str = "job") -> None:
        """Ask the job to fire now, as the console does: a node for each instance, one after the other."""
        self.until(lambda: self.tree(job).synced)
        for who in list(self.tree(job).children("instances")):
            self.write(Create(self.path(f"trigger/{who}", job)))

    def set_server(self, address: str, state: str, job: str = "job") -> None:
        self.write(Put(self.path(f"servers/{address}", job), state))

    def order_to_stop(self, address: str, job: str = "job") -> None:
        self.write(Delete(self.path(f"instances/{self.instance_of(address, job)}", job)))

    def reconfigure(self, old: str, new: str, job: str = "job") -> None:
        """Edit the job's settings as a person does: some text in the node is replaced by another."""
        (text,) = self.right_now("config", job=job)
        assert text is not None
        assert old in text
        self.write(Put(self.path("config", job), text.replace(old, new)))

    def disable_shard(self, item: int) -> None:
        self.write(Create(self.path(f"sharding/{item}/disabled")))

    def enable_shard(self, item: int) -> None:
        self.write(Delete(self.path(f"sharding/{item}/disabled")))

    def write(self, *writes: Write) -> None:
        outcome = self.operator.wait(self.operator.commit(*writes))
        assert isinstance(outcome, Landed), outcome
