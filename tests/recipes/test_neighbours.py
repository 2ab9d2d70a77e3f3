"""Ours beside those who follow the same documents in their own way: each understands the other."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shardwright.recipes import slicing
from shardwright.recipes.dynamic_sharding import DynamicSharding
from shardwright.recipes.service_master import ServiceMaster
from shardwright.registry import Put
from tests.faults.processes import Child
from tests.zookeeper_server import Server

from . import children
from .heard import PATIENCE
from .neighbours import Candidate, Client, Member
from .places import Place, until

ACCOUNT = "Account:1.0.0"


@pytest.fixture
def place(zookeeper: Server) -> Place:
    return Place.on_zookeeper(zookeeper.hosts, session=10.0)


# Masters


def ours(place: Place) -> ServiceMaster:
    return ServiceMaster(
        "Account", address="10.0.0.1:9090", registry=place.door(), root=f"{place.root}/soa/master"
    )


def theirs(place: Place, zookeeper: Server) -> Candidate:
    return Candidate(zookeeper.hosts, node(place), "10.0.0.2:9090")


def node(place: Place) -> str:
    return f"{place.root}/soa/master/services/{ACCOUNT}"


def test_a_master_of_theirs_is_respected_and_followed_by_ours(place: Place, zookeeper: Server) -> None:
    with theirs(place, zookeeper) as neighbour:
        neighbour.is_master.until(lambda told: told[-1:] == [True])
        master = ours(place)
        master.start()
        assert master.wait(0.3) is False
        assert master.masters() == {ACCOUNT: "10.0.0.2:9090"}
    assert master.wait(PATIENCE)
    master.stop()


def test_a_master_of_ours_is_understood_and_followed_by_theirs(place: Place, zookeeper: Server) -> None:
    master = ours(place)
    master.start()
    assert master.wait(PATIENCE)
    with theirs(place, zookeeper) as neighbour:
        neighbour.is_master.until(lambda told: told == [False, False])  # it was there, and it is another's
        master.stop()
        neighbour.is_master.until(lambda told: told[-1])


def test_a_node_that_its_maker_never_changed_is_respected_whatever_it_says(
    place: Place, zookeeper: Server
) -> None:
    with Client(zookeeper.hosts) as neighbour:
        neighbour.client.create(node(place), b"container 7", ephemeral=True, makepath=True)
        with ours(place) as master:
            assert master.wait(0.3) is False
            assert master.master_of(ACCOUNT) == "container 7"
            neighbour.client.delete(node(place))
            assert master.wait(PATIENCE)


def test_one_of_ours_designated_in_a_node_of_theirs_takes_it_over(place: Place, zookeeper: Server) -> None:
    with theirs(place, zookeeper) as neighbour:
        neighbour.is_master.until(lambda told: told == [True])
        with ours(place) as master:
            place.write(Put(node(place), "10.0.0.1:9090"))
            assert master.wait(PATIENCE)
            token = master.token
            neighbour.client.stop()
            assert place.names(node(place).rpartition("/")[0]) == (ACCOUNT,)
            assert master.token == token


# Slices


class Ours:
    """One of ours, and what it was told."""

    def __init__(self, place: Place, ip: str) -> None:
        self.sharding = DynamicSharding(
            f"{place.root}/slices", order="sorted", registry=place.door(), address=ip
        )

    def has(self, index: int, total: int) -> None:
        def true() -> bool:
            mine = self.sharding.slice
            return mine is not None and (mine.index, mine.total) == (index, total)

        until(self.sharding, true)


def neighbour_of(place: Place, zookeeper: Server) -> Member:
    """Between two of ours, in the order of ids."""
    return Member(zookeeper.hosts, f"{place.root}/slices", "10.0.0.2", 14609)


def last(what: str) -> Callable[[list[str]], bool]:
    return lambda told: told[-1:] == [what]


def test_with_a_leader_of_theirs_everybody_has_a_slice(place: Place, zookeeper: Server) -> None:
    first, third = Ours(place, "10.0.0.1"), Ours(place, "10.0.0.3")
    with neighbour_of(place, zookeeper) as second:
        second.told.until(last("0 of 1"))
        with first.sharding:
            first.has(0, 2)
            second.told.until(last("1 of 2"))
            with third.sharding:
                third.has(2, 3)
                first.has(0, 3)
                second.told.until(last("1 of 3"))
            first.has(0, 2)
    told = [each == "start" for each in second.told.all]
    assert told == [number % 2 == 0 for number in range(len(told))]  # in turns, however it ended


def test_with_a_leader_of_ours_everybody_has_a_slice(place: Place, zookeeper: Server) -> None:
    first, third = Ours(place, "10.0.0.1"), Ours(place, "10.0.0.3")
    with first.sharding:
        first.has(0, 1)
        with neighbour_of(place, zookeeper) as second:
            second.told.until(last("1 of 2"))
            first.has(0, 2)
            with third.sharding:
                third.has(2, 3)
                second.told.until(last("1 of 3"))
            second.told.until(last("1 of 2"))
        first.has(0, 1)


def test_when_a_leader_goes_whoever_is_left_leads_ours_or_theirs(place: Place, zookeeper: Server) -> None:
    first, second = Ours(place, "10.0.0.1"), neighbour_of(place, zookeeper)
    with second:
        second.told.until(last("0 of 1"))
        first.sharding.start()
        first.has(0, 2)
    first.has(0, 1)
    with neighbour_of(place, zookeeper) as third:
        third.told.until(last("1 of 2"))
        first.sharding.stop()
        third.told.until(lambda told: told[-1].startswith("0 of"))


@pytest.mark.slow
def test_a_round_that_a_killed_leader_of_ours_leaves_open_is_finished_by_theirs(
    zookeeper: Server, tmp_path: Path
) -> None:
    place = Place.on_zookeeper(zookeeper.hosts, session=4.0)
    root, notes = f"{place.root}/slices", str(tmp_path / "notes.jsonl")
    member = place.door(), root, "10.0.0.1", notes, True, True
    with Child(children.take_a_slice, *member, listens=True) as leader:
        leader.expect("has 0 of 1", PATIENCE)
        with neighbour_of(place, zookeeper) as second:
            second.told.until(last("start"))
            leader.expect("pauses", PATIENCE)  # and does not come to rest
            leader.kill()
            assert place.read(f"{root}/{slicing.NECESSARY}") is not None
            second.told.until(last("0 of 1"))
            assert second.told.all == ["start", "0 of 1"]
            assert place.read(f"{root}/{slicing.NECESSARY}") is None
            found = place.read(f"{root}/{slicing.LEADER}")
            assert found is not None
            assert found.data == "10.0.0.2@-@14609"


def test_with_exclusive_a_neighbour_who_cannot_acknowledge_is_not_waited_for(
    place: Place, zookeeper: Server
) -> None:
    root = f"{place.root}/slices"
    ours = DynamicSharding(root, exclusive=True, registry=place.door(), address="10.0.0.1")
    with ours, neighbour_of(place, zookeeper) as second:
        second.told.until(lambda told: told[-1:] in (["0 of 2"], ["1 of 2"]))
        until(ours, lambda: ours.slice is not None and ours.slice.total == 2)
