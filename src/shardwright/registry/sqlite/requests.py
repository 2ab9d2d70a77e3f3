"""What is said to the clerk, and what the clerk says to the owner."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from ..driver import Session
from ..tree import Node
from ..writes import Outcome
from .file import File, News
from .plan import Plan

Note = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on its way: what to do, for which session, whom to tell, and until when to try."""

    plan: Plan
    session: str
    ref: int
    size: int
    until: float
    future: "Future[Outcome]"


@dataclass(frozen=True, slots=True)
class Follow:
    """A mirror to be read whole: `learn` is told all that stands at its root and below, before the news. If
    it cannot be read nobody is told: the connection is gone, and with the next one all are read anew."""

    root: str
    learn: Callable[[dict[str, Node]], None]


@dataclass(frozen=True, slots=True)
class Read:
    """Nodes to be read: the answer is told after the news, so that no mirror is older than it."""

    paths: Sequence[str]
    answer: Callable[[dict[str, Node | None]], None]
    failed: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Question:
    """Something else to ask of the file, answered after the news. `ask` gives the note that takes the answer
    to the owner."""

    ask: Callable[[File], Note]
    failed: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Died:
    """Somebody's session must be ended."""

    session: str
    why: str


@dataclass(frozen=True, slots=True)
class Anew:
    """Our session must be given up and another be taken, if it is still this one."""

    session: str
    why: str


@dataclass(frozen=True, slots=True)
class Broke:
    """A thread of ours has ended that should not have."""

    error: BaseException


class Stop:
    """Leave."""


Request = Commit | Follow | Read | Question | Died | Anew | Broke | Stop


class Mail(Protocol):
    """Where the clerk leaves word for the owner."""

    def tell(self, notes: Iterable[Note]) -> None: ...
    def connected(self, session: Session) -> Note: ...
    def suspended(self) -> Note: ...
    def lost(self) -> Note: ...
    def news(self, news: News) -> Note: ...
    def broke(self, error: BaseException) -> None: ...
    def settled(self, future: "Future[Outcome]", outcome: Outcome) -> Note: ...
