"""Inside a process of its own: how the child of `process.py` finds its function, runs it, and says how that
went.

It is told what to run as JSON by its standard input; its line to the parent is a socket, its file 3.
"""

import importlib
import importlib.util
import json
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import datetime
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import signals
from ..errors import Cancelled
from ..shard import Shard
from .child import boot
from .lines import Lines
from .process import MAIN, Isolated

log = logging.getLogger(__name__)

#: How much of a message or a traceback is told to the parent, in characters.
LONGEST_TEXT = 32 * 1024

_TALK = 3

_is_child = False


def is_child() -> bool:
    """Whether this process is one that runs a function for a shard: no scheduler should start in it, although
    the script it imports may ask for one."""
    return _is_child


class Line:
    """The line to the parent."""

    def __init__(self, talk: socket.socket, until: float) -> None:
        self._talk = talk
        self._until = until
        self._moves = False
        self._be_free()
        os.register_at_fork(after_in_child=self._be_free)

    def _be_free(self) -> None:
        """Nobody speaks: as it was made, and in a fork, where whoever speaks is not there."""
        self._lock = threading.Lock()

    def say(self, **word: object) -> None:
        with self._lock:
            self._talk.sendall(json.dumps(word).encode() + b"\n")

    def save(self, checkpoint: str) -> None:
        self.say(save=checkpoint)

    def lease(self) -> float:
        return self._until - boot()

    def to_move(self) -> bool:
        return self._moves

    def listen(self, shard: Shard) -> None:
        """Hear of the lease and of the order to stop, in a thread of its own: the function may be busy."""
        heard, hears = socket.socketpair()
        hears.setblocking(False)
        signals.hear({signal.SIGTERM: lambda *_: shard.cancelled or hears.send(b"\0")}, hears)
        threading.Thread(target=self._hear, args=(heard, shard), name="shardwright-line", daemon=True).start()

    def _hear(self, heard: socket.socket, shard: Shard) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._talk, selectors.EVENT_READ)
            selector.register(heard, selectors.EVENT_READ)
            lines = Lines(self._renew)
            while True:
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 16)
                    if key.fileobj is self._talk and data:
                        lines.feed(data)
                    elif not data or signal.SIGTERM in data or 0 in data:
                        _cancel(shard)
                    if not data:
                        return

    def _renew(self, line: str) -> None:
        until, _, moves = line.partition(" ")
        self._until, self._moves = float(until), bool(moves)


def _cancel(shard: Shard) -> None:
    try:
        shard.cancel()
    except Exception:  # what the function does about it is called here, and we must go on listening
        log.exception("it failed when told to stop")


class Logs(logging.Handler):
    """Hands on to the parent what is logged."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._line.say(
                log=_cut(self.format(record)),
                logger=record.name,
                level=record.levelno,
                file=record.pathname,
                line=record.lineno,
            )
        except Exception:
            self.handleError(record)


def main(told: dict[str, Any]) -> None:
    """Run the function, and say how it ended."""
    global _is_child
    _is_child = True
    line = _become_a_child(told)
    shard = Shard(**_fields(told["shard"]), _lease=line.lease, _save=line.save, _to_move=line.to_move)
    line.listen(shard)
    ours = os.getpid()
    try:
        _find(told)(shard)
    except BaseException as error:
        if os.getpid() != ours:  # a fork of it, which has its own end and nobody to tell
            raise
        line.say(**_told_of(error))
    else:
        if os.getpid() == ours:
            line.say(returned=True)


def _told_of(error: BaseException) -> dict[str, str]:
    if isinstance(error, Cancelled):
        return {"cancelled": _cut(str(error))}
    what = "".join(traceback.format_exception_only(error)).strip()
    where = "".join(traceback.format_exception(error.with_traceback(_theirs(error))))
    return {"failed": _cut(what), "traceback": _cut(where)}


def _become_a_child(told: dict[str, Any]) -> Line:
    talk = socket.socket(fileno=_TALK)
    talk.set_inheritable(False)
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv = told["argv"]
    line = Line(talk, told["until"])
    logging.basicConfig(level=told["level"], format="%(message)s", handlers=[Logs(line)])
    return line


def _fields(shard: dict[str, Any]) -> dict[str, Any]:
    fire = shard["fire_time"]
    return {**shard, "fire_time": datetime.fromisoformat(fire) if fire is not None else None}


def _find(told: dict[str, Any]) -> Callable[[Shard], object]:
    found: Any = _main_module(told["file"]) if told["file"] else importlib.import_module(told["module"])
    for name in told["function"].split("."):
        found = getattr(found, name)
    # The name may stand for the body that was made of the function.
    function: Callable[[Shard], object] = found.function if isinstance(found, Isolated) else found
    return function


def _main_module(file: str) -> ModuleType:
    loader = SourceFileLoader(MAIN, file)
    spec = importlib.util.spec_from_loader(MAIN, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MAIN] = sys.modules["__main__"] = module
    loader.exec_module(module)
    return module


def _theirs(error: BaseException) -> Any:
    """The traceback without the step that is ours."""
    trace = error.__traceback__
    return trace.tb_next if trace is not None and trace.tb_next is not None else trace


def _cut(text: str) -> str:
    return (
        text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT // 2]}\n…\n{text[-LONGEST_TEXT // 2 :]}"
    )
