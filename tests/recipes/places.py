"""Places: a registry each, with a way in for everybody who is to have a session of its own."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardwright.recipes.participant import Participant
from shardwright.registry import Landed, Node, Write, connect

from .heard import PATIENCE

numbers = itertools.count()


def until(who: "Participant[Any]", true: Callable[[], object]) -> None:
    """Wait for what somebody is told by the registry."""
    assert who._until(lambda: bool(true()), PATIENCE)


def fail_inside(who: "Participant[Any]") -> None:
    """Have the reactor fail that takes its turns."""

    def fail() -> None:
        raise RuntimeError("as it was told to")

    assert who._station is not None
    who._station.post(fail)


@dataclass(frozen=True)
class Place:
    """`door` makes an address of it, a new one each time: recipes that are given the same address share a
    session, as those of one process do. `root` is below what this test's nodes stand."""

    door: Callable[[], str]
    root: str
    session: float

    @classmethod
    def in_memory(cls, session: float) -> "Place":
        name = f"recipes{next(numbers)}"
        return cls(lambda: f"memory://{name}/{next(numbers)}?session_timeout={session}s", "", session)

    @classmethod
    def in_a_file(cls, path: Path, session: float) -> "Place":
        path.parent.chmod(0o700)
        return cls(
            lambda: f"sqlite://{path}?namespace={next(numbers)}&session_timeout={session}s", "", session
        )

    @classmethod
    def on_zookeeper(cls, hosts: str, session: float) -> "Place":
        root = f"/recipes{next(numbers)}"
        return cls(lambda: f"zookeeper://{hosts}/{next(numbers)}?session_timeout={session}s", root, session)

    def write(self, *writes: Write) -> None:
        """As an operator does it, by hand."""
        with connect(self.door()) as registry:
            outcome = registry.wait(registry.commit(*writes))
            assert isinstance(outcome, Landed), outcome

    def read(self, path: str) -> Node | None:
        with connect(self.door()) as registry:
            return registry.wait(registry.read([path], fresh=True))[path]

    def names(self, path: str) -> tuple[str, ...]:
        with connect(self.door()) as registry:
            return registry.wait(registry.names([path], fresh=True))[path] or ()
