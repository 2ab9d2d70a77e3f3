"""Children: what they see, what is kept of what they print, how they end, and what becomes of their guard."""

import fcntl
import itertools
import os
import resource
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled, Failed
from shardwright.executors import child, guards
from shardwright.executors.child import Ended, Program
from shardwright.executors.guards import the_guard
from shardwright.executors.lines import Lines
from tests.executors.test_orphans import Deaths
from tests.test_shard import a_shard

PYTHON = [sys.executable, "-I", "-S", "-c"]

# Starts a process of its own, tells both numbers, and goes on, in one of three ways. The hasty one ends
# before what it started, though not before it hears that both are known: the gone cannot be looked for.
PARENT = """
import os, signal, subprocess, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
if sys.argv[1] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
print(os.getpid(), other.pid, flush=True)
if sys.argv[1] != "hasty":
    time.sleep(600)
signal.sigwait([signal.SIGUSR1])
"""


def leased(lease: Callable[[], float] = lambda: 60.0) -> Shard:
    return a_shard(_lease=lease)


def lines_of(program: Program) -> list[str]:
    """What a program prints that is run to its good end."""
    printed: list[str] = []
    ended = child.run(leased(), program, lambda stream, line: printed.append(line))
    assert ended == Ended(0, stopped=False), printed
    return printed


def parent(kind: str, *, grace: float = 60.0) -> Program:
    return Program([*PYTHON, PARENT, kind], {}, grace=grace)


def run_and(act: Callable[[], object], shard: Shard, program: Program, deaths: Deaths) -> Ended:
    """Run it, and do something as soon as it has told the numbers of its processes."""

    def printed(stream: str, line: str) -> None:
        deaths.add(*map(int, line.split()))
        act()

    return child.run(shard, program, printed)


def test_a_child_sees_its_own_files_its_own_environment_and_its_own_session() -> None:
    look = "import os; print(dict(os.environ), os.listdir('/proc/self/fd'), os.getsid(0) == os.getpid())"
    with open(os.devnull) as held:
        os.set_inheritable(held.fileno(), True)
        seen = lines_of(Program([*PYTHON, look], {"LC_CTYPE": "C.UTF-8", "MODE": "fast"}))
    assert seen == ["{'LC_CTYPE': 'C.UTF-8', 'MODE': 'fast'} ['0', '1', '2', '3'] True"]  # 3: the listing


def test_a_child_ignores_no_signal_because_its_guard_does() -> None:
    look = "import signal; print(*[s.name for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN])"
    bare = subprocess.run([*PYTHON, look], capture_output=True, text=True, check=True)
    (ignored,) = lines_of(Program([*PYTHON, look], {}))
    assert set(ignored.split()) <= set(bare.stdout.split())  # what whoever started us ignores


def test_of_our_environment_a_child_gets_what_any_program_may_know_and_what_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    monkeypatch.setenv("MODE", "fast")
    seen = child.environment(["MODE", "MISSING"])
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["MODE"] == "fast"
    assert not {"DATABASE_PASSWORD", "MISSING"} & set(seen)


def test_what_is_read_by_standard_input_may_be_long() -> None:
    count = "import sys; print(len(sys.stdin.read()))"
    assert lines_of(Program([*PYTHON, count], {}, stdin=b"x" * 1_000_000)) == ["1000000"]


def test_a_line_is_cut_and_all_lines_together_and_nothing_speaks_to_a_terminal() -> None:
    told: list[str] = []
    lines = Lines(told.append, longest=5, limit=20)
    lines.feed(b"abc\r\n\x1b[2J\nsev")
    lines.feed(b"enteen\n")
    lines.feed(b"x\ny\nz\n\n\nlast")
    lines.end()
    too_much = "(the rest is left out: it is more than 20 bytes)"
    assert told == ["abc", "\\x1b[2J", "seven… (4 bytes more)", "x", "y", too_much]


def test_a_child_that_prints_without_end_is_read_to_the_end_and_not_kept() -> None:
    much = "for _ in range(100_000): print('x' * 49)"
    assert len(lines_of(Program([*PYTHON, much], {}, output_limit=1000))) == 21


