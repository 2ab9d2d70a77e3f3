"""What kazoo and ZooKeeper are known to do to their users, done to our driver by real servers and wires."""

import contextlib
import logging
import os
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl, make_digest_acl

from shardwright.clock import SystemClock
from shardwright.errors import NotAllowed, RegistryError, Unreachable
from shardwright.registry import (
    Create,
    Credentials,
    Delete,
    Landed,
    Outcome,
    Put,
    Refused,
    Session,
    State,
    Unknown,
    connect,
    session_ender,
)
from shardwright.registry.zookeeper import ZookeeperRegistry, client
from shardwright.registry.zookeeper.client import Access
from tests.certificates import Certificates, make
from tests.faults.processes import Child
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Ensemble, Server

from .contract import ROOT, data, land, look, mirror, read, refuse, sees
from .test_zookeeper import ZookeeperCluster, end_session
from .zookeeper_children import member

pytestmark = pytest.mark.zookeeper

#: Short, for those that are to end; one whose renewal is waited for; and one that a machine that stands still
#: for a moment does not end.
SESSION = 2.0
STEADY = 6.0
LONG = 12.0


def url(hosts: str, options: str = "", who: str = "", session: float = SESSION) -> str:
    return f"zookeeper://{who}{hosts}/contract?session_timeout={session}s{options}"


def open_at(address: str, patience: float = 10.0) -> ZookeeperRegistry:
    registry = connect(address, patience=patience)
    assert isinstance(registry, ZookeeperRegistry)
    return registry


def states_of(registry: ZookeeperRegistry) -> list[State]:
    told: list[State] = []
    registry.listener = lambda state, session: told.append(state)
    return told


@pytest.fixture
def cluster(zookeeper: Server) -> Iterator[ZookeeperCluster]:
    cluster = ZookeeperCluster(zookeeper, timeout=LONG)
    yield cluster
    cluster.close()


@pytest.fixture
def hasty_cluster(zookeeper: Server) -> Iterator[ZookeeperCluster]:
    cluster = ZookeeperCluster(zookeeper, timeout=SESSION)
    yield cluster
    cluster.close()


def client_of(cluster: ZookeeperCluster) -> tuple[ZookeeperRegistry, Proxy]:
    registry = cluster.open()
    assert isinstance(registry, ZookeeperRegistry)
    return registry, cluster.proxy(registry)


# -- leases and sessions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["both", "c2s", "s2c"])
def test_on_a_half_open_connection_lost_is_told_by_our_own_clock_before_the_server_gives_us_up(
    hasty_cluster: ZookeeperCluster, cluster: ZookeeperCluster, where: str
) -> None:
    registry, proxy = client_of(hasty_cluster)
    witness = cluster.open()
    told = states_of(registry)
    land(registry, Create(f"{ROOT}/me", ephemeral=True))
    proxy.half_open(where)  # type: ignore[arg-type]
    registry.wait_for(lambda: State.LOST in told, SESSION * 3)
    # Whoever succeeds us starts after this node has gone: by then we have stood down.
    assert read(witness, f"{ROOT}/me") is not None
    assert told[:2] == [State.SUSPENDED, State.LOST]
    proxy.heal()
    registry.wait_for(lambda: registry.session() is not None)


def test_lost_is_told_while_every_server_is_frozen_and_work_goes_on_after_the_thaw(
    zookeeper_server: Server,
) -> None:
    registry = open_at(url(zookeeper_server.hosts))
    told = states_of(registry)
    tree = mirror(registry)
    land(registry, Create(f"{ROOT}/me", ephemeral=True))
    zookeeper_server.pause()
    registry.wait_for(lambda: State.LOST in told, SESSION * 3)
    zookeeper_server.resume()
    registry.wait_for(lambda: registry.session() is not None and tree.synced)
    land(registry, Create(f"{ROOT}/again"))
    registry.close()


def test_a_session_outlives_an_outage_longer_than_its_time_out(zookeeper_server: Server) -> None:
    registry = open_at(url(zookeeper_server.hosts))
    told = states_of(registry)
    before = registry.session()
    tree = mirror(registry)
    land(registry, Create(f"{ROOT}/me", ephemeral=True))
    zookeeper_server.kill()
    registry.wait_for(lambda: State.LOST in told, SESSION * 3)
    assert registry.session() is None
    zookeeper_server.restart()
    registry.wait_for(lambda: registry.session() is not None and tree.synced)
    # The very session that our clock gave up, and the node with it: verify, touch nothing.
    assert registry.session() is before
    assert told == [State.SUSPENDED, State.LOST, State.CONNECTED]
    assert "me" in tree
    registry.close()


