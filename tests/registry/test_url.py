"""Addresses of registries: what they mean, what is said about wrong ones, and what is never said."""

import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import pytest

from shardwright.errors import RegistryError, RegistryUrlError
from shardwright.registry import Create, connect
from shardwright.registry.memory import MemoryRegistry
from shardwright.registry.url import Address, namespace_of, parse

from .contract import data, land

CANARY = "hunter2"

# -- what an address means ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("memory://", Address("memory", "", "")),
        ("memory://shared/prod/eu", Address("memory", "shared", "/prod/eu")),
        ("MEMORY://x", Address("memory", "x", "")),
        ("sqlite:///var/lib/app.db", Address("sqlite", "", "/var/lib/app.db")),
        ("sqlite:///a%20b/c%3Fd@e#f.db", Address("sqlite", "", "/a b/c?d@e#f.db")),
        (
            "zookeeper://zk1:2181,[::1]:2182/prod?session_timeout=4s&tls_ca=/etc/a%26b+c.pem",
            Address(
                "zookeeper",
                "zk1:2181,[::1]:2182",
                "/prod",
                options={"session_timeout": "4s", "tls_ca": "/etc/a&b+c.pem"},
            ),
        ),
        ("zk://user:p%40ss%2Fword@zk1", Address("zk", "zk1", "", "user", "p@ss/word")),
        ("zk://us%3Aer:p@ss:w#rd@zk1/x", Address("zk", "zk1", "/x", "us:er", "p@ss:w#rd")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_address_is_taken_apart(url: str, address: Address) -> None:
    assert parse(url) == address


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10.0), ("1.5s", 1.5), ("500ms", 0.5), ("2m", 120.0), ("3", 3.0)]
)
def test_a_length_of_time_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    address = Address("memory", "", "", options={"session_timeout": text})
    assert address.seconds("session_timeout", 1.0) == pytest.approx(seconds)
    assert address.seconds("other", 7.0) == 7.0


@pytest.mark.parametrize(
    ("text", "yes"), [("true", True), ("Yes", True), ("1", True), ("FALSE", False), ("no", False)]
)
def test_yes_and_no_are_said_in_several_ways(text: str, yes: bool) -> None:
    address = Address("memory", "", "", options={"tls": text})
    assert address.yes("tls", default=not yes) is yes
    assert address.yes("other", default=True) is True


@pytest.mark.parametrize(
    ("text", "namespace"),
    [("", "/shardwright"), ("/", "/shardwright"), ("prod", "/prod"), ("/prod/eu/", "/prod/eu")],
)
def test_a_namespace_is_a_path_however_it_is_written(text: str, namespace: str) -> None:
    assert namespace_of(text) == namespace


# -- what an address opens ----------------------------------------------------------------------------


def test_a_named_store_is_shared_within_the_process_and_a_nameless_one_is_nobody_elses() -> None:
    with (
        connect("memory://test-url-one") as first,
        connect("memory://test-url-one/elsewhere?session_timeout=3s") as second,
        connect("memory://test-url-two") as stranger,
        connect("memory://") as private,
        connect("memory://") as another,
    ):
        land(first, Create("/a", "shared"))
        land(private, Create("/b", "private"))
        assert data(second, "/a") == "shared"
        assert (data(stranger, "/a"), data(private, "/a"), data(another, "/b")) == (None, None, None)
        assert (first.namespace, second.namespace) == ("/shardwright", "/elsewhere")


def test_the_options_of_an_address_reach_its_driver() -> None:
    with connect("memory:///ns?session_timeout=1500ms", patience=2.5) as registry:
        session = registry.session()
        assert session is not None
        assert (session.timeout, registry.patience, registry.namespace) == (1.5, 2.5, "/ns")
        assert isinstance(registry, MemoryRegistry)


def test_a_file_is_opened_by_its_path(tmp_path: Path) -> None:
    with connect(f"sqlite://{tmp_path}/a%20b/../registry.db") as registry:
        land(registry, Create("/a", "in a file"))
        assert data(registry, "/a") == "in a file"


