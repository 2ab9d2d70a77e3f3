"""The reference driver keeps the contract, on a clock that is moved by hand where time matters."""

import os
from collections.abc import Iterator

import pytest

from shardwright.clock import HandClock
from shardwright.registry import Create, Put, Refused, Registry, Session, State, Unknown
from shardwright.registry.memory import MemoryRegistry, Store

from .contract import (
    Cluster,
    NetworkCluster,
    NetworkContract,
    closing,
    data,
    land,
    mirror,
    other,
    read,
    registry,
)

__all__ = ["other", "registry"]


class MemoryCluster(NetworkCluster):
    def __init__(self) -> None:
        super().__init__()
        self._store = Store(plant=os.environ.get("SHARDWRIGHT_PLANT"))

    def connect(self) -> MemoryRegistry:
        return self._store.connect(patience=5.0)

    def expire(self, registry: Registry) -> None:
        memory(registry).expire()

    def cut(self, registry: Registry) -> None:
        memory(registry).disconnect()

    def heal(self, registry: Registry) -> None:
        memory(registry).reconnect()

    def lose_reply(self, registry: Registry) -> None:
        memory(registry).lose_reply()


def memory(registry: Registry) -> MemoryRegistry:
    assert isinstance(registry, MemoryRegistry)
    return registry


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    yield from closing(MemoryCluster())


class TestMemory(NetworkContract):
    pass


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(clock: HandClock) -> Store:
    return Store(clock)


def test_a_delayed_commit_is_unknown_when_patience_ends_and_lands_afterwards(
    store: Store, clock: HandClock
) -> None:
    slow, quick = store.connect(patience=2.0), store.connect()
    slow.delay(requests=5.0)
    future = slow.commit(Create("/a", "late"))
    clock.advance(2.0)
    slow.pump()
    assert future.result(timeout=0) == Unknown("no answer within 2 s")
    assert data(quick, "/a") is None
    clock.advance(3.0)
    assert data(quick, "/a") == "late"


def test_a_mirror_behind_a_lagging_follower_is_old_and_its_guards_are_refused(
    store: Store, clock: HandClock
) -> None:
    lagging, quick = store.connect(), store.connect()
    tree = mirror(lagging)
    land(quick, Create("/contract/job/a", "1"))
    lagging.pump()
    lagging.read(["/contract/job/a"])
    lagging.pump()
    lagging.delay(answers=3.0)
    land(quick, Put("/contract/job/a", "2"))
    lagging.pump()
    assert tree.get("a") == "1"
    future = lagging.commit(Put("/contract/job/a", "3", version=0))
    clock.advance(3.0)
    lagging.pump()
    assert isinstance(future.result(timeout=0), Refused)


def test_a_paused_process_stands_down_by_its_own_clock_before_it_hears_anything(
    store: Store, clock: HandClock
) -> None:
    paused, watcher = store.connect(timeout=10.0), store.connect()
    told: list[State] = []
    paused.listener = lambda state, session: told.append(state)
    land(paused, Create("/contract/job/me", ephemeral=True))
    tree = mirror(watcher)
    paused.pause()
    clock.advance(9.0)
    watcher.pump()
    assert "me" in tree
    session = paused.session()
    assert session is not None
    assert session.lease_left() < 0
    paused.pump()
    assert told[:2] == [State.SUSPENDED, State.LOST]


def test_a_pause_shorter_than_the_lease_is_not_noticed(store: Store, clock: HandClock) -> None:
    paused = store.connect(timeout=10.0)
    told: list[State] = []
    paused.listener = lambda state, session: told.append(state)
    paused.pause()
    clock.advance(5.0)
    paused.resume()
    clock.advance(100.0)
    paused.pump()
    assert told == []
    land(paused, Create("/still-here"))


def test_one_that_is_cut_off_is_given_up_although_it_goes_on_after_a_pause(
    store: Store, clock: HandClock
) -> None:
    paused, watcher = store.connect(timeout=10.0), store.connect()
    land(paused, Create("/contract/job/me", ephemeral=True))
    tree = mirror(watcher)
    paused.disconnect()
    paused.pause()
    clock.advance(1.0)
    paused.resume()
    clock.advance(10.0)
    watcher.pump()
    assert "me" not in tree


def test_a_client_cut_off_says_lost_by_its_own_clock_and_comes_back_anew(
    store: Store, clock: HandClock
) -> None:
    cut, watcher = store.connect(timeout=10.0), store.connect()
    told: list[tuple[State, float]] = []
    cut.listener = lambda state, session: told.append((state, clock.boot()))
    first = cut.session()
    assert first is not None
    land(cut, Create("/contract/job/me", ephemeral=True))
    cut.disconnect()
    cut.pump()
    assert cut.due() == pytest.approx(8.5)
    clock.advance(8.5)
    cut.pump()
    assert told == [(State.SUSPENDED, 0.0), (State.LOST, 8.5)]
    assert read(watcher, "/contract/job/me") is not None
    clock.advance(1.5)
    assert read(watcher, "/contract/job/me") is None
    cut.reconnect()
    cut.pump()
    second = cut.session()
    assert second is not None
    assert second.id != first.id
    assert told[-1][0] is State.CONNECTED


def test_lost_by_our_own_clock_and_found_alive_is_the_same_session_again(
    store: Store, clock: HandClock
) -> None:
    cut = store.connect(timeout=10.0)
    first = cut.session()
    land(cut, Create("/contract/job/me", ephemeral=True))
    cut.disconnect()
    cut.pump()
    clock.advance(9.0)
    cut.pump()
    assert cut.state is State.LOST
    cut.reconnect()
    cut.pump()
    assert cut.session() is first
    assert read(cut, "/contract/job/me") is not None
    clock.advance(60.0)
    assert read(cut, "/contract/job/me") is not None


def test_requests_can_be_lost_on_the_way(store: Store, clock: HandClock) -> None:
    client = store.connect()
    client.delay(requests=1.0)
    future = client.commit(Create("/a"))
    client.disconnect(lose_requests=True)
    client.pump()
    assert isinstance(future.result(timeout=0), Unknown)
    clock.advance(2.0)
    assert store.nodes == {}


def test_a_session_that_has_ended_is_granted_no_lease_again() -> None:
    session = Session("a", HandClock(), timeout=10.0, margin=0.1)
    assert session.lease_left() == 9.0
    session.end()
    session.grant(20.0, 0.1)  # the answer to a handshake that was under way
    session.renew(1000.0)
    assert session.lease_left() == float("-inf")