def test_a_session_outlives_a_server_that_takes_the_connection_and_never_answers(zookeeper: Server) -> None:
    with Proxy(zookeeper.hosts) as proxy:
        registry = open_at(f"zookeeper://{proxy.hosts}/contract?session_timeout=6s")
        told = states_of(registry)
        before = registry.session()
        silent = proxy.eat_request("connect", cut=False)
        proxy.eat_request("multi")
        assert isinstance(registry.wait(registry.commit(Create(ROOT))), Unknown)
        silent.wait()
        registry.wait_for(lambda: told[-1:] == [State.CONNECTED])
        assert told == [State.SUSPENDED, State.CONNECTED]
        assert registry.session() is before
        registry.close()


def test_the_leader_of_three_servers_is_killed_and_the_session_goes_on(ensemble: Ensemble) -> None:
    registry = open_at(url(ensemble.hosts))
    before = registry.session()
    tree = mirror(registry)
    number = land(registry, Create(f"{ROOT}/me", "1", ephemeral=True)).number
    ensemble.leader().kill()

    def lands() -> bool:
        outcome = registry.wait(registry.commit(Put(f"{ROOT}/me", "2"))) if registry.session() else None
        return isinstance(outcome, Landed) and outcome.number > number

    registry.wait_for(lands, 30)
    registry.wait_for(lambda: tree.synced)
    assert registry.session() is before
    assert look(registry, lambda: tree.get("me")) == "2"
    registry.close()


def test_a_fresh_read_through_another_server_is_not_older_than_the_write(ensemble: Ensemble) -> None:
    leader, follower = open_at(url(ensemble.leader().hosts)), open_at(url(ensemble.follower().hosts))
    land(leader, Create(f"{ROOT}/n", "0"))
    for n in range(1, 50):
        land(leader, Put(f"{ROOT}/n", str(n)))
        assert data(follower, f"{ROOT}/n") == str(n)
    leader.close()
    follower.close()


def test_a_process_stopped_longer_than_its_session_stands_down_before_anything_else(
    zookeeper: Server,
) -> None:
    watcher = open_at(url(zookeeper.hosts))
    path = f"{ROOT}/stopped"
    tree = mirror(watcher)
    with Child(member, url(zookeeper.hosts), path) as child:
        child.expect("ready")
        sees(watcher, lambda: "stopped" in tree)
        child.stop()
        watcher.wait_for(lambda: "stopped" not in tree, SESSION * 3)
        child.cont()
        first = child.expect("<state>").split()
        assert first[1] == State.SUSPENDED.value
        assert child.expect("<state>").split() == ["<state>", State.LOST.value, first[2]]
        again = child.expect(f"<state> {State.CONNECTED.value}").split()
        assert again[2] != first[2]
    watcher.close()


def test_the_nodes_of_a_killed_process_go_when_its_session_ends(zookeeper: Server) -> None:
    watcher = open_at(url(zookeeper.hosts))
    tree = mirror(watcher)
    with Child(member, url(zookeeper.hosts), f"{ROOT}/killed") as child:
        child.expect("ready")
        sees(watcher, lambda: "killed" in tree)
        child.kill()
        watcher.wait_for(lambda: "killed" not in tree, SESSION * 3)
    watcher.close()


def test_the_time_out_the_server_granted_is_the_one_that_counts(zookeeper: Server) -> None:
    registry = open_at(f"zookeeper://{zookeeper.hosts}/contract?session_timeout=100s")
    session = registry.session()
    assert session is not None
    assert session.timeout == 60.0  # the most this server gives
    registry.close()


def test_a_lease_is_renewed_while_nothing_happens(zookeeper: Server) -> None:
    registry = open_at(url(zookeeper.hosts, session=STEADY))
    session = registry.session()
    told = states_of(registry)
    assert session is not None
    ends = session.ends()
    registry.wait_for(lambda: session.ends() > ends + STEADY, STEADY * 4)
    assert told == []
    registry.close()


def test_a_pause_of_the_owner_alone_costs_nothing(zookeeper: Server) -> None:
    registry = open_at(url(zookeeper.hosts))
    told = states_of(registry)
    session = registry.session()
    assert session is not None
    asleep = session.ends() + SESSION / 2
    while registry.clock.boot() < asleep:  # the owner is busy elsewhere and pumps nothing
        time.thread_time()
    registry.pump()
    assert told == []
    assert registry.session() is session
    registry.close()


# -- answers that do not come -----------------------------------------------------------------------------


