"""What only ZooKeeper can show of the recipes: what passes over the wire, who may write, and a wire on which
nothing passes."""

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient
from kazoo.security import ACL, make_acl, make_digest_acl

from shardwright.recipes.dynamic_sharding import DynamicSharding
from shardwright.recipes.service_master import Masters, ServiceMaster
from shardwright.registry import Create
from tests.faults.processes import Child
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

from . import children
from .heard import PATIENCE, Heard, listening, says
from .places import Place, until

ACCOUNT = "Account:1.0.0"


@pytest.fixture
def place(zookeeper: Server) -> Place:
    return Place.on_zookeeper(zookeeper.hosts, session=10.0)


@pytest.fixture
def other(zookeeper: Server) -> Iterator[KazooClient]:
    """Somebody who uses ZooKeeper directly."""
    client = KazooClient(zookeeper.hosts, timeout=10.0)
    client.start()
    yield client
    client.stop()
    client.close()


def test_all_the_services_of_a_process_share_one_session_and_one_watch(
    place: Place, zookeeper: Server
) -> None:
    root = f"{place.root}/soa/master"
    with Proxy(zookeeper.hosts) as proxy:
        door = f"zookeeper://{proxy.hosts}/one"
        with (
            ServiceMaster("Account", address="a:1", registry=door, root=root) as first,
            ServiceMaster("Order", address="a:1", registry=door, root=root) as second,
            Masters(registry=door, root=root) as asking,
        ):
            assert first.wait(PATIENCE)
            assert second.wait(PATIENCE)
            assert proxy.connections == 1
            assert proxy.requests["addWatch"] == 1
            until(asking, lambda: len(asking.masters()) == 2)
        proxy.until(lambda: proxy.connections == 0)


def test_one_that_may_not_write_says_so_once_and_wins_by_itself_when_it_may(
    place: Place, other: KazooClient
) -> None:
    services = f"{place.root}/soa/master/services"
    other.ensure_path(services)
    other.set_acls(services, reads_for_all())
    with (
        listening() as said,
        ServiceMaster(
            "Account", address="a:1", registry=place.door(), root=f"{place.root}/soa/master"
        ) as first,
    ):
        said.until(says("WARNING", ACCOUNT, "no permission for", f"{services}/{ACCOUNT}"))
        assert not first.is_master
        other.add_auth("digest", "operator:secret")
        other.set_acls(services, [make_acl("world", "anyone", all=True)])
        assert first.wait(PATIENCE)
        assert len([line for line in said.all if "no permission" in line]) == 1


def reads_for_all() -> list[ACL]:
    return [make_digest_acl("operator", "secret", all=True), make_acl("world", "anyone", read=True)]


def test_one_that_may_not_read_what_is_anothers_is_master_all_the_same_and_says_so_once(
    place: Place, other: KazooClient
) -> None:
    services = f"{place.root}/soa/master/services"
    secret = f"{services}/Secret:1"
    other.ensure_path(services)
    other.create(secret, b"x:1", ephemeral=True, acl=[make_digest_acl("operator", "secret", all=True)])
    root = f"{place.root}/soa/master"
    with (
        listening() as said,
        ServiceMaster("Account", address="a:1", registry=place.door(), root=root) as first,
    ):
        assert first.wait(PATIENCE)
        until(first, lambda: first.masters() == {ACCOUNT: "a:1"})
        said.until(says("WARNING", secret, "cannot be read: whose it is is not told"))
        place.write(Create(f"{services}/Order:1", "b:1"))
        until(first, lambda: first.masters() == {ACCOUNT: "a:1", "Order:1": "b:1"})
        assert len([line for line in said.all if "whose it is is not told" in line]) == 1


def test_a_master_whose_node_it_may_not_read_any_more_stands_down(place: Place, other: KazooClient) -> None:
    """Somebody has made it anew, and keeps it to himself."""
    node = f"{place.root}/soa/master/services/{ACCOUNT}"
    heard: Heard[bool] = Heard()
    first = ServiceMaster("Account", address="a:1", registry=place.door(), root=f"{place.root}/soa/master")
    first.on_change(heard)
    with first:
        assert first.wait(PATIENCE)
        together = other.transaction()
        together.delete(node)
        together.create(node, b"b:1", ephemeral=True, acl=[make_digest_acl("operator", "secret", all=True)])
        together.commit()
        heard.until(lambda told: told == [True, False])
        other.delete(node)
        heard.until(lambda told: told == [True, False, True])


