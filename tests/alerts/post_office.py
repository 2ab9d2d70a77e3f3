"""A mail server on loopback that remembers the letters it took and refuses what it is told to."""

import base64
import socket
import ssl
import threading
from dataclasses import dataclass, replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import BinaryIO

from tests.certificates import secured
from tests.recipes.heard import Heard


@dataclass(frozen=True)
class Letter:
    """What was handed in: the envelope, how it came, and the letter to the last byte."""

    sender: str = ""
    recipients: tuple[str, ...] = ()
    raw: bytes = b""
    login: str = ""
    is_safe: bool = False

    def read(self) -> EmailMessage:
        read = message_from_bytes(self.raw, policy=policy.default)
        assert isinstance(read, EmailMessage)
        return read

    def text(self) -> str:
        return str(self.read().get_content()).replace("\r\n", "\n").removesuffix("\n")


class PostOffice:
    """In its context it listens on `port`. `refusals` has its answer to a command, by how that begins;
    `certificate` makes it speak TLS, at once or when asked to by STARTTLS."""

    def __init__(self, certificate: Path | None = None, *, starttls: bool = False, auth: bool = True) -> None:
        self.letters: Heard[Letter] = Heard()
        self.refusals: dict[str, str] = {}
        self.is_silent = False
        self._auth = auth
        self._starttls = starttls
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate is not None else None
        if self._context is not None and certificate is not None:
            self._context.load_cert_chain(certificate)
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "PostOffice":
        self._threads.append(threading.Thread(target=self._listen))
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(caller,)))
            self._threads[-1].start()

    def _serve(self, caller: socket.socket) -> None:
        caller.settimeout(20)
        with caller:
            try:
                if self.is_silent:
                    self._over.wait()
                elif self._context is not None and not self._starttls:
                    with secured(self._context, caller) as safe:
                        self._talk(safe, Letter(is_safe=True), greet=True)
                else:
                    self._talk(caller, Letter(), greet=True)
            except OSError:
                pass  # whoever called has hung up, or does not trust us

    def _talk(self, caller: socket.socket, letter: Letter, *, greet: bool) -> None:
        def say(answer: str) -> None:
            caller.sendall(f"{answer}\r\n".encode())

        if greet:
            say("220 here")
        with caller.makefile("rb") as lines:
            while line := lines.readline().decode(errors="replace").rstrip("\r\n"):
                command = line.upper()
                refusal = next(
                    (told for begin, told in self.refusals.items() if command.startswith(begin)), ""
                )
                if refusal:
                    say(refusal)
                elif command.startswith("EHLO"):
                    say("\r\n".join(["250-here", *self._offers(letter), "250 8BITMIME"]))
                elif command == "STARTTLS" and self._context is not None:
                    say("220 go ahead")
                    with secured(self._context, caller) as safe:
                        return self._talk(safe, replace(letter, is_safe=True), greet=False)
                elif command.startswith("AUTH PLAIN"):
                    login = base64.b64decode(line.split()[2]).decode().replace("\0", ":").strip(":")
                    letter = replace(letter, login=login)
                    say("235 welcome")
                elif command.startswith("MAIL FROM:"):
                    letter = replace(letter, sender=_address(line))
                    say("250 ok")
                elif command.startswith("RCPT TO:"):
                    letter = replace(letter, recipients=(*letter.recipients, _address(line)))
                    say("250 ok")
                elif command == "DATA":
                    say("354 go on")
                    self.letters(replace(letter, raw=_until_a_dot(lines)))
                    say("250 taken")
                elif command == "QUIT":
                    say("221 bye")
                    return None
                else:
                    say("250 ok")
        return None

    def _offers(self, letter: Letter) -> list[str]:
        starttls = ["250-STARTTLS"] if self._starttls and not letter.is_safe else []
        return [*starttls, *(["250-AUTH PLAIN"] if self._auth else [])]


def _address(line: str) -> str:
    return line.partition("<")[2].partition(">")[0]


def _until_a_dot(lines: BinaryIO) -> bytes:
    raw = b""
    while (line := lines.readline()) not in (b".\r\n", b""):
        raw += line.removeprefix(b".") if line.startswith(b"..") else line
    return raw
