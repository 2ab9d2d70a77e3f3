"""A job's tree as ElasticJob's dump port tells it, and the port."""

import errno
import socket
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from shardwright.errors import OperationError
from shardwright.ops import dump, dump_server
from shardwright.ops.dump_server import DumpServer

from .bureau import FULL, JAVA, JAVA2, SMALLEST, Bureau

PATIENCE = 10.0


def ask(address: tuple[str, int] | str, question: bytes) -> str:
    """All that is answered, until the port hangs up."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(PATIENCE)
        client.connect(address)
        client.sendall(question)
        return b"".join(iter(lambda: client.recv(65536), b"")).decode()


def answer(job: str) -> list[str]:
    return [f"/{job}/config | x", f"/{job}/servers | "]


def test_a_dump_has_a_line_for_each_node_the_last_first_without_the_job_itself(any_bureau: Bureau) -> None:
    any_bureau.job("jobName: j", JAVA, JAVA2, owners={0: JAVA})
    assert dump.of(any_bureau.registry, "j") == (
        "/j/sharding | ",
        "/j/sharding/0 | ",
        "/j/sharding/0/instance | ip1@-@25555",
        "/j/servers | ",
        "/j/servers/ip2 | ENABLED",
        "/j/servers/ip1 | ENABLED",
        "/j/instances | ",
        "/j/instances/ip2@-@4711 | jobInstanceId: ip2@-@4711\nserverIp: ip2\n",
        "/j/instances/ip1@-@25555 | jobInstanceId: ip1@-@25555\nserverIp: ip1\n",
        "/j/config | jobName: j\n",
    )


def test_a_dump_holds_no_secret(bureau: Bureau) -> None:
    bureau.job(FULL, job="full")
    text = "\n".join(dump.of(bureau.registry, "full"))
    assert "password: '***'" in text
    assert "pa55word" not in text
    bureau.job("password=pa55word {", job="broken")
    assert "pa55word" not in "\n".join(dump.of(bureau.registry, "broken"))


def test_addresses_are_told_by_the_order_in_which_they_appear() -> None:
    texts = ["10.0.0.1 10.0.0.10", "10.0.0.10:80", "1.2.3.4.5 1.2.3", "at 10.0.0.1."]
    assert list(dump.without_addresses(texts)) == ["ip1 ip2", "ip2:80", "1.2.3.4.5 1.2.3", "at ip1."]


def test_the_port_answers_from_the_registry_and_hangs_up(bureau: Bureau) -> None:
    bureau.job(SMALLEST, JAVA)
    with DumpServer(dump_server.from_url(bureau.url), address=("127.0.0.1", 0)) as port:
        for question in (b"dump@j\n", b"dump@j\r\n"):
            assert ask(port.address, question) == "".join(
                f"{line}\n" for line in dump.of(bureau.registry, "j")
            )
        assert ask(port.address, b"dump@k\n") == ""


def test_the_port_answers_on_a_unix_socket_that_only_its_user_can_open(tmp_path: Path) -> None:
    path = tmp_path / "dump.sock"
    with DumpServer(answer, address=str(path)) as port:
        assert path.stat().st_mode & 0o777 == 0o600
        assert ask(port.address, b"dump@j\n") == "/j/config | x\n/j/servers | \n"
    assert not path.exists()


def test_a_unix_socket_that_a_dead_server_left_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "dump.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with DumpServer(answer, address=path), pytest.raises(OperationError, match="cannot listen on"):
        DumpServer(answer, address=path).start()


@pytest.mark.parametrize("question", [b"dump@\n", b"dump\n", b"stop@j\n", b"dump@a@b\n", b"dump@\xff\n"])
def test_what_is_no_question_is_closed_without_an_answer(question: bytes) -> None:
    with DumpServer(answer, address=("127.0.0.1", 0)) as port:
        assert ask(port.address, question) == ""
        assert ask(port.address, b"dump@j\n") != ""


def test_a_question_without_end_is_not_listened_to_for_ever() -> None:
    with DumpServer(answer, address=("127.0.0.1", 0)) as port:
        assert ask(port.address, b"x" * dump_server.LONGEST) == ""
        assert ask(port.address, b"dump@j\n") != ""


def test_one_who_says_nothing_is_given_up_on_and_the_next_is_answered() -> None:
    with DumpServer(answer, address=("127.0.0.1", 0), deadline=0.05) as port:
        with socket.socket() as silent:
            silent.settimeout(PATIENCE)
            silent.connect(port.address)
            assert silent.recv(1) == b""
        assert ask(port.address, b"dump@j\n") != ""


def test_an_answer_that_is_too_long_is_cut_and_says_so() -> None:
    def long(job: str) -> Iterable[str]:
        return (f"{number:09}" for number in range(1000))

    with DumpServer(long, address=("127.0.0.1", 0), largest=25) as port:
        said = ask(port.address, b"dump@j\n")
    assert said == "000000000\n000000001\n... (cut: larger than the port may tell)\n"


@pytest.mark.parametrize("error", [OperationError("there is no job 'j'"), RuntimeError("a fault")])
def test_a_question_that_cannot_be_answered_is_closed_and_the_next_is_answered(error: Exception) -> None:
    def fail(job: str) -> Iterable[str]:
        if job == "j":
            raise error
        return answer(job)

    with DumpServer(fail, address=("127.0.0.1", 0)) as port:
        assert ask(port.address, b"dump@j\n") == ""
        assert ask(port.address, b"dump@k\n") != ""


def test_a_process_that_has_no_file_left_to_open_answers_when_it_has_one_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept = socket.socket.accept

    def too_many(door: socket.socket) -> tuple[socket.socket, object]:
        monkeypatch.setattr(socket.socket, "accept", accept)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(dump_server, "PAUSE", 0.01)
    with DumpServer(answer, address=("127.0.0.1", 0)) as server:
        monkeypatch.setattr(socket.socket, "accept", too_many)
        assert ask(server.address, b"dump@j\n") == "/j/config | x\n/j/servers | \n"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (("127.0.0.1", 70000), "port must be 0-65535"),
        (("127.0.0.1", -1), "port must be 0-65535"),
        (f"/tmp/{'x' * 200}", "path too long"),
        ("/nowhere/at/all", "No such file or directory"),
    ],
)
def test_where_the_port_cannot_listen_it_says_why(address: tuple[str, int] | str, why: str) -> None:
    with pytest.raises(OperationError, match=f"the dump port cannot listen on .*{why}"):
        DumpServer(answer, address=address).start()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_the_port_listens_on_this_machine_only(host: str) -> None:
    with pytest.raises(OperationError, match="listens on this machine only"):
        DumpServer(answer, address=(host, 0))


def test_a_port_that_was_never_opened_can_be_closed() -> None:
    before = threading.active_count()
    DumpServer(answer).close()
    assert threading.active_count() == before
