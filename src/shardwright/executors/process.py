"""Processes: a function that runs in a fresh interpreter of its own for each shard.

It may crash, leak, hold the interpreter's lock or never come back: nobody else is touched, and unlike a
thread it can be ended. The child finds the function by the names of its module and its own, so it must be one
that can be imported. A function of the script that was started (`__main__`) is found by importing that script
under another name, as multiprocessing does: what starts the scheduler there must stand below
`if __name__ == "__main__":`.

Nothing is pickled. The shard goes to the child as JSON by its standard input; by a socket, its file 3, the
child says in lines of JSON what it logs, what it saves and how it ended, and hears until when its lease
lasts. That it is to stop it hears as SIGTERM. It has the whole environment of its parent, being the same
application.
"""

import importlib
import importlib.util
import inspect
import json
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from ..clock import BOOT
from ..errors import Cancelled, Failed, JobError
from ..shard import Shard
from . import child

log = logging.getLogger(__name__)

#: How much of a message or a traceback is told to the parent, in characters.
LONGEST_TEXT = 32 * 1024
#: What the script that was started is called where it is imported once more.
MAIN = "__mp_main__"

_TALK = 3
_BEGIN = (
    "import json, sys; told = json.load(sys.stdin.buffer); sys.path[:] = told['path']; "
    "from shardwright.executors.process import main; main(told)"
)


class Isolated:
    """A body that runs a function in a process of its own.

    `grace`: for how many seconds it may go on when told to stop. `bound`: whether it ends with its lease.
    """

    def __init__(
        self, function: Callable[[Shard], object], *, grace: float = 5.0, bound: bool = True
    ) -> None:
        self.function = function
        self.grace, self.bound = grace, bound
        self._place = place_of(function)

    def __repr__(self) -> str:
        return f"<Isolated {self._place['module']}.{self._place['function']}>"

    def __call__(self, shard: Shard) -> None:
        told = f"{shard.job_name}, shard {shard.item}"
        parent = Parent(shard)
        ended = child.run(shard, self._program(shard), parent.printed, parent.said)
        match parent.answer:
            case {"returned": _} if ended.code == 0:
                return
            case {"cancelled": str(why)}:
                raise Cancelled(why)
            case {"failed": str(what), "traceback": str(where)}:
                error = Failed(f"{told}: {shard.masked(what)}")
                error.add_note(shard.masked(where))
                raise error
        if ended.stopped:
            raise Cancelled(f"{told}: its process was told to stop, and {ended.how}")
        raise Failed(f"{told}: its process {ended.how} {parent.when}")

    def _program(self, shard: Shard) -> child.Program:
        told = {
            **self._place,
            "shard": json.loads(shard.as_json()),
            "until": child.boot() + shard.lease_left,
            "path": sys.path,
            "argv": sys.argv,
            "level": logging.getLogger().getEffectiveLevel(),
        }
        # The last words are for those who look at a list of processes.
        argv = [sys.executable, "-c", _BEGIN, f"{shard.job_name}/{shard.item}".replace("\0", "")]
        return child.Program(
            argv, dict(os.environ), stdin=json.dumps(told).encode(), grace=self.grace, bound=self.bound
        )


def place_of(function: Callable[[Shard], object]) -> dict[str, str]:
    """Where another process finds a function; refused where it could not."""
    if not inspect.isfunction(function):
        raise JobError(f"{function!r} cannot run in a process of its own: give a plain function of a module")
    name, module = function.__qualname__, function.__module__
    if "<" in name:
        raise JobError(
            f"{name} cannot run in a process of its own, which could not find it: "
            "define it with `def` at the top of a module, and hand over what it needs by the job's parameter"
        )
    if inspect.iscoroutinefunction(function):
        raise JobError(
            f"{name} is a coroutine, which is not run in a process: call asyncio.run in a plain function"
        )
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise JobError(
            f"{name} must take the shard and nothing else, not {inspect.signature(function)}"
        ) from None
    if module != "__main__":
        return {"module": module, "function": name, "file": ""}
    return {"function": name, **_place_of_main(name)}


def _place_of_main(name: str) -> dict[str, str]:
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # python -m package.module
        return {"module": main.__spec__.name, "file": ""}
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        raise JobError(
            f"{name} cannot run in a process of its own, which could not find it: put it in a module"
        )
    return {"module": MAIN, "file": str(Path(file).resolve())}


class Parent:
    """What the parent makes of what the child prints and says."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self.answer: Mapping[str, object] = {}

    @property
    def when(self) -> str:
        return "after its function returned" if self.answer else "before its function returned"

    def printed(self, stream: str, line: str) -> None:
        log.info("%s: shard %d: %s", self._shard.job_name, self._shard.item, self._shard.masked(line))

    def said(self, line: str) -> None:
        try:
            word = json.loads(line)
        except ValueError:
            word = None
        match word:
            case {"save": str(checkpoint)}:
                self._shard.save(checkpoint)
            case {"log": str(message), "logger": str(logger), "level": int(level)}:
                self._log(logging.getLogger(logger), level, message, word)
            case {"returned": _} | {"cancelled": str()} | {"failed": str(), "traceback": str()}:
                self.answer = word
            case _:
                log.warning(
                    "%s: shard %d: said what is not understood: %.100r",
                    *(self._shard.job_name, self._shard.item, line),
                )

    def _log(self, logger: logging.Logger, level: int, message: str, word: Mapping[str, object]) -> None:
        if not logger.isEnabledFor(level):
            return
        shard = self._shard
        args = (shard.job_name, shard.item, message)
        file, line = str(word.get("file", "")), word.get("line", 0)
        record = logger.makeRecord(
            *(logger.name, level, file, line if isinstance(line, int) else 0, "%s: shard %d: %s", args, None),
            extra={"job": shard.job_name, "shard": shard.item},
        )
        logger.handle(record)


# The child's side

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
        self._lock = threading.Lock()

    def say(self, **word: object) -> None:
        with self._lock:
            self._talk.sendall(json.dumps(word).encode() + b"\n")

    def save(self, checkpoint: str) -> None:
        self.say(save=checkpoint)

    def lease(self) -> float:
        return self._until - time.clock_gettime(BOOT)

    def listen(self, shard: Shard) -> None:
        """Hear of the lease and of the order to stop, in a thread of its own: the function may be busy."""
        heard, hears = socket.socketpair()
        hears.setblocking(False)
        # The interpreter calls a handler only between two steps of the main thread; this it does at once.
        signal.set_wakeup_fd(hears.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: shard.cancelled or hears.send(b"\0"))
        threading.Thread(target=self._hear, args=(heard, shard), name="shardwright-line", daemon=True).start()

    def _hear(self, signals: socket.socket, shard: Shard) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._talk, selectors.EVENT_READ)
            selector.register(signals, selectors.EVENT_READ)
            lines = child.Lines(self._renew)
            while True:
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 16)
                    if key.fileobj is self._talk and data:
                        lines.feed(data)
                    elif not data or signal.SIGTERM in data or 0 in data:
                        shard.cancel()
                    if not data:
                        return

    def _renew(self, line: str) -> None:
        self._until = float(line)


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
    shard = Shard(**_fields(told["shard"]), _lease=line.lease, _save=line.save)
    line.listen(shard)
    try:
        _find(told)(shard)
    except Cancelled as error:
        line.say(cancelled=_cut(str(error)))
    except BaseException as error:
        what = "".join(traceback.format_exception_only(error)).strip()
        where = "".join(traceback.format_exception(error.with_traceback(_theirs(error))))
        line.say(failed=_cut(what), traceback=_cut(where))
    else:
        line.say(returned=True)


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
