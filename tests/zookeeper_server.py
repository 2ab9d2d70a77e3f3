"""Real ZooKeeper servers for tests: on loopback, on free ports, each with its data in a directory of its own.

with Server() as server:
    client = KazooClient(server.hosts)
    server.kill()
    server.restart()

with Ensemble() as ensemble:
    ensemble.leader().pause()
"""

import os
import random
import shutil
import socket
import ssl
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.certificates import Certificates
from tests.faults.processes import Process

# From Debian's packages. zookeeper.jar names most of what it needs; it forgets what TLS needs of netty.
JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "netty-codec", "netty-resolver")
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
PATIENCE = 60.0
ATTEMPTS = 5


class PortTakenError(Exception):
    """Somebody else took the port between our choosing it and the server's binding it."""


def missing() -> str | None:
    """Why no server can be had and how to get one, in one line; None if it can."""
    if shutil.which("java") and class_path():
        return None
    return (
        "no ZooKeeper: run `make setup` as root, or have java and set ZOOKEEPER_CLASSPATH to ZooKeeper's jars"
    )


def class_path() -> str | None:
    """Where the server's Java classes are, if anywhere."""
    if named := os.environ.get("ZOOKEEPER_CLASSPATH"):
        return named
    jars = [Path("/usr/share/java", f"{name}.jar") for name in JARS]
    return ":".join(str(jar) for jar in jars if jar.exists()) if jars[0].exists() else None


