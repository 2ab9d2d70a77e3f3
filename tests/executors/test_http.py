"""HTTP: what arrives at a real server on loopback, what does not, and what nobody gets to see."""

import json
import logging
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from shardwright.egress import Egress
from shardwright.errors import Cancelled, ConfigError, Failed, JobError, ShardwrightError
from shardwright.executors.http import Answer, Http
from tests.certificates import Certificates, secured
from tests.test_shard import a_shard

CANARY = "c4n4ry-0f-the-mine"

#: What a server does with a connection, when it has heard the request.
Reply = Callable[[socket.socket, bytes], None]


class Server:
    """A server on loopback that notes what arrived."""

    def __init__(self, reply: Reply, context: ssl.SSLContext | None) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.closing = threading.Event()
        self._reply = reply
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._context else ''}://127.0.0.1:{self.port}"

    @property
    def request(self) -> str:
        """The only one there was."""
        assert len(self.requests) == 1
        return self.requests[0].decode()

    def header(self, name: str) -> list[str]:
        lines = self.requests[-1].decode().partition("\r\n\r\n")[0].split("\r\n")[1:]
        return [line.partition(": ")[2] for line in lines if line.lower().startswith(f"{name.lower()}: ")]

    def close(self) -> None:
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._threads.append(threading.Thread(target=self._serve, args=[connection]))
                self._threads[-1].start()

    def _serve(self, plain: socket.socket) -> None:
        with plain, suppress(OSError), ExitStack() as stack:
            plain.settimeout(60)
            connection = plain
            if self._context is not None:
                connection = stack.enter_context(secured(self._context, plain))
            self.requests.append(heard(connection))
            self._reply(connection, self.requests[-1])


