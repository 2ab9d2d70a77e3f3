"""Certificates for tests of TLS: an authority, a server on loopback and a client, made by openssl."""

import shutil
import socket
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificates:
    """Where they are. A key and its certificate share a PEM file; kazoo wants to be told twice, as both."""

    authority: Path
    server: Path
    client: Path


def missing() -> str | None:
    """Why there can be none, in one line; None if there can."""
    return (
        None if shutil.which("openssl") else "no openssl to make certificates with: run `make setup` as root"
    )


def make(directory: Path) -> Certificates:
    """A new set, each call under an authority of its own."""
    authority = _issue(directory, "authority")
    return Certificates(
        authority=authority,
        server=_issue(directory, "server", "-CA", authority, "-CAkey", authority),
        client=_issue(directory, "client", "-CA", authority, "-CAkey", authority),
    )


def _issue(directory: Path, name: str, *signed_by: str | Path) -> Path:
    key, certificate, both = directory / f"{name}.key", directory / f"{name}.crt", directory / f"{name}.pem"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    who = ("-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2")
    where = ("-keyout", key, "-out", certificate)
    subprocess.run(
        ["openssl", "req", "-x509", *curve, *who, *where, *signed_by], check=True, capture_output=True
    )
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


def secured(context: ssl.SSLContext, caller: socket.socket, *, at_once: bool = True) -> ssl.SSLSocket:
    """A caller's connection with TLS on it. Python loses a connection, open, whose caller is gone already."""
    try:
        caller.getpeername()
    except OSError:
        caller.close()
        raise
    return context.wrap_socket(caller, server_side=True, do_handshake_on_connect=at_once)