def test_the_last_line_counts_though_it_does_not_end() -> None:
    assert lines_of(Program([*PYTHON, "print('a\\nb', end='')"], {})) == ["a", "b"]


def test_a_program_that_cannot_be_started_fails_and_says_why() -> None:
    with pytest.raises(Failed, match="reindex, shard 1: /nowhere cannot be started: it is not there"):
        child.run(leased(), Program(["/nowhere"], {}), print)


def test_what_is_told_to_stop_has_its_grace() -> None:
    shard = leased()
    with Deaths() as deaths:
        assert run_and(shard.cancel, shard, parent("obedient"), deaths) == Ended(
            -signal.SIGTERM, stopped=True
        )
        deaths.expect()


def test_what_does_not_heed_the_order_to_stop_is_killed_with_all_it_started() -> None:
    shard = leased()
    with Deaths() as deaths:
        ended = run_and(shard.cancel, shard, parent("stubborn", grace=0.1), deaths)
        assert ended == Ended(-signal.SIGKILL, stopped=True)
        deaths.expect()


def test_what_was_told_to_stop_before_it_began_does_not_run_on() -> None:
    shard = leased()
    shard.cancel()
    assert child.run(shard, parent("obedient"), lambda stream, line: None).stopped


def test_nothing_that_a_child_started_outlives_it() -> None:
    with Deaths() as deaths:
        ended = run_and(lambda: deaths.tell_first(signal.SIGUSR1), leased(), parent("hasty"), deaths)
        assert ended == Ended(0, stopped=False)
        deaths.expect()


def test_what_goes_wrong_here_ends_the_child() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with Deaths() as deaths:
        with pytest.raises(ZeroDivisionError):
            run_and(fail, leased(), parent("stubborn"), deaths)
        deaths.expect()


def test_a_child_ends_with_its_lease_however_long_its_grace() -> None:
    end = child.boot() + 4.0
    tick = (
        "import time\nwhile True: print(time.clock_gettime(time.CLOCK_BOOTTIME), flush=True); time.sleep(.01)"
    )
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    stamps: list[float] = []
    with pytest.raises(Cancelled, match="reindex, shard 1: ended, as its lease was over"):
        child.run(
            leased(lambda: end - child.boot()),
            Program([*PYTHON, ignore + tick], {}, grace=60.0),
            lambda stream, line: stamps.append(float(line)),
        )
    assert stamps
    assert max(stamps) <= end


def test_nothing_begins_when_the_lease_is_over_unless_it_is_not_bound_to_it(tmp_path: Path) -> None:
    make = f"open({str(tmp_path / 'made')!r}, 'w')"
    with pytest.raises(Cancelled):
        child.run(leased(lambda: 0.0), Program([*PYTHON, make], {}), print)
    assert not (tmp_path / "made").exists()
    child.run(leased(lambda: 0.0), Program([*PYTHON, make], {}, bound=False), print)
    assert (tmp_path / "made").exists()


# The guard


def test_the_guard_does_not_heed_what_is_meant_for_others() -> None:
    guard = the_guard()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guard.pid, number)
    assert lines_of(Program([*PYTHON, "print('at work')"], {})) == ["at work"]
    assert the_guard() is guard
    assert os.getsid(guard.pid) == guard.pid


def test_when_the_guard_is_killed_its_children_end_and_later_ones_have_another() -> None:
    guard = the_guard()
    with Deaths() as deaths:
        with pytest.raises(
            Failed, match="reindex, shard 1: ended in mid-run, as its guard process was killed"
        ):
            run_and(lambda: os.kill(guard.pid, signal.SIGKILL), leased(), parent("stubborn"), deaths)
        deaths.expect()
    assert lines_of(Program([*PYTHON, "print('at work')"], {})) == ["at work"]
    assert the_guard().pid != guard.pid
    shard = leased()
    with Deaths() as deaths:
        assert run_and(shard.cancel, shard, parent("stubborn", grace=0.1), deaths).stopped
        deaths.expect()


