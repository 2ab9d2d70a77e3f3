"""`shardwright console`: real processes, served over real sockets; and what it does not start with."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import urllib3
from click.testing import CliRunner

from shardwright.cli import main
from shardwright.history import beside, open_store
from shardwright.registry import connect
from tests.certificates import Certificates
from tests.faults.processes import Child, Process

from .calling import Answer, shardwright
from .schemas import AllDone, Users

PATIENCE = 60.0
PASSWORD = "correct horse battery"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def registry(folder: Path) -> str:
    url = f"sqlite://{folder}/registry.db"
    connect(url).close()
    return url


class Served:
    """A console that runs, and what it has said on its start."""

    def __init__(self, folder: Path, *options: str, ca: Path | None = None) -> None:
        self.child = Child(
            "shardwright", "console", "--port", "0", "--accounts", f"{folder}/a.json", *options
        )
        self.url = self.child.expect("The console is at ", PATIENCE).rpartition(" ")[2]
        self._pool = urllib3.PoolManager(retries=False, timeout=PATIENCE, ca_certs=str(ca) if ca else None)
        self.cookie, self.csrf = "", ""

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *raised: object) -> None:
        self.child.close()

    def token(self) -> str:
        return self.child.expect("One-time token for the first account: ", PATIENCE).rpartition(" ")[2]

    def ask(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        headers = {"origin": self.url.rstrip("/").removesuffix("/ops"), "x-shardwright-csrf": self.csrf}
        if self.cookie:
            headers["cookie"] = self.cookie
        data = None if body is None else json.dumps(body)
        if data is not None:
            headers["content-type"] = "application/json"
        return self._pool.request(method, self.url + path, body=data, headers=headers, **options)

    def sign_in(self, **wish: str) -> Any:
        answer = self.ask("POST", "api/login", wish)
        assert answer.status == 200, answer.data
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.csrf = answer.json()["csrf"]
        return answer


def add_ann(folder: Path) -> None:
    answer = with_input(PASSWORD, "console", "user", "add", "ann", "--role", "admin", "--accounts", "a.json")
    assert answer.code == 0, answer


def with_input(said: str, *arguments: str) -> Answer:
    result = CliRunner().invoke(main, arguments, input=f"{said}\n")
    return Answer(result.exit_code, result.stdout, result.stderr)


# Served


def test_on_its_first_start_a_token_is_printed_and_the_first_account_is_made_with_it(
    folder: Path, registry: str
) -> None:
    with Served(folder, "--registry", registry) as console:
        token = console.token()
        about = console.ask("GET", "api/about").json()
        assert (about["first"], about["session"]) == (True, None)
        console.sign_in(token=token)
        wish = {"name": "ann", "password": PASSWORD, "roles": {"*": "admin"}}
        assert console.ask("POST", "api/users", wish).status == 200
        console.cookie = ""
        session = console.sign_in(user="ann", password=PASSWORD).json()
        assert [(each["name"], each["role"]) for each in session["registries"]] == [("main", "admin")]
        assert console.ask("GET", "api/r/main/statistics").status == 200
        said = "\n".join(console.child.lines)
        assert said.count(token) == 1
        assert "ann (console): login 127.0.0.1: done" in said
        assert PASSWORD not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_it_ends_promptly_although_somebody_follows_events(folder: Path, registry: str, number: int) -> None:
    add_ann(folder)
    with Served(folder, "--registry", registry) as console:
        console.sign_in(user="ann", password=PASSWORD)
        stream = console.ask("GET", "api/r/main/live", preload_content=False)
        assert stream.status == 200
        assert stream.read1()  # it has begun
        begin = time.monotonic()
        os.kill(console.child.pid, number)
        assert console.child.wait(PATIENCE) == 0
        assert time.monotonic() - begin < 8.0
        stream.close()
        assert "Traceback" not in "\n".join(console.child.lines)


def test_who_comes_in_is_in_the_audit_of_the_history(folder: Path, registry: str) -> None:
    add_ann(folder)
    open_store(beside(folder / "registry.db")).close()
    with Served(folder, "--registry", registry) as console:
        assert console.sign_in(user="ann", password=PASSWORD).json()["registries"][0]["history"] is True
        assert console.ask("POST", "api/users", {"name": "bob"}).status == 400
    told = shardwright("history", "--audit", "--registry", registry, "--json")
    (change,) = json.loads(told.out)["changes"]
    assert (change["who"], change["what"], change["outcome"]) == ("ann (console)", "login", "done")


def test_several_registries_are_shown_each_by_its_name(folder: Path, registry: str) -> None:
    add_ann(folder)
    other = f"sqlite://{folder}/other.db?namespace=/x"
    with Served(folder, "--registry", f"one={registry}", "--registry", f"two={other}") as console:
        session = console.sign_in(user="ann", password=PASSWORD).json()
        assert [(each["name"], each["address"]) for each in session["registries"]] == [
            ("one", registry),
            ("two", f"sqlite://{folder}/other.db"),
        ]


def test_a_history_that_two_registries_have_by_chance_is_not_shown_and_that_is_said(
    folder: Path, registry: str
) -> None:
    add_ann(folder)
    other, history = f"sqlite://{folder}/other.db", beside(folder / "other.db")
    open_store(history).close()
    both = ["--registry", f"one={registry}", "--registry", f"two={other}"]
    with Served(folder, *both) as console:
        assert console.child.lines[0].startswith("Note: one, two: no history is shown, as another")
        session = console.sign_in(user="ann", password=PASSWORD).json()
        assert [each["history"] for each in session["registries"]] == [False, False]
    with Served(folder, *both, "--history", f"two=sqlite:///{history}") as console:
        session = console.sign_in(user="ann", password=PASSWORD).json()
        assert [each["history"] for each in session["registries"]] == [False, True]


def test_the_file_may_say_all_of_it(folder: Path, registry: str) -> None:
    add_ann(folder)
    (folder / "shardwright.toml").write_text(
        f"""
        [console]
        root_path = "/ops/"
        proxy = true
        [console.registries]
        one = "{registry}"
        two = {{ registry = "sqlite:///{folder}/other.db", history = "sqlite:///{folder}/h.db" }}
        """
    )
    # Started elsewhere, it is told where by the environment's folder alone: so it is started from here.
    command = [sys.executable, "-u", "-m", "shardwright", "console", "--port", "0", "--accounts", "a.json"]
    log = folder / "log"
    with log.open("wb") as output, Process(["env", "-C", str(folder), *command], output=output) as process:
        deadline = time.monotonic() + PATIENCE
        while "The console is at" not in log.read_text():
            assert process.alive(), log.read_text()
            assert time.monotonic() < deadline
        (line,) = [line for line in log.read_text().splitlines() if "The console is at" in line]
        url = line.rpartition(" ")[2]
        assert url.endswith("/ops/")
        headers = {"origin": "https://ops.example", "content-type": "application/json"}
        headers |= {"x-forwarded-host": "ops.example", "x-forwarded-proto": "https"}
        body = json.dumps({"user": "ann", "password": PASSWORD})
        answer = urllib3.request("POST", f"{url}api/login", body=body, headers=headers)
        assert [each["name"] for each in answer.json()["registries"]] == ["one", "two"]
        assert "Path=/ops/" in answer.headers["set-cookie"]
        assert "Secure" in answer.headers["set-cookie"]


def test_with_a_certificate_it_is_served_encrypted(
    folder: Path, registry: str, tls_certificates: Certificates
) -> None:
    add_ann(folder)
    pem = str(tls_certificates.server)
    options = ["--registry", registry, "--tls-cert", pem, "--tls-key", pem]
    with Served(folder, *options, ca=tls_certificates.authority) as console:
        assert console.url.startswith("https://127.0.0.1:")
        assert "Secure" in console.sign_in(user="ann", password=PASSWORD).headers["set-cookie"]


def test_beyond_this_machine_it_starts_with_an_account_and_warns_of_passwords_in_the_clear(
    folder: Path, registry: str
) -> None:
    add_ann(folder)
    with Served(folder, "--registry", registry, "--host", "0.0.0.0") as console:
        console.child.expect("Note: passwords come over the network in the clear", PATIENCE)
        assert not any("token" in line for line in console.child.lines)


QUICK = """
import sys
from shardwright.console import serving
serving.HEAD_WITHIN = serving.READ_WITHIN = 0.5
from shardwright.cli import main
main(sys.argv[1:])
"""


def test_whoever_connects_and_says_nothing_or_says_it_slowly_is_not_waited_for(
    folder: Path, registry: str
) -> None:
    (folder / "quick.py").write_text(QUICK)
    arguments = ["console", "--port", "0", "--accounts", f"{folder}/a.json", "--registry", registry]
    with Child(str(folder / "quick.py"), *arguments) as child:
        url = urllib3.util.parse_url(child.expect("The console is at ", PATIENCE).rpartition(" ")[2])
        assert url.port is not None
        for said in (
            b"",
            b"GET / HTTP/1.1\r\nHost: x\r\n",
            b"GET /api/about HTTP/1.1\r\nHost: x\r\n\r\nGET /",
        ):
            with socket.create_connection(("127.0.0.1", url.port), PATIENCE) as slow:
                slow.sendall(said)
                while slow.recv(65536):  # until it is closed
                    pass


def test_whoever_takes_nothing_of_what_they_are_sent_is_not_waited_for(folder: Path, registry: str) -> None:
    (folder / "quick.py").write_text(QUICK)
    arguments = ["console", "--port", "0", "--accounts", f"{folder}/a.json", "--registry", registry]
    with Child(str(folder / "quick.py"), *arguments) as child, socket.socket() as deaf:
        url = urllib3.util.parse_url(child.expect("The console is at ", PATIENCE).rpartition(" ")[2])
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", url.port))
        deaf.setblocking(False)
        ready = select.poll()
        ready.register(deaf, select.POLLOUT)
        while True:  # ask on, as long as that is taken, and read nothing
            (found,) = ready.poll(PATIENCE * 1000) or [(0, 0)]
            assert found[1], "the connection is still held"
            if found[1] & (select.POLLERR | select.POLLHUP):
                break
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                deaf.send(b"GET /api/about HTTP/1.1\r\nHost: x\r\n\r\n" * 100)


# Not served


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--registry", "redis://x"], "there is no registry called 'redis'"),
        (["--registry", "memory://"], "known to its own process only"),
        (["--registry", "a=sqlite:///x.db", "--registry", "sqlite:///y.db"], "give every registry a name"),
        (["--registry", "a=sqlite:///x.db", "--registry", "a=sqlite:///y.db"], "'a' is given twice"),
        (["--registry", "a= "], "--registry says nothing"),
        (["--registry", "a=sqlite:///x.db", "--history", "b=sqlite:///h.db"], "there is no registry 'b'"),
        (
            [
                *("--registry", "a=sqlite:///x.db", "--history", "a=sqlite:///h.db"),
                *("--registry", "b=sqlite:///y.db", "--history", "b=sqlite:///h.db"),
            ],
            "the registries 'a' and 'b' have one and the same history",
        ),
        (["--port", "65536"], "65536"),
        (["--port", "http"], "not a valid integer"),
        (["--root-path", "ops"], "--root-path is a path such as /ops"),
        (["--root-path", "/a/../b"], "--root-path is a path such as /ops"),
        (["--root-path", "/<script>"], "--root-path is a path such as /ops"),
        (["--tls-cert", "x.pem"], "--tls-cert and --tls-key go together"),
        (["--tls-key", "x.pem"], "--tls-cert and --tls-key go together"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["user"], "Usage: shardwright console user"),
        (["user", "add", "bob"], "Missing option '--role'"),
        (["user", "add", "bob", "--role", "king"], "there is no role 'king'"),
        (["user", "add", "bob", "--role", "admin", "--role", "*=viewer"], "* is given twice"),
    ],
)
def test_wrong_usage_is_told(folder: Path, options: list[str], why: str) -> None:
    answer = shardwright("console", *options)  # which would serve, and not end, if it took them
    assert (answer.code, answer.out) == (2, "")
    assert why in answer.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("console = 7", "console is a table: [console]"),
        ("[console]\nprot = 7", "console.prot: extra inputs are not permitted"),
        ('[console]\nport = "7"', "console.port: input should be a valid integer"),
        ('[console.registries]\n"a b" = "sqlite:///x.db"', "'a b' cannot be the name of a registry"),
        ('[console.oidc]\nissuer = "https://x"', "console.oidc.client_id: field required"),
    ],
)
def test_a_file_that_makes_no_sense_is_wrong_usage(folder: Path, text: str, why: str) -> None:
    (folder / "shardwright.toml").write_text(text)
    for arguments in (["console"], ["console", "user", "list"]):
        answer = shardwright(*arguments)
        assert (answer.code, answer.out) == (2, ""), answer
        assert why in answer.err


def test_beyond_this_machine_it_does_not_start_without_an_account(folder: Path, registry: str) -> None:
    answer = shardwright("console", "--registry", registry, "--host", "0.0.0.0", "--port", "0")
    assert (answer.code, answer.out) == (1, "")
    assert f"there is no account in {folder}/shardwright-console.json yet" in answer.err
    assert "shardwright console user add NAME --role admin" in answer.err


def test_a_file_of_accounts_that_others_can_read_is_refused(folder: Path, registry: str) -> None:
    add_ann(folder)
    (folder / "a.json").chmod(0o644)
    answer = shardwright("console", "--registry", registry, "--accounts", "a.json", "--port", "0")
    assert (answer.code, answer.out) == (1, "")
    assert "can be read or written by others: chmod 600" in answer.err


def test_a_port_that_is_taken_is_told(folder: Path, registry: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = shardwright("console", "--registry", registry, "--port", port)
    assert (answer.code, answer.out) == (1, "")
    assert f"127.0.0.1 port {port} cannot be listened at" in answer.err


def test_a_certificate_that_is_none_is_told(folder: Path, registry: str) -> None:
    (folder / "x.pem").write_text("no certificate")
    options = ["--registry", registry, "--tls-cert", "x.pem", "--tls-key", "x.pem", "--port", "0"]
    answer = shardwright("console", *options)
    assert (answer.code, answer.out) == (1, "")
    assert "the certificate x.pem with its key cannot be used" in answer.err


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "starlette"])
def test_without_the_extra_it_says_which_one_to_install(folder: Path, registry: str, package: str) -> None:
    code = (
        f"import sys\nsys.modules[{package!r}] = None\nfrom shardwright.cli import main\nmain(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "console", "--registry", registry]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "Error: the console needs an extra: pip install 'shardwright[console]'\n"
    listed = subprocess.run([*command[:3], "console", "user", "list"], capture_output=True, check=False)
    assert listed.returncode == 0


# Accounts


def test_accounts_are_made_listed_changed_and_removed(folder: Path) -> None:
    assert shardwright("console", "user", "list").out == "There is no account.\n"
    assert with_input(PASSWORD, "console", "user", "add", "ann", "--role", "admin").out == (
        "ann may sign in as admin of all registries\n"
    )
    roles = ["--role", "viewer", "--role", "test=author"]
    done = with_input(PASSWORD, "console", "user", "add", "bob", *roles, "--json")
    assert AllDone.model_validate_json(done.out, strict=True).done[0].target == "bob"
    listed = Users.model_validate_json(shardwright("console", "user", "list", "--json").out, strict=True)
    assert [(each.name, each.roles) for each in listed.users] == [
        ("ann", {"*": "admin"}),
        ("bob", {"*": "viewer", "test": "author"}),
    ]
    assert (
        "bob is operator of prod now"
        in shardwright("console", "user", "role", "bob", "--role", "prod=operator").out
    )
    assert with_input("another horse battery", "console", "user", "password", "bob").code == 0
    assert shardwright("console", "user", "remove", "bob").out == "bob may sign in no longer\n"
    assert "bob" not in shardwright("console", "user", "list").out


@pytest.mark.parametrize(
    ("arguments", "said", "why"),
    [
        (["remove", "eve"], "", "there is no account 'eve'"),
        (["remove", "ann"], "", "somebody has to be admin of all registries"),
        (["role", "ann", "--role", "viewer"], "", "somebody has to be admin of all registries"),
        (["add", "ann", "--role", "viewer"], PASSWORD, "there is an account 'ann' already"),
        (["add", "b b", "--role", "viewer"], PASSWORD, "'b b' cannot be the name of a user"),
        (["add", "bob", "--role", "viewer"], "short", "at least 12 characters"),
        (["add", "bob", "--role", "viewer"], "", "at least 12 characters"),
        (["password", "ann"], "short", "at least 12 characters"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, arguments: list[str], said: str, why: str) -> None:
    assert with_input(PASSWORD, "console", "user", "add", "ann", "--role", "admin").code == 0
    answer = with_input(said, "console", "user", *arguments)
    assert (answer.code, answer.out) == (1, "")
    assert why in answer.err
    assert PASSWORD not in answer.err


def test_a_password_is_no_argument(folder: Path) -> None:
    answer = with_input(PASSWORD, "console", "user", "add", "ann", PASSWORD, "--role", "admin")
    assert answer.code == 2
    assert "unexpected extra argument" in answer.err