def heard(connection: socket.socket) -> bytes:
    """A whole request."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = got.partition(b"\r\n\r\n")
    length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
    while length and len(body) < length[0]:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def says(status: int = 200, body: bytes = b"done", *headers: str) -> Reply:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    return lambda connection, request: connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def raw(answer: bytes) -> Reply:
    return lambda connection, request: connection.sendall(answer)


Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:

        def start(reply: Reply | None = None, context: ssl.SSLContext | None = None) -> Server:
            server = Server(reply or says(), context)
            stack.callback(server.close)
            return server

        yield start


#: The tests' servers may be called, by address; as may any name, which the resolver then has to lead there.
LOOPBACK = Egress(allow=("127.0.0.1",))


def at_loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


# What arrives


def test_the_server_is_told_the_shard_as_elasticjob_tells_it(serve: Serve) -> None:
    server, shard = serve(), a_shard(parameter="Köln 🚲 \x7f\r\nX: y")
    assert Http(f"{server.url}/run?a=1", egress=LOOPBACK)(shard) == Answer(200, b"done")
    assert server.request.startswith(f"GET /run?a=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n")
    (told,) = server.header("shardingContext")
    assert told.isascii()
    assert told.isprintable()
    assert json.loads(told) == json.loads(shard.sharding_context())
    assert server.header("X") == []


def test_what_is_ascii_arrives_to_the_letter(serve: Serve) -> None:
    server, shard = serve(), a_shard(parameter='a"b\\c')
    Http(server.url, egress=LOOPBACK)(shard)
    assert server.header("shardingContext") == [shard.sharding_context()]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "post"])
def test_data_is_sent_in_utf_8_with_its_type(serve: Serve, method: str) -> None:
    server = serve()
    Http(server.url, method, data="grün", content_type="text/plain", egress=LOOPBACK)(a_shard())
    assert server.request.startswith(f"{method.upper()} / HTTP/1.1\r\n")
    assert server.request.endswith("\r\n\r\ngrün")
    assert server.header("Content-Type") == ["text/plain"]


def test_data_without_a_type_are_a_form_as_with_elasticjob(serve: Serve) -> None:
    server = serve()
    Http(server.url, "POST", data="a=1", egress=LOOPBACK)(a_shard())
    assert server.header("Content-Type") == ["application/x-www-form-urlencoded"]


@pytest.mark.parametrize("headers", [{"X-Team": "billing"}, [("X-Team", "billing")]])
def test_headers_are_sent(serve: Serve, headers: object) -> None:
    server = serve()
    Http(server.url, headers=headers, egress=LOOPBACK)(a_shard())  # type: ignore[arg-type]
    assert server.header("X-Team") == ["billing"]


def test_the_name_is_the_hosts_and_the_address_the_one_that_was_checked(serve: Serve) -> None:
    server = serve()
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])
    egress = Egress(allow=("127.0.0.1",), resolve=lambda host, port: next(answers))
    Http(f"http://shop.example:{server.port}/", egress=egress)(a_shard())
    assert server.header("Host") == [f"shop.example:{server.port}"]
    assert next(answers) == ["127.0.0.2"]


def test_the_next_address_is_tried_when_one_takes_no_connection(serve: Serve) -> None:
    server = serve()
    egress = Egress(allow=("127.0.0.0/8",), resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"])
    Http(f"http://shop.example:{server.port}/", egress=egress)(a_shard())
    assert server.connections == 1


def test_no_proxy_of_the_environment_is_asked(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server, proxy = serve(), serve()
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    Http(server.url, egress=LOOPBACK)(a_shard())
    assert (server.connections, proxy.connections) == (1, 0)


def test_references_are_resolved_at_each_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, file = serve(), tmp_path / "body"
    monkeypatch.setenv("SHOP", server.url)
    monkeypatch.setenv("TOKEN", "old")
    file.write_text("first\n")
    headers = [("Authorization", "Bearer ${env:TOKEN}")]
    job = Http("${env:SHOP}/x", "POST", data=f"<${{file:{file}}}>", headers=headers, egress=LOOPBACK)
    job(a_shard())
    monkeypatch.setenv("TOKEN", "new")
    job(a_shard())
    assert [request.rpartition(b"\r\n")[2] for request in server.requests] == [b"<first>"] * 2
    assert [request.count(b"Bearer old") for request in server.requests] == [1, 0]
    assert server.header("Authorization") == ["Bearer new"]


# How a call comes out


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_a_status_below_300_is_success(serve: Serve, status: int) -> None:
    server = serve(says(status, b""))
    assert Http(server.url, egress=LOOPBACK)(a_shard()) == Answer(status, b"")


@pytest.mark.parametrize("status", [400, 404, 500, 503, 599, 103, 304])
def test_any_other_is_a_failure_that_tells_the_status(serve: Serve, status: int) -> None:
    server = serve(says(status, b"" if status in (103, 304) else b"no\r\nsuch\x1b[31m order " + b"x" * 1000))
    with pytest.raises(Failed, match=f"GET http://127.0.0.1:{server.port}: it answered {status}") as failure:
        Http(server.url, egress=LOOPBACK)(a_shard())
    assert len(str(failure.value)) < 400
    assert str(failure.value).isprintable()
    if status >= 400:
        assert "no  such [31m order xxx" in str(failure.value)


def test_a_head_request_has_an_answer_without_content(serve: Serve) -> None:
    server = serve(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"))
    assert Http(server.url, "HEAD", egress=LOOPBACK)(a_shard()) == Answer(200, b"")


def test_an_answer_in_chunks_is_put_together(serve: Serve) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server = serve(raw(head + b"3\r\none\r\n4\r\n two\r\n0\r\n\r\n"))
    assert Http(server.url, egress=LOOPBACK)(a_shard()).content == b"one two"


BROKEN = [
    b"",
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
]


@pytest.mark.parametrize("answer", BROKEN, ids=[str(answer)[:60] for answer in BROKEN])
def test_an_answer_that_breaks_off_or_is_none_is_a_failure(serve: Serve, answer: bytes) -> None:
    server = serve(raw(answer))
    with pytest.raises(Failed, match=r"its answer broke off or is no HTTP \(\w+\)|reset by peer"):
        Http(server.url, egress=LOOPBACK)(a_shard())


def pours(connection: socket.socket, request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    with suppress(OSError):
        while True:
            connection.sendall(b"x" * 65536)


def test_an_answer_without_end_is_not_heard_out(serve: Serve) -> None:
    server = serve(pours)
    with pytest.raises(Failed, match="its answer is longer than 1,048,576 bytes: let it say less"):
        Http(server.url, egress=LOOPBACK)(a_shard())


def test_an_answer_may_be_as_long_as_the_limit(serve: Serve) -> None:
    server = serve(says(200, b"x" * 1000))
    assert len(Http(server.url, egress=LOOPBACK, response_limit=1000)(a_shard()).content) == 1000
    with pytest.raises(Failed, match="longer than 999 bytes"):
        Http(server.url, egress=LOOPBACK, response_limit=999)(a_shard())


def test_an_answer_that_is_compressed_is_not_blown_up(serve: Serve) -> None:
    server = serve(says(200, b"\x1f\x8b not really", "Content-Encoding: gzip"))
    assert Http(server.url, egress=LOOPBACK)(a_shard()).content == b"\x1f\x8b not really"


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_drips_is_given_up_at_last(serve: Serve, head: bytes) -> None:
    def drips(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head)
        with suppress(OSError):
            while not server.closing.wait(0.01):
                connection.sendall(b"x")

    server = serve(drips)
    with pytest.raises(Failed, match=r"it was not over after 0\.3 s altogether"):
        Http(server.url, egress=LOOPBACK, total_timeout=0.3)(a_shard())


def test_a_server_that_says_go_on_for_ever_is_given_up_too(serve: Serve) -> None:
    def goes_on(connection: socket.socket, request: bytes) -> None:
        with suppress(OSError):
            while not server.closing.wait(0.001):
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    server = serve(goes_on)
    with pytest.raises(Failed, match="not over after"):
        Http(server.url, egress=LOOPBACK, total_timeout=0.3)(a_shard())


def silent(connection: socket.socket, request: bytes) -> None:
    connection.recv(1)


def test_a_silent_server_is_given_up(serve: Serve) -> None:
    server = serve(silent)
    with pytest.raises(Failed, match="the server was silent for too long"):
        Http(server.url, egress=LOOPBACK, read_timeout=0.1)(a_shard())


def test_where_nobody_listens_there_is_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Failed, match=f"no connection to 127.0.0.1:{port}: connection refused"):
        Http(f"http://127.0.0.1:{port}/", egress=LOOPBACK)(a_shard())


@contextmanager
def a_full_house() -> Iterator[int]:
    """The port of a listener that takes no more connections, so that whoever tries has to wait."""
    with socket.socket() as listener, ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            guest = stack.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_who_takes_no_connection_in_time_is_given_up() -> None:
    with a_full_house() as port, pytest.raises(Failed, match=r"no connection .* was silent for too long"):
        Http(f"http://127.0.0.1:{port}/", egress=LOOPBACK, connect_timeout=0.1)(a_shard())


# Being told to stop


def test_a_call_that_is_told_to_stop_hangs_up_and_is_cut_short(serve: Serve) -> None:
    asked, left = threading.Event(), threading.Event()

    def waits(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nsome")
        asked.set()
        if connection.recv(1) == b"":
            left.set()

    server, shard = serve(waits), a_shard()
    job = Http(server.url, egress=LOOPBACK, read_timeout=600)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(job, shard)
        assert asked.wait(60)
        shard.cancel()
        with pytest.raises(Cancelled, match="told to stop"):
            run.result()
    assert left.wait(60)


def test_a_call_is_told_to_stop_while_it_speaks_tls_and_while_it_connects(
    tls_certificates: Certificates,
) -> None:
    def told_to_stop(url: str) -> None:
        shard = a_shard()

        def resolve(host: str, port: int) -> list[str]:
            looked_up.set()
            return ["127.0.0.1"]

        egress = Egress(allow=("127.0.0.1",), resolve=resolve)
        job = Http(url, egress=egress, connect_timeout=600, read_timeout=600)
        looked_up = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(job, shard)
            assert looked_up.wait(60)
            shard.cancel()
            with pytest.raises(Cancelled):
                run.result()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        told_to_stop(f"https://shop.example:{silent.getsockname()[1]}/")
    with a_full_house() as port:
        told_to_stop(f"http://shop.example:{port}/")


def test_a_call_that_was_told_to_stop_before_it_began_is_not_made(serve: Serve) -> None:
    server, shard = serve(), a_shard()
    shard.cancel()
    with pytest.raises(Cancelled):
        Http(server.url, egress=LOOPBACK)(shard)
    assert server.requests == []


# TLS


def context_of(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server)
    return context


def test_a_certificate_of_an_authority_we_know_is_accepted_in_the_hosts_name(
    serve: Serve, tls_certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(context=context_of(tls_certificates))
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_certificates.authority))
    egress = Egress(allow=("127.0.0.1",), resolve=at_loopback)
    Http(f"https://localhost:{server.port}/", egress=egress)(a_shard())
    Http(server.url, egress=egress)(a_shard())
    assert len(server.requests) == 2


def test_a_certificate_for_another_name_or_of_an_unknown_authority_is_not(
    serve: Serve, tls_certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(context=context_of(tls_certificates))
    egress = Egress(allow=("127.0.0.1",), resolve=at_loopback)
    with pytest.raises(Failed, match=r"the server's certificate is not accepted: .*issuer|self"):
        Http(f"https://localhost:{server.port}/", egress=egress)(a_shard())
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_certificates.authority))
    with pytest.raises(Failed, match=r"not accepted: Hostname mismatch.*'shop\.example'"):
        Http(f"https://shop.example:{server.port}/", egress=egress)(a_shard())
    assert server.requests == []


def test_a_server_that_speaks_no_tls_is_told_nothing(serve: Serve) -> None:
    server = serve()
    with pytest.raises(Failed, match=r"TLS cannot be spoken with the server|silent for too long"):
        Http(f"https://127.0.0.1:{server.port}/?q={CANARY}", egress=LOOPBACK, connect_timeout=0.2)(a_shard())
    assert CANARY not in str(server.requests)


# Where nobody may call

INWARD = [
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7f.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://[::]:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://localhost:{port}/",
    "http://localhost.:{port}/",
    "HTTP://LOCALHOST:{port}/",
    "http://ⓛocalhost:{port}/",
    "http://①②⑦.0.0.1:{port}/",
    "http://127。0。0。1:{port}/",
    "http://%6c%6f%63alhost:{port}/",
    "http://public@127.0.0.1:{port}/",
    "http://public.example:80@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@public.example/",
    "http:\\\\127.0.0.1:{port}/",
    "http://public.example\\@127.0.0.1:{port}/",
    "http://public.example#@127.0.0.1:{port}/",
    "http://public.example?@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\t/",
    "http://127.0.0.1:{port}/ HTTP/1.1\r\nX: y",
    "http://rebound.example:{port}/",
    "http://mixed.example:{port}/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_stat",
    "ftp://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
]
METADATA = ["http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://100.100.100.200/"]


def a_bad_resolver() -> Callable[[str, int], list[str]]:
    """Names that lead inwards: one at once, one only for who asks twice, one besides a good address."""
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        if host == "rebound.example":
            # The first answer is to be refused as well, or the test would call the open internet.
            return ["192.0.2.1"] if asked.count(host) == 1 else ["127.0.0.1"]
        return {"mixed.example": ["192.0.2.1", "127.0.0.1"], "public.example": ["192.0.2.1"]}.get(
            host, ["127.0.0.1"]
        )

    return resolve


@pytest.mark.parametrize("url", [*INWARD, *METADATA])
def test_nobody_is_called_inwards_however_that_is_written(serve: Serve, url: str) -> None:
    server = serve()
    with pytest.raises((JobError, Failed), match=r"the URL |where jobs may not call"):
        Http(url.format(port=server.port), egress=Egress(resolve=a_bad_resolver()))(a_shard())
    assert server.connections == 0


@pytest.mark.parametrize("url", [*INWARD, *METADATA])
def test_nobody_is_called_inwards_by_reference_either(
    serve: Serve, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setenv("PLACE", url.format(port=server.port))
    with pytest.raises(Failed, match=r"^GET \$\{env:PLACE\}: (the URL|.*jobs may not call|the name)"):
        Http("${env:PLACE}", egress=Egress(resolve=a_bad_resolver()))(a_shard())
    assert server.connections == 0


@pytest.mark.parametrize("url", [*INWARD, *METADATA])
def test_nobody_is_sent_inwards(serve: Serve, url: str) -> None:
    inner = serve()
    outer = serve(says(302, b"", f"Location: {url.format(port=inner.port).partition(chr(13))[0]}"))
    egress = Egress(allow=(f"127.0.0.1:{outer.port}",), resolve=a_bad_resolver())
    with pytest.raises(Failed):
        Http(outer.url, egress=egress, redirects=True)(a_shard())
    assert inner.connections == 0


# Being sent elsewhere


def test_being_sent_elsewhere_is_a_failure_that_says_where(serve: Serve) -> None:
    inner = serve()
    outer = serve(says(302, b"", f"Location: {inner.url}/new?token={CANARY}"))
    with pytest.raises(Failed, match="give the address that is meant, or allow redirects") as failure:
        Http(outer.url, egress=LOOPBACK)(a_shard())
    assert f"it answered 302 and points to {inner.url}/new?***:" in str(failure.value)
    assert inner.connections == 0


def test_where_it_is_allowed_we_go_and_tell_another_origin_no_secret(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = serve()
    outer = serve(says(307, b"", f"Location: {inner.url}/new"))
    monkeypatch.setenv("PLAIN", CANARY)
    headers = {
        "Authorization": CANARY,
        "Cookie": CANARY,
        "X-Api-Key": CANARY,
        "X-P": "${env:PLAIN}",
        "X-Q": "q",
    }
    Http(outer.url, headers=headers, egress=LOOPBACK, redirects=True)(a_shard())
    assert outer.request.count(CANARY) == 4
    assert CANARY not in inner.request
    assert inner.request.startswith("GET /new HTTP/1.1\r\n")
    assert inner.header("X-Q") == ["q"]
    assert len(inner.header("shardingContext")) == 1


def sends_on(**answers: Reply) -> Reply:
    """A server with several pages."""

    def reply(connection: socket.socket, request: bytes) -> None:
        page = request.split(b" ")[1].decode().strip("/") or "home"
        answers[page](connection, request)

    return reply


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (307, "POST", "POST"),
        (308, "PUT", "PUT"),
        (301, "PUT", "PUT"),
    ],
)
def test_within_the_origin_everything_is_kept_but_what_the_status_takes(
    serve: Serve, status: int, method: str, then: str
) -> None:
    server = serve(sends_on(home=says(status, b"", "Location: /new"), new=says()))
    headers = {"Authorization": CANARY}
    job = Http(server.url, method, data="a=1", headers=headers, egress=LOOPBACK, redirects=True)
    assert job(a_shard()).content == b"done"
    assert server.requests[1].startswith(f"{then} /new HTTP/1.1\r\n".encode())
    assert server.requests[1].endswith(b"a=1") == (then != "GET")
    assert server.header("Authorization") == [CANARY]


def test_data_are_not_taken_to_another_origin(serve: Serve) -> None:
    inner = serve()
    outer = serve(says(307, b"", f"Location: {inner.url}/new"))
    with pytest.raises(
        Failed, match=r"it answered 307 and points to .*/new, where we do not go with the data"
    ):
        Http(outer.url, "POST", data="a=1", egress=LOOPBACK, redirects=True)(a_shard())
    assert inner.connections == 0


def test_encryption_is_not_given_up(
    serve: Serve, tls_certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = serve()
    outer = serve(says(302, b"", f"Location: {inner.url}/new"), context_of(tls_certificates))
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_certificates.authority))
    with pytest.raises(Failed, match="where we do not go without encryption"):
        Http(outer.url, egress=LOOPBACK, redirects=True)(a_shard())
    assert inner.connections == 0


def test_who_is_sent_round_in_circles_stops(serve: Serve) -> None:
    server = serve(says(302, b"", "Location: /again"))
    with pytest.raises(Failed, match="it was sent elsewhere more than 5 times"):
        Http(server.url, egress=LOOPBACK, redirects=True)(a_shard())
    assert server.connections == 6


@pytest.mark.parametrize("status", [300, 302, 304, 399])
def test_who_is_sent_nowhere_fails(serve: Serve, status: int) -> None:
    server = serve(says(status, b""))
    with pytest.raises(Failed, match=f"it answered {status}, and does not say where to go"):
        Http(server.url, egress=LOOPBACK, redirects=True)(a_shard())


# What is refused where it is declared


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"uri": ""}, "uri must be a text that begins with http"),
        ({"uri": None}, "uri must be a text"),
        (
            {"uri": "http://h/\r\nX: y"},
            "uri cannot be called: the URL holds a blank, a backslash or a control",
        ),
        ({"uri": "http://h/\0"}, "the URL holds a blank"),
        ({"uri": f"http://user:{CANARY}@h/"}, "the URL has a login in it: give it as a header, by reference"),
        ({"uri": "${env:1X}/"}, "must name a variable"),
        ({"method": "GET / HTTP/1.1\r\nX: y"}, "method must be one of GET, HEAD, OPTIONS, POST"),
        ({"method": "CONNECT"}, "method must be one of"),
        ({"method": 7}, "method must be one of"),
        ({"headers": {"X\r\nY": "z"}}, "headers may be named with letters, digits and - only"),
        ({"headers": {"X:": "z"}}, "headers may be named with"),
        ({"headers": {"": "z"}}, "headers may be named with"),
        ({"headers": {"X": "a\r\nY: z"}}, r"headers \['X'\] must be a text in ASCII on one line"),
        ({"headers": {"X": "a\nb"}}, "on one line"),
        ({"headers": {"X": "a\r b"}}, "on one line"),
        ({"headers": {"X": "a\0b"}}, "on one line"),
        ({"headers": {"X": "a\x0bb"}}, "on one line"),
        ({"headers": {"X": "ä"}}, "on one line"),
        ({"headers": {"X": 7}}, "on one line"),
        ({"headers": {"Host": "h"}}, "may not have Host, which is sent as the call needs it"),
        ({"headers": {"transfer-encoding": "chunked"}}, "may not have transfer-encoding"),
        ({"headers": {"shardingcontext": "{}"}}, "may not have shardingcontext"),
        ({"headers": "X: y"}, "headers are pairs of a name and a value"),
        ({"headers": 7}, "headers are pairs of a name and a value"),
        ({"content_type": "text/plain\r\nX: y"}, "content_type must be a text in ASCII on one line"),
        ({"data": "x"}, "GET sends no data: use one of POST, PUT"),
        ({"data": 7, "method": "POST"}, "data must be a text"),
        ({"data": "\ud800", "method": "POST"}, "data must be a text that UTF-8 can carry"),
        ({"connect_timeout": 0}, "connect_timeout must be a length of time above 0"),
        ({"read_timeout": float("inf")}, "read_timeout must be a length"),
        ({"read_timeout": True}, "read_timeout must be a length"),
        (
            {"read_timeout": 2_147_484.0},
            "read_timeout must be a length of time above 0, and of 24 days at most",
        ),
        ({"total_timeout": -1}, "total_timeout must be a length"),
        ({"response_limit": 0}, "response_limit must be a number of bytes, at least 1"),
        ({"uri": "ftp://h", "method": "X"}, "uri cannot be called: .*; method must be"),
    ],
)
def test_what_cannot_be_called_is_refused_where_it_is_declared(
    settings: dict[str, object], complaint: str
) -> None:
    with pytest.raises(JobError, match=complaint) as refusal:
        Http(**{"uri": "http://h/", **settings})  # type: ignore[arg-type]
    assert CANARY not in str(refusal.value)


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\0b", "ä"])
def test_a_header_that_turns_out_bad_when_its_reference_is_resolved_is_not_sent(
    serve: Serve, tmp_path: Path, value: str
) -> None:
    server, file = serve(), tmp_path / "secret"
    file.write_bytes(value.encode())
    job = Http(server.url, headers={"X-Y": f"${{file:{file}}}"}, egress=LOOPBACK)
    with pytest.raises(
        Failed, match="the header X-Y, as it was found by its reference, must be a text in ASCII"
    ):
        job(a_shard())
    assert server.connections == 0


def test_a_reference_to_nothing_fails_the_run(serve: Serve) -> None:
    server = serve()
    with pytest.raises(ConfigError, match=r"http\.data: \$\{env:NOT_THERE\} is not set"):
        Http(server.url, "POST", data="${env:NOT_THERE}", egress=LOOPBACK)(a_shard())
    assert server.connections == 0


def test_elasticjobs_properties_make_the_same_call() -> None:
    props = {
        "http.uri": "http://h/run",
        "http.method": "post",
        "http.data": "a=1",
        "http.content.type": "text/plain",
        "http.connect.timeout.milliseconds": "1500",
        "http.read.timeout.milliseconds": " 250 ",
        "email.host": "somebody else's",
    }
    assert Http.of_props(props, LOOPBACK) == Http(
        "http://h/run",
        "POST",
        data="a=1",
        content_type="text/plain",
        connect_timeout=1.5,
        read_timeout=0.25,
        egress=LOOPBACK,
    )


def test_elasticjobs_defaults_are_ours_and_data_that_would_not_be_sent_are_left_out() -> None:
    props = {"http.uri": "http://h/run", "http.method": "GET", "http.data": "a=1", "http.content.type": ""}
    assert Http.of_props(props) == Http("http://h/run", "GET", connect_timeout=3.0, read_timeout=5.0)


def test_every_fault_of_the_properties_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as refusal:
        Http.of_props(
            {
                "http.uri": f"http://user:{CANARY}@h/",
                "http.content.type": f"text/{CANARY}\r\nX: y",
                "http.connect.timeout.milliseconds": "0",
                "http.read.timeout.milliseconds": f"5s{CANARY}",
                "http.url": "http://h",
            }
        )
    assert str(refusal.value) == (
        "there is no setting 'http.url'; http.method is missing; "
        "http.uri cannot be called: the URL has a login in it: give it as a header, by reference; "
        "http.content.type must be a text in ASCII on one line, as a header carries nothing else; "
        "http.connect.timeout.milliseconds must be a length of time above 0, and of 24 days at most; "
        "http.read.timeout.milliseconds must be a length of time above 0, and of 24 days at most"
    )


# What nobody gets to see


def echoes(connection: socket.socket, request: bytes) -> None:
    says(500, b"{'you sent': " + request + b"}")(connection, request)


def echoes_in_broken_headers(connection: socket.socket, request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 500 " + request.split(b"\r\n")[0] + b"\r\nno header at all\r\n" + request)


def echoes_as_status(connection: socket.socket, request: bytes) -> None:
    connection.sendall(request)


def echoes_elsewhere(connection: socket.socket, request: bytes) -> None:
    target = request.split(b" ")[1].decode()
    says(302, b"", f"Location: http://127.0.0.1:1/moved{target}&again={CANARY}")(connection, request)


def hides_it_at_the_end(connection: socket.socket, request: bytes) -> None:
    says(500, b"x" * 90 + CANARY.encode())(connection, request)


@pytest.mark.parametrize(
    "reply",
    [echoes, echoes_in_broken_headers, echoes_as_status, echoes_elsewhere, hides_it_at_the_end, silent],
)
@pytest.mark.parametrize("redirects", [False, True])
def test_a_secret_is_in_no_repr_no_message_and_no_log(
    serve: Serve,
    reply: Reply,
    redirects: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server, file = serve(reply), tmp_path / "secret"
    file.write_text(CANARY)
    monkeypatch.setenv("CANARY", CANARY)
    monkeypatch.setenv("BELL", "\a")
    monkeypatch.setenv("HOOK", f"{server.url}/services/{CANARY}/x?t={CANARY}")
    common = {"egress": LOOPBACK, "redirects": redirects, "read_timeout": 0.2, "response_limit": 100}
    jobs = [
        Http(f"{server.url}/run?q={CANARY}", headers={"X-Api-Key": CANARY}, **common),  # type: ignore[arg-type]
        Http(f"{server.url}/?q=${{env:CANARY}}", headers={"X-A": f"<${{file:{file}}}>"}, **common),  # type: ignore[arg-type]
        Http(server.url, "POST", data="say ${env:CANARY}", **common),  # type: ignore[arg-type]
        Http("${env:HOOK}", headers={"Authorization": f"Bearer {CANARY}"}, **common),  # type: ignore[arg-type]
        Http("http://127.0.0.1:1/?q=${env:CANARY}", egress=LOOPBACK),
        Http("http://127.0.0.1:1/?q=${env:CANARY}"),
        Http("http://${env:CANARY}.example/", egress=Egress(resolve=at_loopback)),
        Http(f"{server.url}/?{CANARY}", **common),  # type: ignore[arg-type]
        Http(f"{server.url}/", headers={"X-Y": "${env:CANARY}\t${env:BELL}"}, **common),  # type: ignore[arg-type]
    ]
    beginning = CANARY[:8]
    for job in jobs:
        with pytest.raises(ShardwrightError) as failure:
            job(a_shard())
        logging.getLogger().error("as the runtime does", exc_info=failure.value)
        assert beginning not in f"{failure.value} {failure.value!r} {job!r} {job}"
        assert failure.value.__cause__ is None
        assert failure.value.__context__ is None
    assert len(caplog.records) >= len(jobs)
    assert beginning not in caplog.text
    assert beginning not in "".join(logging.Formatter().format(record) for record in caplog.records)


def test_what_the_server_says_stays_readable_around_a_secret(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "a/b c")
    server = serve(says(403, b'{"bad": "a/b c", "quoted": "a%2Fb%20c", "form": "a%2Fb+c"}'))
    with pytest.raises(Failed) as failure:
        Http(server.url, "POST", data="${env:TOKEN}", egress=LOOPBACK)(a_shard())
    assert str(failure.value).endswith('it answered 403: {"bad": "***", "quoted": "***", "form": "***"}')


def test_a_job_shows_where_it_calls_and_where_its_secrets_are() -> None:
    assert repr(Http("https://h/run?q=1#x", "post")) == "Http('https://h/run?***', 'POST')"
    assert repr(Http("${env:SHOP}/run")) == "Http('${env:SHOP}/run', 'GET')"


def test_urllib3_is_not_loaded_before_there_is_a_job() -> None:
    program = "import sys, shardwright.executors.http; print('urllib3' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert output.stdout == "False\n"
