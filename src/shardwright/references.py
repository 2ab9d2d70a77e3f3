"""References: a setting that says where its secret is, and how the process that needs it gets it.

`${env:NAME}` stands for a variable of the environment, `${file:/path}` for what a file holds; either may be
part of a longer text. A reference is what is written down, sent round and shown. It is resolved in the
process that uses it, at the moment of use; whoever resolves one keeps nothing of it.
"""

import os
import re
import stat
from collections.abc import Iterator

from .errors import ConfigError

#: The most a file may hold, in bytes: a secret is short, and a wrong path may name anything.
LARGEST = 64 * 1024

_REFERENCE = re.compile(r"\$\{(env|file):([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def has_any(value: str) -> bool:
    """Whether a text has a reference in it."""
    return _REFERENCE.search(value) is not None


def without(value: str) -> str:
    """The text with no reference in it: each is a mere word from now on."""
    return _REFERENCE.sub(lambda found: f"[{found[2]} is not for this]", value)


def faults(value: str, *, key: str) -> Iterator[str]:
    """What is wrong with the references in a text, a sentence each; nothing is resolved for it."""
    for reference in _REFERENCE.finditer(value):
        source, place = reference.groups()
        if source == "env" and not _NAME.fullmatch(place):
            yield f"{key}: {_shown(reference)} must name a variable: letters, digits and _"
        if source == "file" and (not place.startswith("/") or "\0" in place):
            yield f"{key}: {_shown(reference)} must be a path from the root, as in ${{file:/run/secrets/x}}"


def resolve(value: str, *, key: str) -> str:
    """The text with what its references stand for; that is taken as it is, also if it looks like one."""
    for fault in faults(value, key=key):
        raise ConfigError(fault)
    return _REFERENCE.sub(lambda reference: _found(reference, key), value)


def _found(reference: re.Match[str], key: str) -> str:
    source, place = reference.groups()
    if source == "file":
        return _content(reference, key)
    if place not in os.environ:
        raise ConfigError(f"{key}: {_shown(reference)} is not set in the environment of this process")
    return os.environ[place]


def _content(reference: re.Match[str], key: str) -> str:
    content, why = b"", ""
    try:
        content = _read(reference[2])
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
    if why:
        raise ConfigError(f"{key}: {_shown(reference)} cannot be read: {why}")
    if len(content) > LARGEST:
        raise ConfigError(
            f"{key}: {_shown(reference)} is larger than {LARGEST:,} bytes, too large to be meant"
        )
    text = content.decode(errors="replace")
    if text.encode(errors="replace") != content:  # told like this, as a decoder's own error quotes the secret
        raise ConfigError(f"{key}: {_shown(reference)} is not a text in UTF-8")
    return text.removesuffix("\n").removesuffix("\r")


def _read(path: str) -> bytes:
    # Without waiting: a pipe that nobody writes to would hold whoever opens it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no ordinary file")
        return os.read(descriptor, LARGEST + 1)
    finally:
        os.close(descriptor)


def _shown(reference: re.Match[str]) -> str:
    return reference[0][:200]
