"""A parent and its replicas, as real processes: what is started again, what is told, and who is left."""

import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from shardwright import JobError, Scheduler
from shardwright.runtime import berth, fleet
from shardwright.runtime.fleet import Fleet
from shardwright.runtime.parent import VARIABLE
from shardwright.runtime.replica import Replica
from tests.faults.processes import Child
from tests.zookeeper_server import Server

PATIENCE = 60.0

PROGRAM = """
import os, sys, threading
from shardwright import Scheduler, Shard

scheduler = Scheduler(sys.argv[1], grace=20)


@scheduler.job(cron="* * * * * ?", shards=2, failover=True)
def work(shard: Shard) -> None:
    tell(f"began {shard.item} {os.getpid()}")
    threading.Event().wait(0.3)
    tell(f"ended {shard.item} {os.getpid()}")


def tell(line: str) -> None:
    os.write(1, f"{line}\\n".encode())  # by one call: others write there too


if __name__ == "__main__":
    scheduler.run(processes=2)
    tell("after the run")
"""

Begin = Callable[..., Child]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts a program, as a user does: a script, and its registry's address for an argument."""
    tmp_path.chmod(0o700)
    with ExitStack() as programs:

        def begin(text: str = PROGRAM, url: str = f"sqlite://{tmp_path / 'registry.db'}") -> Child:
            script = tmp_path / "program.py"
            script.write_text(text)
            return programs.enter_context(Child(str(script), url))

        yield begin


def runs(parent: Child, number: int) -> int:
    """Waits until a replica runs; its process."""
    while True:
        found = re.search(rf"replica {number} \(process (\d+)\) runs", parent.expect(") runs", PATIENCE))
        if found is not None:
            return int(found[1])


def both_run(parent: Child) -> list[int]:
    """Waits until two replicas run, whichever comes first; their processes, by their numbers."""
    said = "".join(parent.expect(") runs", PATIENCE) for _ in range(2))
    return [int(pid) for _, pid in sorted(re.findall(r"replica (\d+) \(process (\d+)\) runs", said))]


def wait_until_gone(*pids: int) -> None:
    wait_for(lambda: not any(alive(pid) for pid in pids))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # neither a file nor the end of what is not our child tells us of itself


