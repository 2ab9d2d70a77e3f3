"""The servers our tests run on start, die, freeze and come back as the tests believe they do."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError
from kazoo.handlers.threading import KazooTimeoutError

from tests import zookeeper_server as servers
from tests.certificates import Certificates
from tests.zookeeper_server import Ensemble, Server

pytestmark = pytest.mark.zookeeper


@contextmanager
def client(hosts: str, **options: object) -> Iterator[KazooClient]:
    kazoo = KazooClient(hosts, **options)
    try:
        kazoo.start(timeout=15)
        yield kazoo
    finally:
        kazoo.stop()
        kazoo.close()


def test_the_shared_server_stands_alone_and_serves(zookeeper: Server) -> None:
    assert zookeeper.mode() == "standalone"
    with client(zookeeper.hosts) as kazoo:
        assert kazoo.exists("/zookeeper")


def test_a_session_may_be_as_short_as_its_test_wants_it(zookeeper: Server) -> None:
    with client(zookeeper.hosts, timeout=0.5) as kazoo:
        assert kazoo._session_timeout == 500


def test_a_killed_server_comes_back_with_its_data_on_its_port(zookeeper_server: Server) -> None:
    hosts = zookeeper_server.hosts
    with client(hosts) as kazoo:
        kazoo.create("/kept", b"data")
    zookeeper_server.kill()
    assert zookeeper_server.mode() == ""
    zookeeper_server.restart()
    with client(hosts) as kazoo:
        assert kazoo.get("/kept")[0] == b"data"


def test_a_frozen_server_answers_again_when_it_thaws(zookeeper_server: Server) -> None:
    zookeeper_server.pause()
    assert zookeeper_server.ask("ruok") == ""
    zookeeper_server.resume()
    assert zookeeper_server.ask("ruok") == "imok"


def test_a_stopped_server_leaves_no_process_and_no_files() -> None:
    with Server() as server:
        server.stop()
        assert not server.process.alive()
    assert not server.directory.exists()


def test_a_server_that_cannot_start_shows_its_log_and_leaves_no_files() -> None:
    server = Server(settings={"tickTime": "soon"})
    with pytest.raises(RuntimeError, match='For input string: "soon"'), server:
        pass
    assert not server.directory.exists()


def test_a_taken_port_is_left_for_another(zookeeper: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    free = servers.free_ports(2)
    offers = iter([[zookeeper.port, free[0]], free])
    monkeypatch.setattr(servers, "free_ports", lambda number: next(offers))
    with Server() as server:
        assert server.port == free[0]
        assert server.mode() == "standalone"


def test_three_servers_elect_another_leader_when_theirs_is_killed(ensemble: Ensemble) -> None:
    first = ensemble.leader()
    first.kill()
    assert ensemble.leader() is not first
    first.restart()
    assert first.mode() == "follower"
    with client(ensemble.hosts) as kazoo:
        assert kazoo.exists("/zookeeper")


def test_tls_lets_in_who_shows_a_certificate(tls_certificates: Certificates) -> None:
    ours = str(tls_certificates.client)
    options = {"use_ssl": True, "ca": str(tls_certificates.authority), "certfile": ours, "keyfile": ours}
    with Server(tls=tls_certificates) as server:
        with client(server.secure_hosts, **options) as kazoo:
            assert kazoo.exists("/zookeeper")
        with client(server.hosts) as kazoo:
            assert kazoo.exists("/zookeeper")


def test_sasl_lets_in_who_knows_the_password() -> None:
    ann = {"mechanism": "DIGEST-MD5", "username": "ann"}
    with Server(users={"ann": "secret"}) as server:
        with client(server.hosts, sasl_options={**ann, "password": "secret"}) as kazoo:
            assert kazoo.exists("/zookeeper")
        wrong = client(server.hosts, sasl_options={**ann, "password": "wrong"})
        # Which of the two it is depends on whether kazoo is turned away before or after it takes itself for
        # connected.
        with pytest.raises((AuthFailedError, KazooTimeoutError)), wrong as kazoo:
            kazoo.exists("/zookeeper")
