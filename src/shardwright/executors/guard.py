"""The guard: a small process beside a scheduler that starts its children, and ends them when it must.

A child ends, with its whole process group, when its lease runs out, when it is told to stop and does not, and
when nobody is left who wants it: the scheduler may be killed (then the sockets close) or stopped (then no
lease is renewed), and its children end all the same. If the guard itself is killed, the kernel ends them.

It is started by its path (`python -I -S guard.py PID-OF-THE-SCHEDULER`) in a session of its own, loads
nothing but the standard library, and has a single thread: so it may fork, which the scheduler may not. Its
standard input is a socket by which each run arrives as one byte and the open files that go with it: a channel
for the run, what becomes the child's files 0, 1, 2 and so on, and maybe the program itself. Then, by lines:

    over the channel, to the guard    {"argv": …}            what to start: see `Run.begin`
                                      lease 4711.2           until when it may run, by the boot clock
                                      stop                   SIGTERM, and SIGKILL after the grace
                                      kill                   SIGKILL
    and back                          taken                  it is about to be started: until then nothing was
                                      started 4242           the number of the process
                                      refused 13             why not, as an errno
                                      ended -9 lease         how it ended (negative: the signal), and why:
                                                             of itself (-), by stop, or by lease

A channel that closes ends its run. Who leaves the group (setsid) is not found any more: only a container or a
cgroup would hold such a one. Without Linux's prctl and pidfd a guard that is killed leaves its children to
the scheduler, and a scheduler's death is seen within half a second at the latest.
"""

import contextlib
import ctypes
import fcntl
import json
import math
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any, NoReturn

BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

#: How many seconds before the lease ends a child is killed: a signal takes its time on a busy machine.
EARLY = 0.05
#: Which part of the lease, at its end, a child has to stop of its own accord.
NOTICE = 0.1
#: How often to look whether the scheduler lives, where the kernel does not say.
LOOK = 0.5

MOST_FILES = 16
PR_SET_PDEATHSIG = 1
UNHEARD = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
# What is not as the kernel would have it: the first is our doing, the others are Python's.
CHANGED = (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)


class Gone(Exception):
    """The scheduler is no more."""


class Run:
    """One child, from the order to start it until it is reaped."""

    def __init__(self, channel: socket.socket, files: list[int]) -> None:
        self.channel = channel
        self.pid = 0
        self.over = False
        self._files = files
        self._heard = b""
        self._grace = 0.0
        self._alone = False
        self._until = math.inf
        self._term = 0.0
        self._kill_at = math.inf
        self._why = ""

    def hear(self, now: float) -> bool:
        """Do what the scheduler says by the channel; says whether there may be more."""
        try:
            data = self.channel.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self.abandon()
            return False
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            if line.startswith(b"{"):
                self.begin(json.loads(line), now)
            elif line.startswith(b"lease "):
                self._lease(float(line[6:]), now)
            elif line == b"stop":
                self.stop("stop", now)
            elif line == b"kill":
                self.abandon()
        return True

    def begin(self, order: dict[str, Any], now: float) -> None:
        """Start the child, unless its time is over already. Texts hold one byte per character."""
        self._grace, self._alone = float(order["grace"]), bool(order["alone"])
        self._lease(float(order["until"]), now)
        if now >= self._until - EARLY:
            self._finish(-signal.SIGKILL, "lease")
            return
        guard = os.getpid()
        self._say("taken")
        try:
            self.pid = os.fork()
        except OSError as error:
            self._say(f"refused {error.errno}")
            self._finish(127, "-")
            return
        if self.pid == 0:
            _become(order, self._files, self.channel, guard)
        self._close_files()
        self._say(f"started {self.pid}")

    def moment(self) -> float:
        """When there is something to do even if nobody says anything."""
        return self._kill_at if self._why else self._warn_at()

    def look(self, now: float) -> None:
        """Do what is due."""
        if not self.pid or self.over:
            return
        if not self._why and now >= self._warn_at():
            self.stop("lease", now)
        if now >= self._kill_at:
            self._signal(signal.SIGKILL)
            self._kill_at = math.inf

    def stop(self, why: str, now: float) -> None:
        """Tell the child to stop, with its group or alone, and kill all of them later if it does not."""
        if self._why or not self.pid:
            return
        self._why = why
        self._kill_at = min(now + self._grace, self._until - EARLY)
        self._signal(signal.SIGTERM, alone=self._alone)
        self._signal(signal.SIGCONT)

    def abandon(self) -> None:
        """End it at once: nobody wants it any more."""
        self._why = self._why or "stop"
        self._kill_at = math.inf
        if self.pid and not self.over:
            self._signal(signal.SIGKILL)
        else:
            self._finish(-signal.SIGKILL, self._why)

    def reap(self) -> None:
        """See whether the child has ended; if so, end what is left of its group and tell."""
        if not self.pid or self.over:
            return
        if hasattr(os, "waitid"):
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return
            # While the dead child is not reaped its number is not given to anybody else.
            self._signal(signal.SIGKILL)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self._finish(os.waitstatus_to_exitcode(status), self._why or "-")

    def _warn_at(self) -> float:
        return self._until - EARLY - min(self._grace, NOTICE * self._term)

    def _lease(self, until: float, now: float) -> None:
        self._until = until
        if until < math.inf:
            self._term = max(self._term, until - now)
        if self._why:
            self._kill_at = min(self._kill_at, until - EARLY)

    def _signal(self, number: int, *, alone: bool = False) -> None:
        with contextlib.suppress(OSError):
            if alone:
                os.kill(self.pid, number)
                return
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                os.kill(self.pid, number)  # it has only just been forked, and has no group of its own yet

    def _finish(self, code: int, why: str) -> None:
        self.over = True
        self._say(f"ended {code} {why}")
        self._close_files()

    def _close_files(self) -> None:
        while self._files:
            os.close(self._files.pop())

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self.channel.send(line.encode() + b"\n")