def test_an_instance_that_may_not_be_read_is_given_no_slice_and_said(
    place: Place, other: KazooClient
) -> None:
    path = f"{place.root}/slices/instances/10.0.0.9@-@7"
    other.ensure_path(path.rpartition("/")[0])
    other.create(path, b"secret", ephemeral=True, acl=[make_digest_acl("operator", "secret", all=True)])
    with listening() as said, DynamicSharding(f"{place.root}/slices", registry=place.door()) as only:
        mine = only.wait(PATIENCE)
        assert mine is not None
        assert (mine.index, mine.total) == (0, 1)
        said.until(says("WARNING", "instances/10.0.0.9@-@7 cannot be read: it is given no slice"))


def test_one_that_ends_without_having_been_stopped_hands_over_before_its_session_could_end(
    place: Place,
) -> None:
    root = f"{place.root}/soa/master"
    with Child(children.start_and_exit, place.door(), root, listens=True) as child:
        child.expect("is master: True", PATIENCE)
        with ServiceMaster("Account", address="b:1", registry=place.door(), root=root) as second:
            child.tell("end")
            assert child.wait(PATIENCE) == 0
            assert second.wait(place.session / 4)


def test_a_master_that_nobody_answers_stands_down_before_its_node_can_go(
    place: Place, zookeeper: Server, other: KazooClient
) -> None:
    """By its own clock: the connection stands, and nothing comes through."""
    heard: Heard[str] = Heard()
    root = f"{place.root}/soa/master"
    with Proxy(zookeeper.hosts) as proxy:
        door = f"zookeeper://{proxy.hosts}/one?session_timeout=2s"
        first = ServiceMaster("Account", address="a:1", registry=door, root=root)
        first.on_change(lambda leading: heard("master" if leading else "stood down"))
        with first:
            heard.until(lambda told: told == ["master"])

            def gone(event: object) -> None:
                heard(f"gone, master: {first.is_master}")

            assert other.exists(f"{root}/services/{ACCOUNT}", watch=gone)
            proxy.half_open()
            heard.until(lambda told: "gone, master: False" in told)
            assert heard.until(lambda told: len(told) >= 3)[1] == "stood down"
            proxy.heal()
            heard.until(lambda told: told[-1] == "master")


def test_one_that_nobody_answers_pauses_by_its_own_clock_and_is_given_a_slice_again(
    place: Place, zookeeper: Server
) -> None:
    told: Heard[str] = Heard()
    with Proxy(zookeeper.hosts) as proxy:
        sharding = DynamicSharding(
            f"{place.root}/slices",
            on_start=lambda: told(f"pause, slice: {sharding.slice}"),
            on_completed=lambda mine: told("slice" if mine else "nothing"),
            registry=f"zookeeper://{proxy.hosts}/one?session_timeout=2s",
        )
        with sharding:
            before = sharding.wait(PATIENCE)
            told.until(lambda calls: len(calls) == 2)
            proxy.half_open()
            told.until(lambda calls: calls[2:] == ["pause, slice: None"])
            proxy.heal()
            after = sharding.wait(PATIENCE)
            told.until(lambda calls: calls[-1] == "slice")
    assert before is not None
    assert after is not None
    assert after.epoch >= before.epoch  # the same, where the session was not given up


def test_one_that_is_stopped_while_it_is_cut_off_is_not_master_afterwards(
    place: Place, zookeeper: Server
) -> None:
    """It cannot say that it leaves, and by its own clock it could be master for a while."""
    heard: Heard[bool] = Heard()
    with Proxy(zookeeper.hosts) as proxy, listening() as said:
        first = ServiceMaster(
            "Account",
            address="a:1",
            registry=f"zookeeper://{proxy.hosts}/one",
            root=f"{place.root}/soa/master",
        )
        first.on_change(heard)
        first.start()
        assert first.wait(PATIENCE)
        proxy.cut()
        said.until(says("WARNING cut off from the registry"))
        first.stop(within=0.2)
        assert not first.is_master
        heard.until(lambda told: told == [True, False])
        said.until(says("WARNING", "left without having been able to say so"))
