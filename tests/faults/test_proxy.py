"""Every fault the proxy can make is the one its name says, as a client and a real server see it."""

import queue
import socket
import ssl
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.serialization import Connect

from tests.certificates import Certificates
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

pytestmark = pytest.mark.zookeeper

#: A session that ends soon, and one that outlasts whatever a busy machine does to it.
SESSION, LONG = 1.0, 60.0


class Client:
    """Stock kazoo that remembers the states it has been through, for a test to wait for."""

    def __init__(self, hosts: str, session: float) -> None:
        # A session must not end because the client has got used to waiting.
        self.kazoo = KazooClient(hosts, timeout=session, connection_retry={"max_tries": -1, "max_delay": 0.5})
        self._states: queue.Queue[str] = queue.Queue()
        self.kazoo.add_listener(self._states.put)

    def expect(self, state: str, within: float = 60.0) -> None:
        while self._states.get(timeout=within) != state:
            pass


@contextmanager
def connected(hosts: str, session: float = SESSION) -> Iterator[Client]:
    client = Client(hosts, session)
    client.kazoo.start()
    client.expect("CONNECTED")
    try:
        yield client
    finally:
        client.kazoo.stop()
        client.kazoo.close()


@pytest.fixture
def proxy(zookeeper: Server) -> Iterator[Proxy]:
    with Proxy(zookeeper.hosts) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Client]:
    """A client behind the proxy."""
    with connected(proxy.hosts) as client:
        proxy.reset_counts()
        yield client
        proxy.heal()


@pytest.fixture
def lasting(proxy: Proxy) -> Iterator[Client]:
    """A client behind the proxy whose session stays."""
    with connected(proxy.hosts, LONG) as client:
        yield client
        proxy.heal()


@pytest.fixture
def direct(zookeeper: Server) -> Iterator[KazooClient]:
    """A client that sees the server as it is."""
    with connected(zookeeper.hosts) as client:
        yield client.kazoo


@pytest.fixture
def path() -> str:
    return f"/{uuid.uuid4()}"


def test_a_plain_wire_passes_everything_and_counts_it(proxy: Proxy, client: Client, path: str) -> None:
    client.kazoo.create(path, b"x" * 1000)
    client.kazoo.get(path)
    client.kazoo.get_children("/")
    transaction = client.kazoo.transaction()
    transaction.check(path, 0)
    transaction.delete(path)
    transaction.commit()
    counts = proxy.requests
    del counts["ping"]
    assert counts == {"create": 1, "getData": 1, "getChildren": 1, "multi": 1}
    assert 1000 < proxy.bytes["c2s"] < 2000
    assert proxy.bytes["s2c"] > 1000


def test_handshakes_and_partings_are_counted_too(proxy: Proxy) -> None:
    with connected(proxy.hosts, LONG):
        assert proxy.requests["connect"] == 1
        assert proxy.connections == 1
    proxy.until(lambda: proxy.connections == 0)
    assert proxy.requests["closeSession"] == 1


def test_an_observer_is_shown_every_frame_with_its_connection(zookeeper: Server, path: str) -> None:
    seen: list[tuple[int, str | None]] = []
    with Proxy(zookeeper.hosts, observer=lambda number, frame: seen.append((number, frame.op))) as proxy:
        for _ in range(2):
            with connected(proxy.hosts) as client:
                client.kazoo.exists(path)
    asked = [each for each in seen if each[1] in ("connect", "exists")]
    assert asked == [(1, "connect"), (1, "exists"), (2, "connect"), (2, "exists")]


