"""The ZooKeeper driver keeps the contract, asked of a real server through a proxy that can break the way."""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from shardwright.registry import Registry
from shardwright.registry.zookeeper import ZookeeperRegistry
from shardwright.registry.zookeeper.client import Access
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

from .contract import Cluster, NetworkCluster, NetworkContract, closing, other, registry

__all__ = ["other", "registry"]

CLOSE = -11


class ZookeeperCluster(NetworkCluster):
    """One server, emptied of what tests before left there; each client on a way of its own."""

    def __init__(self, server: Server, *, timeout: float = 4.0) -> None:
        super().__init__()
        self._server = server
        self._timeout = timeout
        self._proxies: dict[Registry, Proxy] = {}
        with_plain_client(server, lambda client: client.delete("/contract", recursive=True))

    def connect(self) -> ZookeeperRegistry:
        proxy = Proxy(self._server.hosts)
        proxy.__enter__()
        registry = ZookeeperRegistry(
            proxy.hosts,
            Access(),
            namespace="/contract",
            timeout=self._timeout,
            patience=10.0,
            plant=os.environ.get("SHARDWRIGHT_PLANT"),
        )
        self._proxies[registry] = proxy
        registry.wait_for(lambda: registry.session() is not None, what="a session")
        return registry

    def close(self) -> None:
        for proxy in self._proxies.values():
            proxy.heal()
        super().close()
        for proxy in self._proxies.values():
            proxy.__exit__(None, None, None)

    def proxy(self, registry: Registry) -> Proxy:
        return self._proxies[registry]

    def expire(self, registry: Registry) -> None:
        assert isinstance(registry, ZookeeperRegistry)
        end_session(self._server, registry)

    def cut(self, registry: Registry) -> None:
        self._proxies[registry].cut()

    def heal(self, registry: Registry) -> None:
        self._proxies[registry].heal()

    def lose_reply(self, registry: Registry) -> None:
        self._proxies[registry].eat_reply("multi")


def end_session(server: Server, registry: ZookeeperRegistry, *, within: float = 60.0) -> None:
    """What a supervisor does: take the session over by its id and password, and close it.

    By hand and not by a client, whose turn comes ever more seldom: the registry takes its session back at
    once, whenever it is taken away. So both is asked for in one breath, and again where it was quicker.
    """
    identity = registry._client.identity()
    assert identity is not None
    greeting = struct.pack(">iqiqi16s", 0, 0, 10_000, identity[0], 16, identity[1])
    farewell = struct.pack(">ii", 1, CLOSE)
    host, port = server.hosts.split(":")
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        with socket.create_connection((host, int(port)), timeout=5.0) as thief, contextlib.suppress(OSError):
            thief.sendall(b"".join(struct.pack(">i", len(each)) + each for each in (greeting, farewell)))
            answers = thief.makefile("rb")
            (length,) = struct.unpack(">i", answers.read(4).ljust(4, b"\0"))
            granted = answers.read(length)[4:8]
            if granted == bytes(4) or (granted and answers.read(4)):
                return  # it was gone already, or is closed now
    raise AssertionError(f"the session was not ended within {within} s")


def with_plain_client(server: Server, act: object) -> None:
    client = KazooClient(server.hosts)
    client.start()
    try:
        if client.exists("/contract"):
            act(client)  # type: ignore[operator]
    finally:
        client.stop()
        client.close()


@pytest.fixture
def cluster(zookeeper: Server) -> Iterator[Cluster]:
    yield from closing(ZookeeperCluster(zookeeper))


class TestZookeeper(NetworkContract):
    pass
