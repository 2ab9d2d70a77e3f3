"""A small reverse proxy, as an operator has one: the console below a path of a larger site.

It hands on what comes for `/ops/shards/…` and knows nothing else. What is streamed is handed on as it comes.
"""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

#: What belongs to one connection alone.
HOPS = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "content-length"}


class SubPath:
    """A server that has the console below a path."""

    def __init__(self, behind: str, path: str = "/ops/shards") -> None:
        target = urlsplit(behind)
        assert target.hostname is not None
        assert target.port is not None
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.path, self._server.target = path, (target.hostname, target.port)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{path}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    path: str
    target: tuple[str, int]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _hand_on(self) -> None:
        if not self.path.startswith(f"{self.server.path}/"):
            self.send_error(404)
            return
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOPS}
        headers["X-Forwarded-Host"] = self.headers["Host"]
        headers["X-Forwarded-Proto"] = "http"
        headers["X-Forwarded-Prefix"] = self.server.path
        connection = http.client.HTTPConnection(*self.server.target, timeout=60)
        try:
            connection.request(self.command, self.path.removeprefix(self.server.path), body, headers)
            self._answer(connection.getresponse())
        except OSError:  # the browser has left, or the console has
            self.close_connection = True
        finally:
            connection.close()

    def _answer(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOPS:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while part := answer.read1(65536):
            self.wfile.write(part)
            self.wfile.flush()

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = _hand_on  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""
