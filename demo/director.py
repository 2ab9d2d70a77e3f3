"""The director: starts the processes, listens to them, kills one at its work, and says what it saw."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .service import SHARDS
from .stage import Run, Stage

PROCESSES = 3

#: For how many seconds each act may last: machines are slow, and a server needs its time to see a death.
PATIENCE = 90.0


class Director:
    """Three processes on one registry. `show` is called whenever there is something new to see."""

    def __init__(
        self, registry: str, folder: Path, say: Callable[[str], None], show: Callable[[], None]
    ) -> None:
        self.stage = Stage()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._registry, self._folder, self._say, self._show = registry, folder, say, show
        self._console: subprocess.Popen[bytes] | None = None
        self._heard: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()

    def play(self) -> Run:
        """All acts, up to the fire after the one that was disturbed; gives back what was taken over last."""
        for _ in range(PROCESSES):
            self._start()
        self._say(f"{PROCESSES} processes share {SHARDS} shards; the first fire comes within ten seconds")
        self._open_console()
        self._until(self._is_shared, "all processes have run some of the shards")
        self._say("every process has run some of them, each shard once; in the next fire one is killed")
        before = set(self.stage.fires())
        self._until(lambda: self._busiest(before) is not None, "somebody works on the next fire")
        victim = self._busiest(before)
        assert victim is not None
        shards = sorted(run.shard for run in self.stage.running(victim))
        self._kill(victim)
        self._say(f"killed: {victim}, in the midst of shards {_listed(shards)}")
        self._until(self._is_taken_over, "others go on with its shards")
        heirs = [heir for orphan in self.stage.orphans() if (heir := self.stage.heir(orphan)) is not None]
        for heir in heirs:
            took = heir.began - self.stage.killed[victim]
            self._say(f"shard {heir.shard} goes on in {heir.by}, for the same fire, after {took:.1f} s")
        disturbed = max(heir.fire for heir in heirs)
        self._until(lambda: any(fire > disturbed for fire in self.stage.fires()), "the next fire is complete")
        return heirs[-1]

    def stay(self) -> None:
        """Go on until interrupted."""
        self._say("it goes on as long as you like: Ctrl-C ends it")
        while True:
            self._listen(1.0)

    def end(self) -> None:
        """End all that still runs, in order."""
        if self._console is not None:
            self._console.terminate()
            self._console.wait()
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait()

    def summary(self) -> list[str]:
        """What was seen, in sentences."""
        stage = self.stage
        taken = [run for run in stage.runs.values() if run.tries > 1 and run.ended]
        return [
            f"{len(stage.fires())} fires of {SHARDS} shards, on {PROCESSES} processes (one was killed)",
            f"{len(taken)} shards were taken over and finished in the same fire",
            f"{len(stage.twice())} were finished twice, {len(stage.lost())} were lost",
        ]

    def went_well(self) -> bool:
        return not self.stage.twice() and not self.stage.lost()

    # -- the processes ------------------------------------------------------------------------------

    def _start(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "demo.service"],
            env={**os.environ, "SHARDWRIGHT_REGISTRY": self._registry},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        name = f"process {process.pid}"
        self.processes[name] = process
        threading.Thread(target=self._collect, args=(name, process), daemon=True).start()

    def _open_console(self) -> None:
        """Have the web console show the same, for whoever wants to look at it there."""
        self._until(lambda: bool(self.stage.runs), "the first fire has come")  # no registry is there before
        self._console = subprocess.Popen(
            [
                *(sys.executable, "-m", "shardwright", "console", "--port=0"),
                *(f"--registry=demo={self._registry}", f"--accounts={self._folder / 'accounts.json'}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._console.stdout is not None
        # It prints where it is, and then the token; nothing at all if it could not start.
        for line in (self._console.stdout.readline() for _ in range(2)):
            if line:
                self._say(line.decode().strip())

    def _collect(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._heard.put((name, line))

    def _kill(self, who: str) -> None:
        self.processes[who].kill()
        self.processes[who].wait()
        self.stage.kill(who, time.monotonic())

    # -- waiting ------------------------------------------------------------------------------------

    def _until(self, seen: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not seen():
            if time.monotonic() > end:
                raise TimeoutError(f"waited {PATIENCE:g} s until {what}")
            self._listen(0.2)

    def _listen(self, seconds: float) -> None:
        """Hear what there is to hear, waiting a while for it."""
        try:
            who, line = self._heard.get(timeout=seconds)
        except queue.Empty:
            for name, process in self.processes.items():
                if process.poll() is not None and name not in self.stage.killed:
                    raise RuntimeError(f"{name} ended by itself, with code {process.returncode}") from None
        else:
            if line.startswith(b"{"):
                self.stage.hear(who, json.loads(line), time.monotonic())
        self._show()

    def _is_shared(self) -> bool:
        """Whether one fire was run by all."""
        return any(len({run.by for run in self.stage.of(fire)}) == PROCESSES for fire in self.stage.fires())

    def _busiest(self, before: set[str]) -> str | None:
        """Who works on most shards of a fire that is not among these, once all of it has begun."""
        for fire in {run.fire for run in self.stage.runs.values()} - before:
            runs = self.stage.of(fire)
            if len(runs) == SHARDS and not any(run.ended for run in runs):
                return max((run.by for run in runs), key=lambda who: len(self.stage.running(who)))
        return None

    def _is_taken_over(self) -> bool:
        heirs = [self.stage.heir(orphan) for orphan in self.stage.orphans()]
        return bool(heirs) and all(heir is not None and heir.ended for heir in heirs)


def _listed(shards: list[int]) -> str:
    return " and ".join(map(str, shards))
