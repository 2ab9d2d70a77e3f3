"""Processes that a test starts, remembers, and may kill, freeze and thaw. None outlives the test run.

    with Child(worker, "zookeeper://127.0.0.1:2181", 4) as child:
        child.expect("ready")
        child.stop()

`worker` is a function of an importable module (one that imports no pytest starts in a tenth of a second),
called in an interpreter of its own. The test waits for what it prints, with a deadline and without a sleep.
"""

import atexit
import contextlib
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

ROOT = Path(__file__).parents[2]

# The kernel kills a tethered process when the thread that started it ends, however that comes about.
TETHER = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []

Argument = str | int | float | bool | None


class Process:
    """A program that dies, and all it started with it, when its block or the test run ends."""

    def __init__(
        self,
        command: Iterable[str],
        *,
        output: int | IO[bytes] = subprocess.DEVNULL,
        listens: bool = False,
        env: Mapping[str, str] | None = None,
        folder: Path = ROOT,
    ) -> None:
        self._popen = subprocess.Popen(
            [*TETHER, *command],
            stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        self.pid = self._popen.pid
        atexit.register(self.close)

    def alive(self) -> bool:
        return self._popen.poll() is None

    def wait(self, within: float = 10.0) -> int:
        """The exit code, negative for a signal. Raises TimeoutError if the process is still there by then."""
        try:
            return self._popen.wait(within)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"process {self.pid} is still running after {within} s") from None

    def terminate(self, within: float = 10.0) -> int:
        """Ask politely, also one that is stopped."""
        self._popen.terminate()
        self._popen.send_signal(signal.SIGCONT)
        return self.wait(within)

    def tell(self, line: str) -> None:
        """Write a line to its standard input, if it was started as one that listens."""
        assert self._popen.stdin is not None, f"process {self.pid} does not listen"
        self._popen.stdin.write(f"{line}\n".encode())
        self._popen.stdin.flush()

    def kill(self) -> None:
        """`kill -9`: this process only, what it started lives on. Harmless if it is dead already."""
        self._popen.kill()
        self._popen.wait()

    def stop(self) -> None:
        """Freeze it (SIGSTOP); it stands still when this returns."""
        self._popen.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def cont(self) -> None:
        """Thaw it (SIGCONT)."""
        self._popen.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and whatever it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        if self._popen.stdin is not None:
            self._popen.stdin.close()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Child(Process):
    """A Python function, or a module by its name, or a script by its path, running in an interpreter of its
    own."""

    def __init__(
        self,
        what: Callable[..., object] | str,
        *args: Argument,
        listens: bool = False,
        env: Mapping[str, str] | None = None,
        folder: Path = ROOT,
    ) -> None:
        super().__init__(
            [sys.executable, "-u", "-X", "faulthandler", *_to_run(what, args)],
            output=subprocess.PIPE,
            listens=listens,
            env=env,
            folder=folder,
        )
        self.lines: list[str] = []
        self._read = 0
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._collect, name=f"output of {self.pid}", daemon=True)
        self._reader.start()

    def expect(self, text: str, within: float = 10.0) -> str:
        """The next line of output that contains the text; the lines before it are passed over."""
        deadline = time.monotonic() + within
        with self._news:
            while True:
                while self._read < len(self.lines):
                    self._read += 1
                    if text in self.lines[self._read - 1]:
                        return self.lines[self._read - 1]
                if self._ended or not self._news.wait(deadline - time.monotonic()):
                    why = "ended" if self._ended else f"took more than {within} s"
                    raise AssertionError(
                        f"the child {why} without printing {text!r}; it printed:\n" + "\n".join(self.lines)
                    )

    def close(self) -> None:
        super().close()
        self._reader.join(5)  # not for ever: somebody who left the group may still hold the pipe

    def _collect(self) -> None:
        assert self._popen.stdout is not None
        with self._popen.stdout as output:
            for line in output:
                with self._news:
                    self.lines.append(line.decode(errors="replace").rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


def _to_run(what: Callable[..., object] | str, args: tuple[Argument, ...]) -> list[str]:
    if isinstance(what, str):
        return [*([] if what.endswith(".py") else ["-m"]), what, *map(str, args)]
    return ["-m", "tests.faults.processes", what.__module__, what.__qualname__, json.dumps(args)]


def _run(module: str, function: str, args: str) -> None:
    """The child's side: call the function."""
    target = importlib.import_module(module)
    for name in function.split("."):
        target = getattr(target, name)
    target(*json.loads(args))  # type: ignore[operator]


if __name__ == "__main__":
    _run(*sys.argv[1:])