def alive(pid: int) -> bool:
    """Whether a process is there, and more than what its parent has yet to take note of."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def of_process(parent: Child, what: str) -> set[int]:
    found = (re.fullmatch(rf"{what} \d+ (\d+)", line) for line in parent.lines)
    return {int(match[1]) for match in found if match is not None}


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [0, -1, 2.5])
def test_a_number_of_processes_that_cannot_be_is_refused(processes: int) -> None:
    with pytest.raises(JobError, match=f"at least 1, not {processes}"):
        Scheduler("memory://").run(processes=processes)


def test_several_processes_cannot_share_a_registry_in_memory() -> None:
    with pytest.raises(JobError, match=r"2 processes cannot share memory://.*give sqlite:///path\.db"):
        Scheduler("memory://together").run(processes=2)


def test_a_program_without_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'registry.db'}"
    text = f"from shardwright import Scheduler\nScheduler({url!r}).run(processes=2)\n"
    ended = subprocess.run([sys.executable, "-"], input=text.encode(), capture_output=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert b"JobError: run(processes=" in ended.stderr.splitlines()[-1]


def test_a_scheduler_that_runs_already_is_refused(tmp_path: Path) -> None:
    with (
        Scheduler(f"sqlite://{tmp_path / 'registry.db'}") as scheduler,
        pytest.raises(JobError, match="runs"),
    ):
        scheduler.run(processes=2)


def test_a_fleet_that_is_not_run_in_the_main_thread_is_refused_with_what_to_do(tmp_path: Path) -> None:
    scheduler = Scheduler(f"sqlite://{tmp_path / 'registry.db'}")
    with ThreadPoolExecutor(1) as pool, pytest.raises(JobError, match="in the main thread"):
        pool.submit(scheduler.run, processes=2).result(PATIENCE)


def test_what_is_not_understood_on_a_replicas_line_ends_nobody(caplog: pytest.LogCaptureFixture) -> None:
    words = r'b"{\n\xff\n[1]\n{\"running\": true}\n"'
    speak = f"import os; os.write(int(os.environ['{VARIABLE}'].split(':')[1]), {words})"
    one = Replica(1, [sys.executable, "-c", speak], 0.0)
    while one.hear():
        select.select([one.line], [], [], PATIENCE)
    assert one.runs
    assert one._process.wait(PATIENCE) == 0
    one.close()
    assert "said what is not understood" in caplog.text


def test_a_replica_that_has_lost_its_line_starts_no_replicas_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "other").open("w") as other:
        monkeypatch.setenv(VARIABLE, f"1:{other.fileno()}:{os.fstat(other.fileno()).st_ino}")
        with pytest.raises(JobError, match="not its files"):
            Scheduler(f"sqlite://{tmp_path / 'registry.db'}").run(processes=2)


# -- how soon another is started ----------------------------------------------------------------------------


def test_the_pause_doubles_from_a_second_to_a_minute_and_no_two_are_the_same() -> None:
    chance = random.Random(1)
    pauses = [berth.pause(deaths, chance) for deaths in range(1, 10)]
    assert all(low <= each <= low * (1 + berth.JITTER) for each, low in zip(pauses, LOWEST, strict=True))
    assert berth.pause(10**9, chance) <= 60 * (1 + berth.JITTER)
    assert berth.pause(1, chance) != berth.pause(1, chance)


LOWEST = [1, 2, 4, 8, 16, 32, 60, 60, 60]


# -- real ones ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_replicas_work_and_the_parent_does_not(begin: Begin) -> None:
    parent = begin()
    replicas = both_run(parent)
    parent.expect("ended 0", PATIENCE)
    assert parent.terminate(PATIENCE) == 0
    assert of_process(parent, "began") == of_process(parent, "ended") <= set(replicas)
    assert not any(map(alive, replicas))
    assert sum("after the run" in line for line in parent.lines) == 3


@pytest.mark.slow
def test_told_to_end_all_finish_what_they_run(begin: Begin) -> None:
    slow = PROGRAM.replace("wait(0.3)", "wait(3)")
    parent = begin(slow)
    both_run(parent)
    for _ in range(2):
        parent.expect("began", PATIENCE)
    assert parent.terminate(PATIENCE) == 0
    began = sum(line.startswith("began") for line in parent.lines)
    assert began == sum(line.startswith("ended") for line in parent.lines) >= 2


@pytest.mark.slow
def test_told_twice_all_are_killed_and_the_exit_code_says_so(begin: Begin) -> None:
    endless = PROGRAM.replace("wait(0.3)", "wait()")
    parent = begin(endless)
    replicas = both_run(parent)
    wait_for(lambda: any("began" in line for line in parent.lines))
    os.kill(parent.pid, signal.SIGTERM)
    parent.expect("told to end by SIGTERM", PATIENCE)
    time.sleep(fleet.TOLD_ONCE + 0.2)  # what comes sooner is the same word, told twice
    os.kill(parent.pid, signal.SIGTERM)
    assert parent.wait(PATIENCE) == 1
    wait_until_gone(*replicas)


@pytest.mark.slow
def test_one_that_is_killed_is_followed_by_another(begin: Begin) -> None:
    parent = begin()
    first, second = both_run(parent)
    os.kill(first, signal.SIGKILL)
    parent.expect(f"replica 1 (process {first}) was killed by SIGKILL", PATIENCE)
    third = runs(parent, 1)
    assert third not in (first, second)
    assert alive(second)
    assert parent.terminate(PATIENCE) == 0


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["raise RuntimeError('no luck')", "sys.exit(0)"])
def test_a_program_that_ends_as_soon_as_it_is_started_is_given_up(begin: Begin, reason: str) -> None:
    broken = f"import os, sys\nif {VARIABLE!r} in os.environ:\n    {reason}\n"
    parent = begin(broken + PROGRAM)
    assert parent.wait(PATIENCE) == 1
    parent.expect("died 5 times in a row", PATIENCE)
    assert sum("is started" in line and "process" in line for line in parent.lines) <= 7


@pytest.mark.slow
def test_while_one_runs_the_others_are_not_given_up(begin: Begin) -> None:
    is_second = f"os.environ.get({VARIABLE!r}, '').startswith('2:')"
    broken = (
        f"import os, sys\nif {is_second}:\n    sys.exit('no luck')\n"
        "from shardwright.runtime import berth\nberth.PAUSE = 0.1\n"
    )
    parent = begin(broken + PROGRAM)
    for _ in range(fleet.TOO_OFTEN + 1):
        parent.expect("ended with exit code 1, and nobody told it to", PATIENCE)
    parent.expect("ended 0", PATIENCE)
    assert parent.terminate(PATIENCE) == 0


@pytest.mark.slow
def test_a_parent_that_is_killed_leaves_nobody_behind(begin: Begin) -> None:
    parent = begin()
    replicas = both_run(parent)
    parent.expect("began", PATIENCE)
    os.kill(parent.pid, signal.SIGKILL)
    wait_until_gone(*replicas)
    parent.wait(PATIENCE)
    parent._reader.join(PATIENCE)
    # In order: what ran had its time to end.
    assert sum(line.startswith("began") for line in parent.lines) == sum(
        line.startswith("ended") for line in parent.lines
    )
    assert sum("after the run" in line for line in parent.lines) == 2


@pytest.mark.slow
def test_where_the_kernel_does_not_tell_the_broken_line_does(begin: Begin) -> None:
    untethered = "from shardwright.runtime import replica\nreplica._tethered = list\n"
    parent = begin(untethered + PROGRAM)
    replicas = both_run(parent)
    os.kill(parent.pid, signal.SIGKILL)
    wait_until_gone(*replicas)
    parent._reader.join(PATIENCE)
    assert sum("the process that looks after this one is gone" in line for line in parent.lines) == 2


@pytest.mark.slow
def test_hung_up_all_are_replaced_one_after_the_other(begin: Begin) -> None:
    parent = begin()
    old = both_run(parent)
    os.kill(parent.pid, signal.SIGHUP)
    new = [runs(parent, 1), runs(parent, 2)]
    assert not set(old) & set(new)
    wait_until_gone(*old)
    assert parent.terminate(PATIENCE) == 0
    told = [line for line in parent.lines if re.search(r"replica \d .*(to be replaced, |\) runs)", line)]
    assert [re.findall(r"replica (\d) .*(to be replaced|runs)", line)[0] for line in told[-4:]] == [
        ("1", "to be replaced"),
        ("1", "runs"),
        ("2", "to be replaced"),
        ("2", "runs"),
    ]


ISOLATED = """
import os, sys, time
from shardwright import Scheduler, Shard