class Server:
    """A server, standing alone unless an ensemble made it.

    `users` may log in by SASL with their passwords, `tls` opens a second, secure port, `settings` are lines
    for zoo.cfg. One that is not `durable` loses nothing when killed either: only a power cut would tell.
    """

    def __init__(
        self,
        *,
        tick: int = 500,
        min_session: int = 400,
        durable: bool = False,
        tls: Certificates | None = None,
        users: Mapping[str, str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.port = self.secure_port = 0
        self.directory = Path(tempfile.mkdtemp(prefix="zookeeper-"))
        self._tls = tls
        self._users = users or {}
        self._settings: dict[str, object] = {
            "dataDir": self.directory,
            "tickTime": tick,
            "minSessionTimeout": min_session,
            "maxSessionTimeout": 60_000,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
            "forceSync": "yes" if durable else "no",
            **(settings or {}),
        }
        self._process: Process | None = None

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def secure_hosts(self) -> str:
        return f"127.0.0.1:{self.secure_port}"

    @property
    def process(self) -> Process:
        assert self._process, "the server was never started"
        return self._process

    def start(self) -> Self:
        for _ in range(ATTEMPTS):
            self.choose_ports()
            self.launch()
            try:
                self.wait_until_serving()
            except PortTakenError:
                continue
            return self
        raise RuntimeError(f"no free port in {ATTEMPTS} attempts")

    def stop(self) -> None:
        """An orderly shutdown."""
        self.process.terminate()

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()

    def pause(self) -> None:
        """Freeze it: connections stay open, nobody answers."""
        self.process.stop()

    def resume(self) -> None:
        self.process.cont()

    def restart(self) -> None:
        """On the same ports and the same data; killed first if it is still running."""
        self.kill()
        self.launch()
        self.wait_until_serving()

    def ask(self, word: str) -> str:
        """The answer to a four-letter word; empty if there is none within a second."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(word.encode())
                with connection.makefile(encoding="utf-8") as answer:
                    return answer.read()
        except OSError:
            return ""

    def mode(self) -> str:
        """standalone, leader or follower; empty while it serves nobody."""
        lines = self.ask("srvr").splitlines()
        return next((line.removeprefix("Mode: ") for line in lines if line.startswith("Mode: ")), "")

    def close(self) -> None:
        """End it and throw its data away."""
        if self._process:
            self._process.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self if self._process else self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def choose_ports(self) -> None:
        self.port, self.secure_port = free_ports(2)

    def join(self, number: int, members: Mapping[str, str]) -> None:
        """When launched, be this one of these."""
        self._settings |= members
        (self.directory / "myid").write_text(str(number))

    def launch(self) -> None:
        """Start the process; it serves nobody yet."""
        path = class_path()
        assert path, missing()
        options = (*JVM, "-Dzookeeper.preAllocSize=1024", *self._jaas())
        configuration = self.directory / "zoo.cfg"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in self._configuration().items()))
        with self._log.open("wb") as log:
            self._process = Process(["java", *options, "-cp", path, MAIN, str(configuration)], output=log)

    def wait_until_serving(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (self.mode() and self._is_ours() and self._serves_securely()):
            try:
                self.process.wait(within=0.03)
            except TimeoutError:
                if time.monotonic() < deadline:
                    continue
            self.kill()
            log = self._log.read_text(errors="replace")
            if "Address already in use" in log:
                raise PortTakenError(self.hosts)
            raise RuntimeError(f"ZooKeeper does not serve; the end of its log:\n{log[-4000:]}")

    @property
    def _log(self) -> Path:
        return self.directory / "log"

    def _is_ours(self) -> bool:
        """Another test run's server may have taken the port and answer in our server's place."""
        return f"{self.directory}/" in self.ask("conf")

    def _serves_securely(self) -> bool:
        """The secure port is open before there is a server behind it: who comes then is turned away."""
        if not self._tls:
            return True
        tls = ssl.create_default_context(cafile=self._tls.authority)
        tls.load_cert_chain(self._tls.client)
        try:
            with (
                socket.create_connection(("127.0.0.1", self.secure_port), timeout=5) as plain,
                tls.wrap_socket(plain, server_hostname="localhost") as connection,
            ):
                connection.sendall(b"ruok")
                return connection.recv(100) == b"imok"
        except OSError:
            return False

    def _configuration(self) -> dict[str, object]:
        plain = {"clientPort": self.port, "clientPortAddress": "127.0.0.1", **self._settings}
        if not self._tls:
            return plain
        return plain | {
            "secureClientPort": self.secure_port,
            "secureClientPortAddress": "127.0.0.1",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": self._tls.server,
            "ssl.trustStore.location": self._tls.authority,
        }

    def _jaas(self) -> list[str]:
        if not self._users:
            return []
        users = " ".join(f'user_{name}="{password}"' for name, password in self._users.items())
        module = "org.apache.zookeeper.server.auth.DigestLoginModule"
        provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
        file = self.directory / "jaas.conf"
        file.write_text(f"Server {{ {module} required {users}; }};\n")
        return [f"-Djava.security.auth.login.config={file}", f"-Dzookeeper.authProvider.sasl={provider}"]


class Ensemble:
    """Several servers that make one."""

    def __init__(self, *, size: int = 3, tick: int = 500, min_session: int = 400) -> None:
        limits = {"initLimit": 20, "syncLimit": 5}
        self.servers = [Server(tick=tick, min_session=min_session, settings=limits) for _ in range(size)]

    @property
    def hosts(self) -> str:
        return ",".join(server.hosts for server in self.servers)

    def leader(self) -> Server:
        """The one that leads; waits while they elect one."""
        return self._first("leader")

    def follower(self) -> Server:
        return self._first("follower")

    def start(self) -> Self:
        for _ in range(ATTEMPTS):
            self._launch()
            try:
                for server in self.servers:
                    server.wait_until_serving()
            except PortTakenError:
                for server in self.servers:
                    server.kill()
                continue
            return self
        raise RuntimeError(f"no free ports in {ATTEMPTS} attempts")

    def close(self) -> None:
        for server in self.servers:
            server.close()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _launch(self) -> None:
        numbered = list(enumerate(self.servers, start=1))
        members = {f"server.{number}": "127.0.0.1:{}:{}".format(*free_ports(2)) for number, _ in numbered}
        for number, server in numbered:
            server.choose_ports()
            server.join(number, members)
            server.launch()

    def _first(self, mode: str) -> Server:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for server in self.servers:
                if server.mode() == mode:
                    return server
            time.sleep(0.02)  # an election tells nobody that it is over
        raise RuntimeError(f"no {mode} after {PATIENCE} s")


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on, outside the range of clients: none is lost while its server restarts."""
    chance = random.SystemRandom()  # pytest-randomly seeds the others alike in every worker
    ports: set[int] = set()
    while len(ports) < number:
        port = chance.randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                ports.add(port)
    return list(ports)
