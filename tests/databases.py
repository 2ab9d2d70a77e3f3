"""Real database servers for tests: on sockets in a directory of their own, run by nobody, gone with the test.

with PostgreSQL() as server:
    Store(server.make("a_database"))
    server.kill()
    server.restart()
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import pymysql

from tests.faults.processes import Process

PATIENCE = 60.0

#: What a PostgreSQL says where children of one that was killed have not noticed yet.
STILL_USED = "is still in use"

# Neither server is to be run by root.
AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []


def program(name: str) -> str | None:
    """Where it is: Debian keeps servers where no search looks."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") or next(
        map(str, versions), None
    )


class Database(ABC):
    """What both kinds of servers have in common."""

    PROGRAMS: Sequence[str] = ()
    PACKAGE = ""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="database-"))
        if AS_NOBODY:
            shutil.chown(self.directory, "nobody", "nogroup")
        self._process: Process | None = None

    @classmethod
    def missing(cls) -> str | None:
        """Why no server can be had and how to get one, in one line; None if it can."""
        if all(program(name) for name in cls.PROGRAMS):
            return None
        return f"no {cls.__name__}: run `make setup` as root, or install {cls.PACKAGE}"

    def start(self) -> Self:
        self.prepare()
        self.launch()
        return self

    def kill(self) -> None:
        """`kill -9`, it and what it started."""
        if self._process:
            self._process.close()

    def restart(self) -> None:
        """On the same data; killed first if it is still running."""
        self.kill()
        self.launch()

    def launch(self) -> None:
        self._process = self._begun()
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            try:
                self._process.wait(within=0.05)
            except TimeoutError:
                if time.monotonic() < deadline:
                    continue
            self.kill()
            log_text = self._log.read_text(errors="replace")
            if STILL_USED in log_text[-4000:] and time.monotonic() < deadline:
                self._process = self._begun()
                continue
            raise RuntimeError(
                f"{type(self).__name__} does not serve; the end of its log:\n{log_text[-4000:]}"
            )

    def _begun(self) -> Process:
        with self._log.open("ab") as log:
            return Process([*AS_NOBODY, *self.command()], output=log)

    def close(self) -> None:
        """End it and throw its data away."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    @abstractmethod
    def prepare(self) -> None:
        """Make the directory that the server keeps its data in."""

    @abstractmethod
    def command(self) -> list[str]:
        """What starts the server."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server does."""

    @abstractmethod
    def make(self, name: str) -> str:
        """The address of a new database."""

    def run(self, *command: str) -> None:
        done = subprocess.run([*AS_NOBODY, *command], capture_output=True, text=True, cwd=self.directory)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}\n{done.stderr}")

    @property
    def _log(self) -> Path:
        return self.directory / "log"

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


class PostgreSQL(Database):
    PROGRAMS = ("postgres", "initdb")
    PACKAGE = "postgresql"

    def prepare(self) -> None:
        initdb = program("initdb")
        assert initdb, self.missing()
        self.run(
            initdb, "-D", str(self._data), "-U", "test", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"
        )

    def command(self) -> list[str]:
        postgres = program("postgres")
        assert postgres, self.missing()
        settings = (
            "listen_addresses=",
            f"unix_socket_directories={self.directory}",
            "fsync=off",
            "dynamic_shared_memory_type=mmap",  # killed, it would leave what it shares behind for good
        )
        return [postgres, "-D", str(self._data), *(part for each in settings for part in ("-c", each))]

    def answers(self) -> bool:
        try:
            psycopg.connect(self._hosts, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def make(self, name: str) -> str:
        with psycopg.connect(self._hosts, autocommit=True) as connection:
            connection.execute(f'create database "{name}"'.encode())
        return f"postgresql://test@/{name}?host={self.directory}"

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    @property
    def _hosts(self) -> str:
        return f"host={self.directory} user=test dbname=postgres"


class MariaDB(Database):
    PROGRAMS = ("mariadbd", "mariadb-install-db", "my_print_defaults")
    PACKAGE = "mariadb-server-core and mariadb-client-core"

    def prepare(self) -> None:
        install = program("mariadb-install-db")
        assert install, self.missing()
        self.run(
            install,
            "--no-defaults",
            f"--datadir={self._data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            f"--tmpdir={self.directory}",
        )

    def command(self) -> list[str]:
        mariadbd = program("mariadbd")
        assert mariadbd, self.missing()
        return [
            mariadbd,
            "--no-defaults",
            f"--datadir={self._data}",
            f"--socket={self._socket}",
            f"--pid-file={self.directory / 'pid'}",
            f"--tmpdir={self.directory}",
            "--skip-networking",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-buffer-pool-size=32M",
        ]

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(self._socket)):
                return False
        try:
            self._connect().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def make(self, name: str) -> str:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"create database `{name}`")
        return f"mysql://root@localhost/{name}?unix_socket={self._socket}"

    def _connect(self) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
        return pymysql.connect(unix_socket=str(self._socket), user="root", connect_timeout=2)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    @property
    def _socket(self) -> Path:
        return self.directory / "socket"