def test_a_request_that_is_late_is_unknown_and_lands_afterwards(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    witness = cluster.open()
    land(registry, Create(ROOT))
    proxy.stall("c2s")
    outcome = registry.wait(registry.commit(Create(f"{ROOT}/late", "x"), patience=0.3))
    assert isinstance(outcome, Unknown)
    assert read(witness, f"{ROOT}/late") is None
    proxy.heal()
    witness.wait_for(lambda: data(witness, f"{ROOT}/late") == "x")


def test_an_answer_that_is_late_still_reaches_the_mirror(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    tree = mirror(registry)
    land(registry, Create(f"{ROOT}/a", "1"))
    held = proxy.hold_reply("multi")
    outcome = registry.wait(registry.commit(Put(f"{ROOT}/a", "2"), patience=0.3))
    assert isinstance(outcome, Unknown)
    held.release()
    registry.wait_for(lambda: look(registry, lambda: tree.get("a")) == "2")


def test_a_request_that_never_arrived_is_unknown_too(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    tree = mirror(registry)
    land(registry, Create(ROOT))
    proxy.eat_request("multi")
    assert isinstance(registry.wait(registry.commit(Create(f"{ROOT}/never"))), Unknown)
    registry.wait_for(lambda: registry.session() is not None and tree.synced)
    assert "never" not in tree


def test_a_plain_ephemeral_whose_reply_was_lost_is_known_for_ours_by_its_owner(
    cluster: ZookeeperCluster,
) -> None:
    registry, _ = client_of(cluster)
    tree = mirror(registry)
    land(registry, Create(ROOT))
    cluster.lose_reply(registry)
    assert isinstance(registry.wait(registry.commit(Create(f"{ROOT}/me", ephemeral=True))), Unknown)
    registry.wait_for(lambda: registry.session() is not None and tree.synced)
    assert isinstance(registry.wait(registry.commit(Create(f"{ROOT}/me", ephemeral=True))), Refused)
    session = registry.session()
    assert session is not None
    assert look(registry, lambda: tree.owner("me")) == session.id


def test_nothing_waits_for_ever_while_cut_off(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    proxy.cut()
    registry.wait_for(lambda: registry.session() is None)
    assert registry.commit(Create(f"{ROOT}/a")).result(timeout=0) == Refused("not connected to the registry")
    with pytest.raises(RegistryError, match="not connected"):
        registry.read([ROOT]).result(timeout=0)
    tree = registry.mirror(f"{ROOT}/later")
    proxy.heal()
    registry.wait_for(lambda: tree.synced)


def test_a_request_of_an_ended_session_is_never_sent_in_the_next_one(
    cluster: ZookeeperCluster, zookeeper: Server
) -> None:
    registry, _ = client_of(cluster)
    land(registry, Create(ROOT))
    first = registry.session()
    end_session(zookeeper, registry)
    # The owner has not been told yet: for it the old session still stands.
    while registry._client.identity() is None or f"{registry._client.identity()[0]:016x}" == first.id:  # type: ignore[index,union-attr]
        time.thread_time()
    outcome = registry.wait(registry.commit(Create(f"{ROOT}/from-the-old-session", ephemeral=True)))
    assert isinstance(outcome, Refused | Unknown)
    registry.wait_for(lambda: registry.session() is not None)
    assert read(registry, f"{ROOT}/from-the-old-session") is None


# -- watches and mirrors ----------------------------------------------------------------------------------


def test_a_mirrored_root_may_go_and_come_back(cluster: ZookeeperCluster) -> None:
    registry, _ = client_of(cluster)
    other = cluster.open()
    tree = mirror(registry)
    for turn in range(3):
        land(other, Create(f"{ROOT}/a/b", str(turn)))
        sees(registry, lambda turn=turn: tree.get("a/b") == str(turn))  # type: ignore[misc]
        land(other, Delete(ROOT, recursive=True))
        sees(registry, lambda: len(tree) == 0)


def test_a_node_re_made_between_two_looks_is_known_for_another(cluster: ZookeeperCluster) -> None:
    registry, _ = client_of(cluster)
    other = cluster.open()
    tree = mirror(registry)
    first = land(other, Create(f"{ROOT}/instance", "x")).number
    sees(registry, lambda: tree.get("instance") == "x")
    before = tree.since("instance")
    second = land(other, Delete(f"{ROOT}/instance"), Create(f"{ROOT}/instance", "x")).number
    sees(registry, lambda: "instance" in tree and tree.node("instance").made == second)
    assert second > first
    assert tree.since("instance") > before


def test_changes_that_come_while_a_mirror_loads_are_not_lost(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    other = cluster.open()
    land(other, *(Create(f"{ROOT}/{n % 10}/{n}", "old") for n in range(800)))
    held = proxy.hold_reply("multiRead")
    tree = registry.mirror(ROOT)
    registry.pump()
    held.wait()
    land(other, *(Put(f"{ROOT}/{n % 10}/{n}", "new") for n in range(0, 400)))
    land(other, *(Delete(f"{ROOT}/{n % 10}/{n}") for n in range(400, 800)), Create(f"{ROOT}/11/new", "new"))
    held.release()
    registry.wait_for(lambda: tree.synced)
    sees(registry, lambda: "11/new" in tree and "9/799" not in tree)
    leaves = [path for path in tree if path.count("/") == 1]
    assert {str(look(registry, lambda path=path: tree.get(path))) for path in leaves} == {"new"}  # type: ignore[misc]
    assert len(leaves) == 401


def test_own_commits_are_never_read_back_and_a_quiet_mirror_asks_nothing(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    tree = mirror(registry)
    land(registry, Create(f"{ROOT}/cursor", "0"), Create(f"{ROOT}/sharding/0"))
    proxy.reset_counts()
    for turn in range(20):
        land(
            registry,
            Put(f"{ROOT}/cursor", str(turn), version=tree.version("cursor")),
            Create(f"{ROOT}/sharding/0/running", "me", ephemeral=True),
        )
        assert tree.get("sharding/0/running") == "me"
        land(
            registry,
            Put(f"{ROOT}/cursor", "done", version=tree.version("cursor")),
            Delete(f"{ROOT}/sharding/0/running"),
        )
    requests = proxy.requests
    del requests["ping"]
    assert requests == {"multi": 40}


def test_what_others_keep_busy_is_read_only_when_asked_for(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    other = cluster.open()
    tree = mirror(registry)
    land(other, Create(f"{ROOT}/busy", "0"))
    sees(registry, lambda: "busy" in tree)
    proxy.reset_counts()
    for turn in range(50):
        land(other, Put(f"{ROOT}/busy", str(turn)))
    proxy.until(lambda: sum(proxy.notifications.values()) >= 50)
    registry.wait_for(lambda: not registry._inbox)
    assert proxy.requests["multiRead"] == 0
    assert look(registry, lambda: tree.get("busy")) == "49"
    assert proxy.requests["multiRead"] == 1


def test_data_that_is_not_text_harms_nobody(cluster: ZookeeperCluster, zookeeper: Server) -> None:
    registry, _ = client_of(cluster)
    tree = mirror(registry)
    stranger = KazooClient(zookeeper.hosts)
    stranger.start()
    stranger.create(f"{ROOT}/bytes", b"\xff\xfe\x00", makepath=True)
    stranger.create(f"{ROOT}/empty", b"")
    sees(registry, lambda: tree.get("bytes") == "\udcff\udcfe\x00" and tree.get("empty") == "")
    land(registry, Put(f"{ROOT}/bytes", str(look(registry, lambda: tree.get("bytes")))))
    assert stranger.get(f"{ROOT}/bytes")[0] == b"\xff\xfe\x00"
    stranger.stop()
    stranger.close()


def test_a_forgotten_mirror_is_not_notified_any_more(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    other = cluster.open()
    registry.forget(mirror(registry))
    read(registry, ROOT)
    proxy.reset_counts()
    land(other, Create(f"{ROOT}/a"))
    read(registry, ROOT)
    assert proxy.notifications.total() == 0


# -- commits ----------------------------------------------------------------------------------------------


def test_parents_that_vanish_between_two_commits_are_made_again(cluster: ZookeeperCluster) -> None:
    registry, _ = client_of(cluster)
    other = cluster.open()
    for _ in range(3):
        land(registry, Create(f"{ROOT}/leader/election/latch/n-", ephemeral=True, sequential=True))
        land(other, Delete(ROOT, recursive=True))


def test_commits_that_share_a_transaction_land_or_are_refused_each_by_itself(
    cluster: ZookeeperCluster,
) -> None:
    registry, proxy = client_of(cluster)
    land(registry, *(Create(f"{ROOT}/{n}", "0") for n in range(10)))
    proxy.reset_counts()
    together = [registry.wait(f) for f in registry.commit_all([[Put(f"{ROOT}/{n}", "1")] for n in range(10)])]
    assert proxy.requests["multi"] == 1
    assert len({outcome.number for outcome in together if isinstance(outcome, Landed)}) == 1
    mixed = registry.commit_all([[Put(f"{ROOT}/{n}", "2", version=1 if n != 4 else 9)] for n in range(10)])
    outcomes = [type(registry.wait(future)) for future in mixed]
    assert outcomes == [Refused if n == 4 else Landed for n in range(10)]


def test_commits_that_stand_on_the_same_missing_ground_share_a_transaction(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    proxy.reset_counts()
    together = registry.commit_all([[Create(f"{ROOT}/new/{n}/leaf")] for n in range(10)])
    outcomes = [registry.wait(future) for future in together]
    assert len({outcome.number for outcome in outcomes if isinstance(outcome, Landed)}) == 1
    assert (proxy.requests["multiRead"], proxy.requests["multi"]) == (1, 1)


def test_ten_thousand_nodes_are_deleted_with_their_root(cluster: ZookeeperCluster) -> None:
    registry, _ = client_of(cluster)
    for start in range(0, 10_000, 2500):
        land(registry, *(Create(f"{ROOT}/{n % 7}/{n}") for n in range(start, start + 2500)))
    land(registry, Delete(ROOT, recursive=True))
    assert read(registry, ROOT) is None


def test_a_listener_may_commit(cluster: ZookeeperCluster) -> None:
    registry, proxy = client_of(cluster)
    land(registry, Create(f"{ROOT}/comebacks", "0"))

    def on_state(state: State, session: Session | None) -> None:
        if state is State.CONNECTED:
            registry.commit(Put(f"{ROOT}/comebacks", "1"))

    registry.listener = on_state
    proxy.cut()
    registry.wait_for(lambda: registry.session() is None)
    proxy.heal()
    registry.wait_for(lambda: registry.session() is not None)
    registry.wait_for(lambda: data(registry, f"{ROOT}/comebacks") == "1")


def test_a_forked_child_may_not_use_its_parents_registry_and_does_it_no_harm(
    cluster: ZookeeperCluster,
) -> None:
    registry, _ = client_of(cluster)
    tree = mirror(registry)
    land(registry, Create(f"{ROOT}/me", ephemeral=True))
    child = os.fork()
    if child == 0:
        try:
            registry.commit(Create(f"{ROOT}/child"))
        except RegistryError:
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    land(registry, Create(f"{ROOT}/after"))
    assert "me" in tree


def test_paths_that_fill_many_requests_are_read_mirrored_and_deleted(cluster: ZookeeperCluster) -> None:
    registry, _ = client_of(cluster)
    told = states_of(registry)
    deep = ROOT + "/a" * 500
    land(registry, Create(deep, "x"))
    base = ROOT + "".join(f"/{letter * 240}" for letter in "abcdefghi")
    for start in range(0, 600, 100):
        land(registry, *(Create(f"{base}/{n:04}") for n in range(start, start + 100)))
    assert len(registry.wait(registry.read([f"{base}/{n:04}" for n in range(600)]))) == 600
    tree = mirror(registry)
    assert len(tree) == 1 + 500 + 9 + 600
    assert "split it" in refuse(registry, Delete(base, recursive=True)).why
    assert told == []


@pytest.mark.parametrize(
    "frame",
    [struct.pack("!i", 4) + b"abcd", struct.pack("!i", -4), struct.pack("!iiqi", 16, 77, 5, 0)],
    ids=["too short", "negative", "unasked for"],
)
def test_a_server_that_talks_nonsense_costs_a_connection_and_no_more(zookeeper: Server, frame: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connections: list[socket.socket] = []
        threading.Thread(
            target=babble, args=(listener, zookeeper.port, frame, connections), daemon=True
        ).start()
        registry = open_at(url(f"127.0.0.1:{port}"))
        registry.wait_for(lambda: len(connections) > 1 and registry.session() is not None)
        land(registry, Create("/contract/after-nonsense", ephemeral=True))
        registry.close()


def babble(listener: socket.socket, port: int, frame: bytes, connections: list[socket.socket]) -> None:
    """Pass bytes on both ways; the first connection is told nonsense once it has been greeted."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        server = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pour, args=(client, server, b""), daemon=True).start()
        nonsense = b"" if connections else frame
        threading.Thread(target=pour, args=(server, client, nonsense), daemon=True).start()
        connections.append(client)


def pour(source: socket.socket, into: socket.socket, extra: bytes) -> None:
    with contextlib.suppress(OSError), source, into:
        while data := source.recv(65536):
            into.sendall(data + extra)
            extra = b""


def test_a_shorter_time_out_granted_on_reconnect_counts_at_once() -> None:
    with Server(settings={"maxSessionTimeout": 8000}) as server:
        registry = open_at(f"zookeeper://{server.hosts}/contract?session_timeout=8s")
        session = registry.session()
        assert session is not None
        assert session.timeout == 8.0
        server._settings["maxSessionTimeout"] = 2000
        server.restart()
        # The same session, unless the server was away for so long that it has ended.
        registry.wait_for(lambda: (now := registry.session()) is not None and now.timeout == 2.0)
        session = registry.session()
        assert session is not None
        assert session.lease_left() < 2.0
        registry.close()


def test_a_thousand_commits_in_line_when_the_connection_breaks_are_all_answered(
    cluster: ZookeeperCluster,
) -> None:
    registry, proxy = client_of(cluster)
    held = proxy.hold_reply("multiRead")
    futures = [registry.commit(Create(f"{ROOT}/{n}/x")) for n in range(1000)]
    again: list[Outcome] = []
    for future in futures[:3]:
        future.add_done_callback(lambda _: again.append(registry.commit(Create(ROOT)).result(timeout=0)))
    held.wait()
    proxy.cut()
    registry.wait_for(lambda: all(future.done() for future in futures))
    assert all(isinstance(future.result(), Refused) for future in futures[1:])
    assert again == [Refused("not connected to the registry")] * 3


def test_a_server_that_does_not_answer_is_not_waited_for(zookeeper_server: Server) -> None:
    registry = open_at(url(zookeeper_server.hosts))
    zookeeper_server.pause()
    start = registry.clock.boot()
    registry.close()
    assert registry.clock.boot() - start < 60  # it used to be as long as the session; this is only no hang
    with pytest.raises(Unreachable, match="no ZooKeeper server answered"):
        connect(f"zookeeper://{zookeeper_server.hosts}/x?session_timeout=60s", patience=0.5)
    assert registry.clock.boot() - start < 30


class Ahead(SystemClock):
    """The clock of a machine that is a day ahead of all others."""

    def wall(self) -> datetime:
        return super().wall() + timedelta(days=1)


@pytest.mark.parametrize("begun", [False, True], ids=["in an empty registry", "beside others"])
def test_the_servers_time_is_known_before_anything_could_go_by_it_and_nothing_is_left_of_the_asking(
    zookeeper_server: Server, begun: bool
) -> None:
    if begun:
        others = open_at(url(zookeeper_server.hosts))
        land(others, Create("/contract~shardwright/job/cursor/0", "{}"))
        others.close()
    ours = ZookeeperRegistry(
        zookeeper_server.hosts, Access(), namespace="/contract", timeout=LONG, patience=10.0, clock=Ahead()
    )
    told: list[datetime] = []
    ours.listener = lambda state, session: told.append(ours.now())
    ours.wait_for(lambda: ours.session() is not None, what="a session")
    assert abs((told[0] - SystemClock().wall()).total_seconds()) < 3600
    for folder in ("/", "/contract~shardwright"):
        names = ours.wait(ours.names([folder]))[folder] or ()
        assert not [name for name in names if "time" in name]
    ours.close()


class Stopped(SystemClock):
    """The clock of a process that stands still for some time."""

    slept = 0.0

    def boot(self) -> float:
        return super().boot() + self.slept


def test_a_time_that_is_told_long_after_it_was_asked_for_is_asked_for_again(
    zookeeper_server: Server,
) -> None:
    others, clock = open_at(url(zookeeper_server.hosts)), Stopped()
    land(others, Create("/contract~shardwright/job/cursor/0", "{}"))
    others.close()
    with Proxy(zookeeper_server.hosts) as proxy, ThreadPoolExecutor() as another:
        held = proxy.hold_reply("multi")
        ours = ZookeeperRegistry(
            proxy.hosts, Access(), namespace="/contract", timeout=LONG, patience=10.0, clock=clock
        )
        entered = another.submit(ours.wait_for, lambda: ours.session() is not None, what="a session")
        proxy.until(lambda: proxy.requests["multi"] == 1)
        clock.slept = 5.0
        held.release()
        entered.result()
        assert proxy.requests["multi"] == 2
        assert abs((ours.now() - clock.wall()).total_seconds()) < 1
        ours.close()


def test_who_may_not_ask_for_the_time_goes_by_the_machines_clock_until_a_write_of_its_own_tells_it(
    zookeeper_server: Server,
) -> None:
    plain = KazooClient(zookeeper_server.hosts, auth_data={("digest", "they:s3cret")})
    plain.start()
    plain.create("/contract/a", b"", makepath=True)
    plain.create("/contract~shardwright")
    reading = make_acl("world", "anyone", read=True)
    for path in ("/contract~shardwright", "/"):
        plain.set_acls(path, [reading, make_digest_acl("they", "s3cret", all=True)])
    ours = ZookeeperRegistry(
        zookeeper_server.hosts, Access(), namespace="/contract", timeout=LONG, patience=10.0, clock=Ahead()
    )
    ours.wait_for(lambda: ours.session() is not None, what="a session")
    assert abs((ours.now() - Ahead().wall()).total_seconds()) < 3600
    land(ours, Put("/contract/a", "told"))
    assert abs((ours.now() - SystemClock().wall()).total_seconds()) < 3600
    ours.close()
    plain.set_acls("/", [make_acl("world", "anyone", all=True)])
    plain.stop()
    plain.close()


# -- getting in -------------------------------------------------------------------------------------------


def test_nobody_there_is_one_sentence() -> None:
    with pytest.raises(
        Unreachable, match=r"^zookeeper://127\.0\.0\.1:1/x: no ZooKeeper server answered"
    ) as caught:
        connect("zookeeper://127.0.0.1:1/x?session_timeout=1s", patience=0.5)
    assert "refused" in str(caught.value)


def test_a_node_that_somebody_keeps_to_himself_is_known_as_that_and_hides_no_other(
    zookeeper_server: Server,
) -> None:
    plain = KazooClient(zookeeper_server.hosts, auth_data={("digest", "they:s3cret")})
    plain.start()
    plain.create("/shared")
    plain.create("/shared/secret", b"x", acl=[make_digest_acl("they", "s3cret", all=True)])
    plain.create("/shared/told", b"y")
    plain.stop()
    plain.close()
    ours = open_at(url(zookeeper_server.hosts))
    tree = ours.mirror("/shared")
    ours.wait_for(lambda: tree.synced)
    assert tree.unreadable("secret")
    tree.need(["secret", "told"])
    with pytest.raises(NotAllowed, match="no permission for /shared/secret"):
        ours.wait(ours.read(["/shared/secret", "/shared/told"]))
    assert tree.unreadable("secret")
    assert tree.get("told") == "y"
    ours.close()


def test_credentials_put_an_acl_on_every_node_and_keep_strangers_out(zookeeper_server: Server) -> None:
    ours = open_at(url(zookeeper_server.hosts, who="app:s3cret%3A@"))
    land(ours, Create("/contract/a/b", "private"), Create("/contract/e", ephemeral=True))
    plain = KazooClient(zookeeper_server.hosts, auth_data={("digest", "app:s3cret:")})
    plain.start()
    for path in ("/contract", "/contract/a", "/contract/a/b", "/contract/e"):
        assert plain.get_acls(path)[0] == [make_digest_acl("app", "s3cret:", all=True)]
    plain.stop()
    plain.close()
    for who in ("", "app:wrong@"):
        with pytest.raises(NotAllowed, match="permission") as caught:
            connect(url(zookeeper_server.hosts, who=who))
        assert "wrong" not in str(caught.value)
    ours.close()


def test_sasl_lets_the_right_password_in_and_the_wrong_one_is_one_sentence() -> None:
    with Server(users={"app": "s3cret"}) as server:
        ours = open_at(url(server.hosts, "&auth=sasl", who="app:s3cret@"))
        land(ours, Create("/contract/a", "private"))
        with pytest.raises(NotAllowed, match="does not accept these credentials") as caught:
            connect(url(server.hosts, "&auth=sasl", who="app:wr0ng@"))
        assert "wr0ng" not in str(caught.value)
        stranger = open_at(f"zookeeper://{server.hosts}/elsewhere")
        with pytest.raises(NotAllowed, match="permission"):
            stranger.wait(stranger.read(["/contract/a"]))
        stranger.close()
        ours.close()


def test_tls_with_certificates_of_both_sides(tls_certificates: Certificates) -> None:
    ca, pair = tls_certificates.authority, tls_certificates.client
    with Server(tls=tls_certificates) as server:
        # Half a megabyte in one go: a server that has just begun may be some seconds about it.
        where = f"zookeeper://{server.secure_hosts}/contract?session_timeout=30s"
        tls = f"{where}&tls_ca={ca}&tls_cert={pair}&tls_key={pair}"
        ours = open_at(tls)
        tree = mirror(ours)
        land(ours, *(Create(f"{ROOT}/{n}", "x" * 1000) for n in range(500)))
        again = open_at(tls)
        whole = mirror(again)
        assert len(whole) == len(tree) == 501
        ours.close()
        again.close()


def test_a_server_whose_certificate_we_do_not_know_is_one_sentence(
    tls_certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger = make(tmp_path_factory.mktemp("stranger"))
    with Server(tls=tls_certificates) as server:
        pair = tls_certificates.client
        with pytest.raises(Unreachable, match="certificate"):
            connect(
                url(server.secure_hosts, f"&tls_ca={stranger.authority}&tls_cert={pair}&tls_key={pair}"),
                patience=2.0,
            )


def test_secrets_appear_nowhere(zookeeper: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    registry = open_at(url(zookeeper.hosts, who="app:canary-s3cret@"))
    land(registry, Create("/contract-canary/a"))
    shown: list[Callable[[], str]] = [
        lambda: repr(registry),
        lambda: str(registry.session()),
        lambda: caplog.text,
    ]
    registry.close()
    assert all("canary" not in show().replace("contract-canary", "") for show in shown)


# -- ending somebody else's session -----------------------------------------------------------------------


@pytest.mark.parametrize("auth", ["", "app:s3cret@"])
def test_an_heir_can_end_each_session_it_was_told_of_and_its_nodes_go_at_once(auth: str) -> None:
    with Server(users={"app": "s3cret"}) as server:
        address = (
            f"zookeeper://{auth}{server.hosts}/contract?session_timeout=10s{'&auth=sasl' if auth else ''}"
        )
        dead, witness = open_at(address), open_at(address)
        told: list[Credentials] = []
        dead.confide(told.append)
        end = session_ender(address)
        assert end is not None
        for number in range(2):
            session = dead.session()
            assert session is not None
            assert [each.session for each in told[number:]] == [session.id]
            land(dead, Create(f"{ROOT}/{number}", ephemeral=True))
            assert end(told[-1], 10.0)
            assert read(witness, f"{ROOT}/{number}") is None
            # By its own clock it could have gone on; it hears of it, and begins another.
            assert session.lease_left() > 0
            dead.wait_for(lambda: dead.session() not in (None, session))  # noqa: B023
        assert end(told[0], 10.0), "one that has ended cannot be more so"
        assert told[0].password not in repr(told)
        server.kill()
        assert not end(told[-1], 0.5)
        dead.close()
        witness.close()


# -- data that goes back ----------------------------------------------------------------------------------


def wipe(server: Server) -> None:
    server.kill()
    shutil.rmtree(server.directory / "version-2")
    server.restart()


def said_of_older_data(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if "restored or wiped" in each.getMessage()]


@contextlib.contextmanager
def heard_of(registry: ZookeeperRegistry, text: str) -> Iterator[list[str]]:
    """What the connection logs of something, its owner being woken by each line."""
    found: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                found.append(record.getMessage())
                registry._ring()

    ear = Ear()
    logging.getLogger("shardwright.registry.zookeeper").addHandler(ear)
    try:
        yield found
    finally:
        logging.getLogger("shardwright.registry.zookeeper").removeHandler(ear)


def test_servers_that_let_us_in_no_more_because_their_data_is_older_are_spoken_of_once(
    zookeeper_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with open_at(url(zookeeper_server.hosts)) as registry:
        for n in range(10):
            number = land(registry, Create(f"{ROOT}/{n}")).number
        wipe(zookeeper_server)
        registry.wait_for(lambda: "restored or wiped" in registry.trouble, 60)
        assert f"{number:#x}" in registry.trouble
        with heard_of(registry, "Connection dropped") as dropped:
            registry.wait_for(lambda: len(dropped) >= 3)
        assert len(said_of_older_data(caplog)) == 1
        with open_at(url(zookeeper_server.hosts)) as other:
            while land(other, Create(f"{ROOT}/other", sequential=True)).number <= number:
                pass
            registry.wait_for(lambda: registry.session() is not None)
        assert registry.trouble == ""
        assert land(registry, Create(f"{ROOT}/again")).number > number


def test_numbers_that_go_back_are_spoken_of_once(
    zookeeper_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with open_at(url(zookeeper_server.hosts)) as registry:
        for n in range(10):
            land(registry, Create(f"{ROOT}/{n}"))
        registry._client._kazoo.last_zxid = 0  # or the server would not let us in
        wipe(zookeeper_server)
        told = states_of(registry)
        registry.wait_for(lambda: told[-1:] == [State.CONNECTED], 60)
        for _ in range(2):
            assert read(registry, ROOT) is None
            assert "restored or wiped" in registry.trouble
        assert len(said_of_older_data(caplog)) == 1


# -- ourselves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [OSError(16, "Device or resource busy"), MemoryError(), UnicodeError("bad name")]
)
def test_a_resolver_that_fails_in_whatever_way_is_asked_again(
    zookeeper: Server, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    left = [error] * 2
    real: Callable[..., object] = socket.getaddrinfo

    def resolve(*args: object, **options: object) -> object:
        if left:
            raise left.pop()
        return real(*args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with open_at(url(zookeeper.hosts)) as registry:
        assert not left
        assert registry.trouble == ""


def test_a_log_that_fails_costs_no_connection(zookeeper: Server) -> None:
    class BadLog(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError(28, "No space left on device")

    handler = BadLog()
    logging.getLogger("shardwright.registry").addHandler(handler)
    try:
        with open_at(url(zookeeper.hosts, session=LONG)) as registry:
            told = states_of(registry)
            registry._client.drop()
            registry.wait_for(lambda: told == [State.SUSPENDED, State.CONNECTED])
    finally:
        logging.getLogger("shardwright.registry").removeHandler(handler)


def test_where_the_connections_thread_has_ended_the_owner_fails(
    zookeeper: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("planted")

    with open_at(url(zookeeper.hosts)) as registry:
        monkeypatch.setattr(client._Connection, "_connect_attempt", fail)
        registry._client.drop()
        for _ in range(2):
            with pytest.raises(RegistryError, match="a thread of the registry has ended: RuntimeError"):
                registry.wait_for(lambda: False)
        assert registry.session() is None
    assert "planted" in caplog.text
