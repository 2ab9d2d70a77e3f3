"""The stage: a fleet of real processes on a real registry, and a real console before it.

with Stage(url, folder) as stage:
    stage.start(2)
    stage.take_part(2)
    stage.open_console()
    stage.kill(stage.replicas[0])
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shardwright.ops.operator import Operator
from shardwright.registry import Registry, connect
from tests.console.browser import service
from tests.faults.processes import ROOT, Child

PATIENCE = 60.0

#: What each replica runs, unless a test says otherwise.
JOBS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "index-photos",
        "cron": "0/5 * * * * ?",
        "time_zone": "UTC",
        "shards": 6,
        "failover": True,
        "length": 1.5,
        "description": "Puts new photographs into the index",
        "items": {str(number): name for number, name in enumerate("abcdef")},
    },
    {
        "name": "send-invoices",
        "cron": "0/10 * * * * ?",
        "time_zone": "UTC",
        "shards": 3,
        "length": 0.3,
        "fails": [1],
        "description": "Sends what was bought yesterday",
    },
    {
        "name": "nightly-report",
        "cron": "0 30 2 * * ?",
        "time_zone": "Europe/Berlin",
        "shards": 4,
        "failover": True,
        "parameter": "all countries",
        "description": "The report of the day before",
    },
    {"name": "on-request", "shards": 2, "description": "Runs when somebody asks"},
    {"name": "archive", "cron": "0 0 3 ? * SUN", "time_zone": "UTC", "shards": 600},
)


class Replica(Child):
    """One process of the service."""

    def __init__(self, url: str, address: str, jobs: Sequence[Mapping[str, Any]], history: str) -> None:
        told = json.dumps(list(jobs))
        super().__init__(service.run, url, address, told, env={"SHARDWRIGHT_HISTORY": history})
        self.address = address


class Console(Child):
    """`shardwright console`, with its address and, as long as nobody has an account, a token for the first
    one. It finds its `shardwright.toml`, if it has any, in the folder."""

    def __init__(
        self,
        registries: Mapping[str, str],
        histories: Mapping[str, str],
        accounts: Path,
        *more: str,
        folder: Path = ROOT,
    ) -> None:
        super().__init__(
            "shardwright",
            "console",
            *(f"--registry={name}={url}" for name, url in registries.items()),
            *(f"--history={name}={url}" for name, url in histories.items()),
            "--port=0",
            f"--accounts={accounts}",
            *more,
            folder=folder,
        )
        self.url = self.expect("The console is at ", within=PATIENCE).split(" at ")[1].strip().rstrip("/")
        self.token = None if accounts.exists() else self.expect("One-time token").rsplit(": ", 1)[1].strip()


class Stage:
    """Replicas, others who take part, and a console."""

    def __init__(self, url: str, folder: Path, jobs: Sequence[Mapping[str, Any]] = JOBS) -> None:
        self.url, self.folder, self.jobs = url, folder, jobs
        self.history = f"sqlite:///{folder / 'history.db'}"
        self.replicas: list[Replica] = []
        self._open = contextlib.ExitStack()
        self._started = self._consoles = 0

    def start(self, count: int = 1, *, jobs: Sequence[Mapping[str, Any]] | None = None) -> list[Replica]:
        """More replicas, each on a server of its own, with all jobs or with others; there when this
        returns."""
        new = []
        for _ in range(count):
            self._started += 1
            address = f"10.0.0.{self._started}"
            new.append(self._open.enter_context(Replica(self.url, address, jobs or self.jobs, self.history)))
        for each in new:
            each.expect("joined as", within=PATIENCE)
        names = [str(job["name"]) for job in jobs or self.jobs]
        with self.registry() as registry:
            wait_until(lambda: all_are_in(registry, names, new), "they are in all their jobs")
        self.replicas += new
        return new

    def kill(self, replica: Replica) -> None:
        """`kill -9`."""
        replica.kill()
        self.replicas.remove(replica)

    def end(self, replica: Replica) -> None:
        """SIGTERM, and no more of it."""
        replica.terminate(30.0)
        self.replicas.remove(replica)

    def take_part(self, count: int, service_name: str = "AccountService", slices: str = "feeds") -> None:
        """Candidates for the master of a service, who have slices too."""
        new = [
            self._open.enter_context(
                Child(service.take_part, self.url, f"10.0.1.{number + 1}", service_name, slices)
            )
            for number in range(count)
        ]
        for each in new:
            each.expect("takes part", within=PATIENCE)

    def open_console(
        self, *more: str, registries: Mapping[str, str] | None = None, folder: Path = ROOT
    ) -> Console:
        """A console of this registry, or of others besides; each has accounts of its own."""
        self._consoles += 1
        accounts = self.folder / f"accounts{self._consoles}.json"
        known = {"main": self.url, **(registries or {})}
        return self._open.enter_context(
            Console(known, {"main": self.history}, accounts, *more, folder=folder)
        )

    @contextmanager
    def registry(self) -> Iterator[Registry]:
        """A connection of the test's own, whose session outlasts a busy machine."""
        with connect(self.url.partition("?")[0]) as registry:
            yield registry

    @contextmanager
    def operator(self) -> Iterator[Operator]:
        with self.registry() as registry:
            yield Operator(registry, who="somebody else")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


def all_are_in(registry: Registry, names: Sequence[str], replicas: Sequence[Replica]) -> bool:
    paths = [f"{registry.namespace}/{name}/instances" for name in names]
    found = registry.wait(registry.names(paths, fresh=True))
    return all(
        any(each.startswith(f"{replica.address}@-@") for each in found[path] or ())
        for path in paths
        for replica in replicas
    )


def wait_until(true: Callable[[], object], what: str, within: float = PATIENCE) -> None:
    """Until something outside of the page is so."""
    over = time.monotonic() + within
    while not true():
        assert time.monotonic() < over, f"not within {within} s: {what}"
        time.sleep(0.02)  # neither a registry of another process nor a file tells us