# -- what is said about a wrong one -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "a registry's address begins with memory://, sqlite:/// or zookeeper://"),
        ("registry.db", "a registry's address begins with"),
        ("zookeeper:/zk1", "a registry's address begins with"),
        ("my scheme://x", "a registry's address begins with"),
        ("étcd://x", "a registry's address begins with"),
        ("etcd://x/y", "etcd://x/y: there is no registry called 'etcd'; there are memory, sqlite, zookeeper"),
        ("memory://x?colour=red", "memory://x: there is no option 'colour'; there are session_timeout"),
        ("memory://x?session_timeout", "memory://x: options are written as ?name=value&name=value"),
        ("memory://x?=3", "memory://x: options are written as ?name=value&name=value"),
        ("memory://x?a=1&a=2", "memory://x: the option 'a' is there twice"),
        ("memory://x?session_timeout=soon", "session_timeout='soon' is not a length of time such as 10s"),
        ("memory://x?session_timeout=-1s", "session_timeout='-1s' is not a length of time"),
        ("memory://x?session_timeout=0s", "session_timeout='0s' is not a length of time"),
        ("memory://x?session_timeout=nan", "session_timeout='nan' is not a length of time"),
        ("memory://x?session_timeout=1e9m", "session_timeout='1e9m' is not a length of time"),
        ("memory://x/a//b", "the address names a namespace that cannot be: the path '/a//b' has a part"),
        ("memory://x/a/../b", "the address names a namespace that cannot be: the path '/a/../b' has a part"),
        ("sqlite:///x.db?end_stopped=perhaps", "end_stopped='perhaps' must be true or false"),
        ("sqlite:///x.db?sync=off", "sqlite:///x.db: there is no option 'sync'; there are namespace"),
        ("sqlite://x.db", "sqlite://x.db: name a file by its whole path after three slashes"),
        ("sqlite://", "sqlite://: name a file by its whole path after three slashes"),
        ("zookeeper:///prod", "zookeeper:///prod: name at least one server"),
        ("zookeeper://zk1:port/prod", "'zk1:port' is not host:port"),
        ("zookeeper://zk1?largest=many", "largest='many' is not a whole number from 262144 on"),
        ("zookeeper://zk1?largest=50000", "largest='50000' is not a whole number from 262144 on"),
        ("zookeeper://zk1?auth=magic", "auth='magic' is neither digest nor sasl"),
        ("zookeeper://user@zk1", "zookeeper://…@zk1: credentials are written as user:password@"),
        ("zookeeper://:secret@zk1", "zookeeper://…@zk1: credentials are written as user:password@"),
        ("zookeeper://user:@zk1", "zookeeper://…@zk1: credentials are written as user:password@"),
        ("zookeeper://zk1/prod@eu", "zookeeper://…: after the servers @ is written as %40"),
    ],
    ids=lambda text: text if "://" in text else "",
)
def test_a_wrong_address_is_answered_with_one_sentence(url: str, sentence: str) -> None:
    with pytest.raises(RegistryUrlError, match=re.escape(sentence)) as told:
        connect(url, patience=0.1)
    assert "\n" not in str(told.value)


# -- what is never said -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        f"user:{CANARY}@zk1",
        f"u:{CANARY}@",
        f"{CANARY}@zk1",
        f"zookeeper:/user:{CANARY}@zk1",
        f"zookeeper:///user:{CANARY}@zk1",
        f"zookeeper://{CANARY}@zk1",
        f"zookeeper://:{CANARY}@zk1",
        f"zookeeper://user:{CANARY}@",
        f"zookeeper://user:{CANARY}@zk1:port/ns",
        f"zookeeper://user:{CANARY}@zk1/a//b",
        f"zookeeper://user:{CANARY}@zk1/ns?x",
        f"zookeeper://user:{CANARY}@zk1/ns?colour=red",
        f"zookeeper://user:{CANARY}@zk1/ns?auth=magic",
        f"zookeeper://user:{CANARY}@zk1/ns?session_timeout=soon",
        f"zookeeper://user:{CANARY}@zk1/ns?tls_key_password={CANARY}&colour=red",
        f"zookeeper://user:{CANARY}/more@zk1/ns",
        f"zookeeper://user:more/{CANARY}@zk1/ns",
        f"zookeeper://user:{CANARY}?more@zk1/ns",
        f"zookeeper://user:more?{CANARY}@zk1/ns",
        f"zookeeper://user:more@{CANARY}/more@zk1/ns",
        f"zookeeper://user:{CANARY}\u2100@zk1:port",
        f"2k://user:{CANARY}@zk1",
        f"étcd://user:{CANARY}@zk1",
        f"etcd://user:{CANARY}@zk1",
        f"etcd://user:{CANARY}/x@zk1",
        f"sqlite://user:{CANARY}@/var/lib/x.db",
        f"sqlite://user:{CANARY}/more@/var/lib/x.db",
        f"memory://user:{CANARY}@x/a//b",
    ],
)
def test_a_password_is_never_repeated_however_wrong_the_address_is(url: str) -> None:
    with pytest.raises(RegistryError) as told:
        connect(url, patience=0.05)
    assert CANARY not in str(told.value)
    assert CANARY not in repr(told.value)
    assert CANARY not in "".join(traceback.format_exception_only(told.value))
    cause: BaseException | None = told.value
    while cause is not None:
        assert CANARY not in str(cause)
        cause = cause.__cause__ or cause.__context__


def test_a_password_is_never_printed_with_its_address() -> None:
    address = parse(f"zookeeper://user:{CANARY}@zk1/ns?tls_key_password={CANARY}")
    assert address.password == CANARY
    assert str(address) == "zookeeper://user:***@zk1/ns"
    assert CANARY not in repr(address)


# -- what is not installed ----------------------------------------------------------------------------

WITHOUT_KAZOO = """
    import sys

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "kazoo":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Blocked())

    from shardwright.errors import MissingExtra
    from shardwright.registry import connect

    with connect("memory://"):
        pass
    try:
        connect("zookeeper://127.0.0.1:1")
    except MissingExtra as missing:
        print(missing)
"""


def test_without_kazoo_everything_else_works_and_zookeeper_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_KAZOO)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout == "ZooKeeper needs the extra 'zookeeper': pip install 'shardwright[zookeeper]'\n"