scheduler = Scheduler(sys.argv[1])


@scheduler.job(cron="* * * * * ?", failover=True, isolated=True)
def work(shard: Shard) -> None:
    file = os.open(__file__ + ".effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        os.write(file, f"{os.getppid()} {os.getpid()}\\n".encode())
        time.sleep(0.01)


if __name__ == "__main__":
    scheduler.run(processes=2)
"""


@pytest.mark.slow
@pytest.mark.zookeeper
def test_nobody_takes_over_before_the_processes_of_a_dead_replica_have_ended(
    begin: Begin, zookeeper: Server, tmp_path: Path
) -> None:
    effects = tmp_path / "program.py.effects"
    effects.touch()

    def seen() -> list[tuple[int, int]]:
        """Who had each effect: the guard of a process, and the process."""
        pairs = (line.split() for line in effects.read_text().splitlines(keepends=True) if line[-1] == "\n")
        return [(int(guard), int(pid)) for guard, pid in pairs]

    parent = begin(ISOLATED, f"zookeeper://{zookeeper.hosts}/orphans")
    both_run(parent)
    wait_for(lambda: bool(seen()))
    guard, run = seen()[-1]
    replica = int(Path(f"/proc/{guard}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGSTOP)  # so that the run goes on, as it would on a busy machine for a moment
    os.kill(replica, signal.SIGKILL)
    parent.expect(f"(process {replica}) was killed by SIGKILL", PATIENCE)
    parent.expect(") is started", PATIENCE)  # a second later
    assert {pid for _, pid in seen()} == {run}
    assert alive(run)
    os.kill(guard, signal.SIGCONT)
    parent.expect("its session is ended", PATIENCE)
    assert not alive(run)
    wait_for(lambda: seen()[-1][1] != run)
    assert [pid for _, pid in seen()] == sorted((pid for _, pid in seen()), key=lambda pid: pid != run)


@pytest.mark.slow
def test_one_told_to_end_before_it_ran_has_not_failed(tmp_path: Path) -> None:
    sleepy = "import os, signal; os.write(1, b'asleep\\n'); signal.pause()"
    program = f"[sys.executable, '-c', {sleepy!r}]"
    script = (
        "import sys; from shardwright.runtime.fleet import Fleet\n"
        f"sys.exit(Fleet(2, 'sqlite:///none.db', grace=5, program={program}).run())"
    )
    path = tmp_path / "program.py"
    path.write_text(script)
    with Child(str(path)) as parent:
        for _ in range(2):
            parent.expect("asleep", PATIENCE)
        assert parent.terminate(PATIENCE) == 0


def test_a_fleet_says_what_is_wrong_with_its_address_before_it_starts_anybody() -> None:
    with pytest.raises(ValueError, match="name at least one server"):
        Fleet(2, "zookeeper:///prod", grace=1.0)