class Guard:
    """All the runs of one scheduler."""

    def __init__(self, control: socket.socket, scheduler: int) -> None:
        self._control = control
        self._scheduler = scheduler
        self._runs: list[Run] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._receive)
        self._sees_death = self._watch_scheduler()
        self._woken, wakes = socket.socketpair()
        for end in (self._woken, wakes):
            end.setblocking(False)
        signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)
        self._selector.register(self._woken, selectors.EVENT_READ, lambda: self._woken.recv(1 << 16))

    def work(self) -> None:
        """Guard until the scheduler is gone, then end everything."""
        try:
            while True:
                self._round()
        except Gone:
            for run in self._runs:
                run.abandon()
            for run in self._runs:
                if run.pid and not run.over:
                    os.waitpid(run.pid, 0)

    def _round(self) -> None:
        moment = min((run.moment() for run in self._runs if run.pid), default=math.inf)
        wait = max(0.0, moment - time.clock_gettime(BOOT))
        if not self._sees_death:
            wait = min(wait, LOOK)
        for key, _ in self._selector.select(None if wait == math.inf else wait):
            key.data()
        if os.getppid() != self._scheduler:
            raise Gone
        now = time.clock_gettime(BOOT)
        for run in self._runs:
            run.look(now)
            run.reap()
            if run.over:
                self._forget(run)
        self._runs = [run for run in self._runs if not run.over]

    def _receive(self) -> None:
        """A new run, or the end of it all."""
        try:
            data, files, flags, _ = socket.recv_fds(self._control, 1, MOST_FILES)
        except OSError:
            data, files, flags = b"", [], 0
        if not data:
            raise Gone
        if flags & socket.MSG_CTRUNC:  # too many files are open; that its channel closes says so
            for file in files:
                os.close(file)
            return
        for file in files:
            os.set_inheritable(file, False)
        channel = socket.socket(fileno=files.pop(0))
        channel.setblocking(False)
        run = Run(channel, files)
        self._runs.append(run)
        self._selector.register(channel, selectors.EVENT_READ, lambda: self._hear(run))

    def _hear(self, run: Run) -> None:
        if not run.hear(time.clock_gettime(BOOT)):
            self._selector.unregister(run.channel)

    def _forget(self, run: Run) -> None:
        if run.channel in self._selector.get_map():
            self._selector.unregister(run.channel)
        run.channel.close()

    def _watch_scheduler(self) -> bool:
        """A socket alone does not do: whoever the scheduler forks may hold the other end of it open."""
        if not hasattr(os, "pidfd_open"):
            return False
        try:
            death = os.pidfd_open(self._scheduler)
        except OSError:
            return False
        self._selector.register(death, selectors.EVENT_READ, self._gone)
        return True

    def _gone(self) -> NoReturn:
        raise Gone


def _become(order: dict[str, Any], files: list[int], channel: socket.socket, guard: int) -> NoReturn:
    """The child's side of the fork: turn into what was ordered, with its own files and none of ours."""
    try:
        os.setsid()
        _die_with(guard)
        signal.set_wakeup_fd(-1)
        for number in CHANGED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # Out of the way first, for one may stand where another belongs. All but 0, 1, 2… close on exec.
        files = [channel.fileno(), *files]
        answers, *files = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, MOST_FILES) for file in files]
        try:
            _execute(order, files)
        except OSError as error:
            os.write(answers, f"refused {error.errno}\n".encode())
    finally:
        os._exit(127)


def _execute(order: dict[str, Any], files: list[int]) -> None:
    argv = [text.encode("latin-1") for text in order["argv"]]
    env = {name.encode("latin-1"): text.encode("latin-1") for name, text in order["env"].items()}
    program = files.pop() if order["by_file"] else argv[0]
    os.chdir(order["cwd"].encode("latin-1"))
    for place, file in enumerate(files):
        os.dup2(file, place)
    os.execve(program, argv, env)  # noqa: S606 - to start programs, by argument list, is what it is for


def _die_with(guard: int) -> None:
    """Have the kernel kill this process when the guard dies, however it does."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:  # it was too late for the kernel to notice
        os._exit(127)


def main(scheduler: int) -> None:
    # Blocked and not ignored: what is sent to a child that has only just been forked is kept for it.
    signal.pthread_sigmask(signal.SIG_SETMASK, UNHEARD)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    Guard(socket.socket(fileno=0), scheduler).work()


if __name__ == "__main__":
    main(int(sys.argv[1]))
