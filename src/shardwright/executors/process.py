"""Processes: a function that runs in a fresh interpreter of its own for each shard.

It may crash, leak, hold the interpreter's lock or never come back: nobody else is touched, and unlike a
thread it can be ended. The child finds the function by the names of its module and its own, so it must be one
that can be imported. A function of the script that was started (`__main__`) is found by importing that script
under another name, as multiprocessing does: what starts the scheduler there must stand below
`if __name__ == "__main__":`.

Nothing is pickled. The shard goes to the child as JSON by its standard input; by a socket, its file 3, the
child says in lines of JSON what it logs, what it saves and how it ended, and hears until when its lease
lasts. That it is to stop it hears as SIGTERM, and it alone: its forks, and programs it has started, are its
own to end, and are killed with it. It has the whole environment of its parent, being the same application.
"""

import inspect
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import Cancelled, Failed, JobError
from ..shard import Shard
from . import child

log = logging.getLogger(__name__)

#: What the script that was started is called where it is imported once more.
MAIN = "__mp_main__"

_BEGIN = (
    "import json, sys; told = json.load(sys.stdin.buffer); sys.path[:] = told['path']; "
    "from shardwright.executors.inside import main; main(told)"
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
            "path": [each for each in sys.path if isinstance(each, str)],  # as Python's own import does
            "argv": [str(each) for each in sys.argv],
            "level": logging.getLogger().getEffectiveLevel(),
        }
        # The last words are for those who look at a list of processes.
        argv = [sys.executable, "-c", _BEGIN, f"{shard.job_name}/{shard.item}".replace("\0", "")]
        return child.Program(
            argv,
            dict(os.environ),
            stdin=json.dumps(told).encode(),
            grace=self.grace,
            alone=True,  # its workers may be in the midst of what it needs to come to its end
            bound=self.bound,
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
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise JobError(f"{name} yields, so calling it runs nothing of it: have it return")
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
    if main.__spec__ is not None and main.__spec__.name != "__main__":  # python -m package.module
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
