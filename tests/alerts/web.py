"""A web server on loopback that remembers what was posted to it and answers as it is told to."""

import json
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.certificates import secured
from tests.recipes.heard import Heard


@dataclass(frozen=True)
class Posted:
    """One request, as it came over the wire."""

    target: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    context: ssl.SSLContext | None = None

    def get_request(self) -> tuple[socket.socket, object]:
        caller, address = super().get_request()
        if self.context is not None:
            caller = secured(self.context, caller, at_once=False)
        return caller, address


class Web:
    """In its context it listens at `url`. `certificate` makes it speak TLS."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.posted: Heard[Posted] = Heard()
        self.status = 200
        self.headers: dict[str, str] = {}
        self.answer: object = {"errcode": 0, "errmsg": "ok", "code": 0, "msg": "success"}
        self.is_silent = False
        self.drips = False
        """Whether it answers with a header that has no end, a letter now and then."""
        self._over = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        scheme = "http"
        if certificate is not None:
            scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.context = context
        self.url = f"{scheme}://localhost:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> "Web":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # whoever called has hung up, or does not trust us
                    super().handle()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.title(): value for name, value in self.headers.items()}
                web.posted(Posted(self.path, headers, body))
                if web.is_silent:
                    web._over.wait()
                    return
                if web.drips:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
                    while not web._over.wait(0.05):
                        self.wfile.write(b"x")
                    return
                answer = web.answer if isinstance(web.answer, bytes) else json.dumps(web.answer).encode()
                self.send_response(web.status)
                for name, value in web.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
