"""A counter at which the console's desk is asked: a registry with jobs written by hand, a history beside it,
and people who have signed in with one role or another."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardwright.clock import HandClock
from shardwright.console.accounts import Accounts
from shardwright.console.app import Console, build
from shardwright.console.desk import Desk, Room
from shardwright.console.gate import Gate
from shardwright.console.guard import Front
from shardwright.console.roles import Role
from shardwright.console.settings import Place
from shardwright.console.static import Static
from shardwright.history.store import Store
from tests.ops.bureau import Bureau

from .visiting import Answer, Caller, House

NAME = "main"


@dataclass(frozen=True)
class Counter:
    """What tests talk to."""

    house: House
    bureau: Bureau
    store: Store
    room: Room

    def as_a(self, role: Role, name: str = "ann") -> "Clerk":
        return Clerk(self.house.somebody({NAME: role}, name))

    @property
    def viewer(self) -> "Clerk":
        return self.as_a(Role.VIEWER)

    @property
    def operator(self) -> "Clerk":
        return self.as_a(Role.OPERATOR)

    @property
    def author(self) -> "Clerk":
        return self.as_a(Role.AUTHOR)

    @property
    def admin(self) -> "Clerk":
        return Clerk(self.house.admin)

    def seen(self, true: Callable[[Any], bool], path: str = "jobs?limit=200") -> Any:
        """What a path answers, once it is so."""
        end = time.monotonic() + 10
        while True:
            answer = self.viewer.get(path)
            if true(answer):
                return answer
            assert time.monotonic() < end, answer
            time.sleep(0.02)


@dataclass(frozen=True)
class Clerk:
    """Somebody at the counter; answers are taken apart, and must be of the status that is expected."""

    caller: Caller

    def get(self, path: str, status: int = 200) -> Any:
        return self._told(self.caller.get(f"/api/r/{NAME}/{path}"), status)

    def post(self, path: str, body: object = None, status: int = 200) -> Any:
        return self._told(self.caller.post(f"/api/r/{NAME}/{path}", {} if body is None else body), status)

    def patch(self, path: str, body: object, status: int = 200) -> Any:
        return self._told(self.caller.patch(f"/api/r/{NAME}/{path}", body), status)

    def delete(self, path: str, status: int = 200) -> Any:
        return self._told(self.caller.delete(f"/api/r/{NAME}/{path}"), status)

    def _told(self, answer: Answer, status: int) -> Any:
        assert answer.status == status, (answer.status, answer.body)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        return json.loads(answer.body)


@contextmanager
def counter(folder: Path, bureau: Bureau, *, history: bool = True) -> Iterator[Counter]:
    """A desk for this registry, with a history unless there is to be none."""
    file = folder / "history.db"
    place = Place(NAME, bureau.url, file if history else None)
    gate = Gate(Accounts(folder / "accounts.json", HandClock()), {NAME: bureau.url}, clock=HandClock())
    with Store(file, trace=False) as store, Desk([place]) as desk:
        api = build(gate, desk, Front(), version="7")
        console = Console(api, Front(), Static(folder / "no page"))
        yield Counter(House(console, api, gate, HandClock(), []), bureau, store, desk.room(NAME))


class Follower:
    """Somebody who follows the stream of events, in a thread with a loop of its own."""

    def __init__(self, room: Room, job: str | None = None, user: str = "ann") -> None:
        self._listener = room.listen(user, job)
        self._heard: list[tuple[float, str, Any]] = []
        self._changed = threading.Condition()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._follow()), daemon=True)
        self._thread.start()

    async def _follow(self) -> None:
        while (events := await self._listener.next(0.2)) is not None:
            with self._changed:
                self._heard += [(time.monotonic(), each.name, json.loads(each.data)) for each in events]
                self._changed.notify_all()
        self.ended.set()

    def hear(self, name: str, true: Callable[[Any], bool] = lambda data: True, within: float = 10) -> Any:
        """What an event of this name says for which this is true, whether it came already or comes."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: [data for _, said, data in self._heard if said == name and true(data)], within
            )
            assert found, self._heard
        return found[0]

    def forget(self) -> None:
        with self._changed:
            self._heard.clear()

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *raised: object) -> None:
        self._listener.end()
        self._thread.join(10)
        self._listener.close()