def test_what_a_guard_was_told_and_did_not_take_before_it_was_killed_is_started_by_another() -> None:
    guard = the_guard()
    lines_of(Program([*PYTHON, "print('it listens')"], {}))
    os.kill(guard.pid, signal.SIGSTOP)
    with ThreadPoolExecutor() as others:
        run = others.submit(lines_of, Program([*PYTHON, "print('at work')"], {}))
        told = False
        while not told:
            told = bool(struct.unpack("i", fcntl.ioctl(guard._control, termios.TIOCOUTQ, bytes(4)))[0])
        os.kill(guard.pid, signal.SIGKILL)
        assert run.result(20) == ["at work"]
    assert the_guard().pid != guard.pid


def test_a_guard_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = the_guard()
    monkeypatch.setattr(child, "PATIENCE", 0.2)
    with Deaths() as deaths:
        shard = leased()

        def hang() -> None:
            os.kill(guard.pid, signal.SIGSTOP)
            shard.cancel()

        with pytest.raises(Failed, match="as its guard process was killed"):
            run_and(hang, shard, parent("stubborn", grace=0.1), deaths)
        deaths.expect()
    monkeypatch.undo()
    assert lines_of(Program([*PYTHON, "print('at work')"], {})) == ["at work"]


def test_a_guard_that_hangs_over_what_must_be_gone_is_killed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PATIENCE", 600.0)
    guard, shard = the_guard(), leased()
    with Deaths() as deaths, ThreadPoolExecutor() as others:

        def hang() -> None:
            os.kill(guard.pid, signal.SIGSTOP)
            ended.append(others.submit(guards.end, [shard], 0.1))

        ended: list[Future[bool]] = []
        with pytest.raises(Failed, match="as its guard process was killed"):
            run_and(hang, shard, parent("stubborn"), deaths)
        deaths.expect()
        assert ended[0].result(20)
    assert lines_of(Program([*PYTHON, "print('at work')"], {})) == ["at work"]


def test_whoever_tells_a_guard_something_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PATIENCE", 600.0)
    guard, ticks = the_guard(), itertools.count(100)
    shard = leased(lambda: float(next(ticks)))
    with Deaths() as deaths, ThreadPoolExecutor() as others:

        def hang() -> None:
            os.kill(guard.pid, signal.SIGSTOP)
            one, *_ = guard._children
            others.submit(tell, one).add_done_callback(lambda _: guard.kill())

        def tell(one: guards.Leased) -> None:
            for _ in range(10_000):
                one.tell_lease()
            shard.cancel()

        try:
            with pytest.raises(Failed, match="as its guard process was killed"):
                run_and(hang, shard, parent("stubborn"), deaths)
        finally:
            guard.kill()
        deaths.expect()


def test_a_guard_without_room_for_another_child_refuses_it_and_goes_on() -> None:
    lines_of(Program([*PYTHON, ""], {}))
    guard = the_guard()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    before = resource.prlimit(guard.pid, resource.RLIMIT_NOFILE, (8, most))
    try:
        with pytest.raises(Failed, match="not started, as its guard process has no room for it"):
            lines_of(Program([*PYTHON, ""], {}))
    finally:
        resource.prlimit(guard.pid, resource.RLIMIT_NOFILE, before)
    assert lines_of(Program([*PYTHON, "print('at work')"], {})) == ["at work"]
    assert the_guard() is guard


def test_many_at_once_are_kept_apart() -> None:
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        found[number] = lines_of(Program([*PYTHON, f"print({number})"], {}))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [str(number)] for number in range(20)}


def test_runs_leave_nothing_open_and_nobody_unburied() -> None:
    child.run(leased(), Program(["/bin/true"], {}), print)
    guard = the_guard().pid

    def left() -> tuple[int, int, set[str]]:
        ours, theirs = (len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in ("self", guard))
        return ours, theirs, set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    before = left()
    for _ in range(50):
        child.run(leased(), Program(["/bin/true"], {}), print, lambda line: None)
    after = left()
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) <= 1  # it tells us before it closes its end
    assert after[2] <= before[2]
    assert Path(f"/proc/{guard}/task/{guard}/children").read_text() == ""