def test_notifications_are_counted_by_type(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    client.kazoo.exists(path, watch=print)
    direct.create(path)
    proxy.until(lambda: proxy.notifications == {"created": 1})
    client.kazoo.get_children(path, watch=print)
    direct.create(f"{path}/child")
    proxy.until(lambda: proxy.notifications == {"created": 1, "child": 1})


def test_counting_may_begin_anew(proxy: Proxy, client: Client) -> None:
    client.kazoo.exists("/")
    proxy.reset_counts()
    client.kazoo.exists("/")
    assert proxy.requests["exists"] == 1


def test_a_cut_wire_ends_every_connection_and_refuses_new_ones(proxy: Proxy, lasting: Client) -> None:
    session = lasting.kazoo.client_id
    proxy.cut()
    lasting.expect("SUSPENDED")
    assert proxy.connections == 0
    # At once, or when it first listens.
    with pytest.raises(ConnectionResetError), socket.create_connection(address_of(proxy), timeout=5) as late:
        late.recv(1)
    proxy.heal()
    lasting.expect("CONNECTED")
    assert lasting.kazoo.client_id == session


def test_half_open_towards_the_server_no_request_arrives_and_nobody_is_told(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    proxy.half_open("c2s")
    lost = client.kazoo.create_async(path)
    proxy.until(lambda: proxy.requests["create"] == 1)
    client.expect("SUSPENDED")
    with pytest.raises(ConnectionLoss):
        lost.get()
    assert direct.exists(path) is None
    assert proxy.connections > 0, "the server should not have seen its client go"


def test_half_open_towards_the_client_requests_arrive_and_answers_do_not(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    proxy.half_open("s2c")
    lost = client.kazoo.create_async(path)
    client.expect("SUSPENDED")
    with pytest.raises(ConnectionLoss):
        lost.get()
    assert direct.exists(path)


def test_a_half_open_wire_heals(proxy: Proxy, client: Client) -> None:
    proxy.half_open()
    client.expect("SUSPENDED")
    proxy.heal()
    client.expect("CONNECTED")
    assert client.kazoo.exists("/")


def test_a_stalled_wire_loses_nothing(proxy: Proxy, client: Client, direct: KazooClient, path: str) -> None:
    proxy.stall("c2s")
    late = client.kazoo.create_async(path)
    proxy.until(lambda: proxy.requests["create"] == 1)
    assert direct.exists(path) is None
    proxy.heal()
    assert late.get(timeout=5) == path
    assert proxy.requests["connect"] == 0


def test_a_delay_makes_each_answer_late_and_does_not_add_up(proxy: Proxy) -> None:
    with connected(proxy.hosts, LONG) as client:
        proxy.delay(0.5, "s2c")
        begin = time.monotonic()
        for answer in [client.kazoo.exists_async("/") for _ in range(10)]:
            answer.get()
        assert 0.5 <= time.monotonic() - begin < 10 * 0.5


def test_a_delay_counts_in_both_directions_unless_told_otherwise(proxy: Proxy, client: Client) -> None:
    proxy.delay(0.1)
    begin = time.monotonic()
    client.kazoo.exists("/")
    assert time.monotonic() - begin >= 0.2


def test_an_eaten_reply_leaves_the_node_and_costs_the_connection(
    proxy: Proxy, lasting: Client, direct: KazooClient, path: str
) -> None:
    session = lasting.kazoo.client_id
    eaten = proxy.eat_reply("create")
    with pytest.raises(ConnectionLoss):
        lasting.kazoo.create(path)
    eaten.wait()
    assert direct.exists(path)
    lasting.expect("CONNECTED")
    assert lasting.kazoo.client_id == session


def test_an_eaten_reply_may_leave_the_connection_alone(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    eaten = proxy.eat_reply("create", cut=False)
    answer = client.kazoo.create_async(path)
    eaten.wait()
    assert direct.exists(path)
    with pytest.raises(KazooTimeoutError):
        answer.get(timeout=0.05)
    assert proxy.connections == 1


def test_only_replies_to_that_operation_are_eaten_and_only_so_many(
    proxy: Proxy, client: Client, path: str
) -> None:
    eaten = proxy.eat_reply("setData", count=2)
    client.kazoo.create(path)
    for _ in range(2):
        with pytest.raises(ConnectionLoss):
            client.kazoo.set(path, b"")
        client.expect("CONNECTED")
    eaten.wait()
    assert client.kazoo.set(path, b"").version == 3


def test_a_rule_may_be_about_one_path(proxy: Proxy, client: Client, path: str) -> None:
    eaten = proxy.eat_reply("create", about=f"{path}/b")
    client.kazoo.create(path)
    client.kazoo.create(f"{path}/a")
    with pytest.raises(ConnectionLoss):
        client.kazoo.create(f"{path}/b")
    eaten.wait()


def test_a_rule_may_be_about_a_transaction(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    proxy.eat_reply("multi")
    transaction = client.kazoo.transaction()
    transaction.create(path)
    with pytest.raises(ConnectionLoss):
        transaction.commit()
    assert direct.exists(path)


def test_an_eaten_handshake_leaves_a_session_nobody_knows_of(proxy: Proxy) -> None:
    eaten = proxy.eat_reply("connect")
    with connected(proxy.hosts):
        eaten.wait()
        assert proxy.requests["connect"] == 2


def test_an_eaten_request_leaves_nothing_and_costs_the_connection(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    eaten = proxy.eat_request("create")
    with pytest.raises(ConnectionLoss):
        client.kazoo.create(path)
    eaten.wait()
    assert direct.exists(path) is None


def test_a_held_reply_comes_when_it_is_released(
    proxy: Proxy, client: Client, direct: KazooClient, path: str
) -> None:
    held = proxy.hold_reply("create")
    answer = client.kazoo.create_async(path)
    held.wait()
    assert direct.exists(path)
    assert not answer.ready()
    held.release()
    assert answer.get(timeout=5) == path


def test_what_is_held_can_be_lost_after_all(proxy: Proxy, client: Client, path: str) -> None:
    held = proxy.hold_reply("create")
    answer = client.kazoo.create_async(path)
    held.wait()
    proxy.cut()
    with pytest.raises(ConnectionLoss):
        answer.get(timeout=5)


def test_healing_releases_what_is_held(proxy: Proxy, client: Client, path: str) -> None:
    held = proxy.hold_reply("create")
    answer = client.kazoo.create_async(path)
    held.wait()
    proxy.heal()
    assert answer.get(timeout=5) == path


def test_healing_forgets_rules(proxy: Proxy, client: Client, path: str) -> None:
    proxy.eat_reply("create")
    proxy.heal()
    assert client.kazoo.create(path) == path


def test_an_operation_that_does_not_exist_is_refused(proxy: Proxy) -> None:
    with pytest.raises(ValueError, match="no operation 'crate'"):
        proxy.eat_reply("crate")


def test_a_fate_that_never_comes_fails_the_test(proxy: Proxy) -> None:
    with pytest.raises(AssertionError, match="create, the server does it and the answer is lost"):
        proxy.eat_reply("create").wait(within=0.01)
    with pytest.raises(AssertionError, match=r"not within 0\.01 s"):
        proxy.until(lambda: proxy.requests["create"] == 1, within=0.01)


def test_frames_may_come_in_pieces_and_several_at_once(proxy: Proxy) -> None:
    handshake = bytes(Connect(0, 0, 2000, 0, b"\0" * 16, False).serialize())
    frame = len(handshake).to_bytes(4) + handshake
    ping = bytes.fromhex("00000008 fffffffe 0000000b")
    with socket.create_connection(address_of(proxy), timeout=5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for position in range(len(frame)):
            connection.sendall(frame[position : position + 1])
        connection.sendall(ping * 3)
        proxy.until(lambda: proxy.requests == {"connect": 1, "ping": 3})
        assert len(connection.recv(41, socket.MSG_WAITALL)) == 41


def test_a_server_that_is_away_is_away_behind_the_proxy_too(zookeeper_server: Server) -> None:
    with Proxy(zookeeper_server.hosts) as proxy, connected(proxy.hosts) as client:
        zookeeper_server.kill()
        client.expect("SUSPENDED")
        # Whoever comes while it starts may never be answered, so that the session may be another one then.
        zookeeper_server.restart()
        client.expect("CONNECTED")
        assert client.kazoo.exists("/")


def test_four_letter_words_pass(proxy: Proxy) -> None:
    with socket.create_connection(address_of(proxy), timeout=5) as connection:
        connection.sendall(b"ruok")
        assert connection.recv(100) == b"imok"


def test_tls_passes_and_can_be_cut(tls_certificates: Certificates) -> None:
    """Not with kazoo, which leaves a socket open when a handshake fails: it would try again after the cut."""
    tls = ssl.create_default_context(cafile=tls_certificates.authority)
    tls.load_cert_chain(tls_certificates.client)
    with Server(tls=tls_certificates) as server, Proxy(server.secure_hosts) as proxy:
        with secured(proxy, tls) as connection:
            connection.sendall(b"ruok")
            assert connection.recv(100) == b"imok"
        with secured(proxy, tls) as connection:
            proxy.until(lambda: proxy.connections == 1)
            proxy.cut()
            proxy.until(lambda: proxy.connections == 0)
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""


@contextmanager
def secured(proxy: Proxy, tls: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    with (
        socket.create_connection(address_of(proxy), timeout=60) as plain,
        tls.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        yield connection


def address_of(proxy: Proxy) -> tuple[str, int]:
    host, port = proxy.hosts.split(":")
    return host, int(port)
