"""`shardwright run`: real programs, and those that cannot be run."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.faults.processes import Child

from .calling import shardwright

PATIENCE = 60.0

PROGRAM = """
import os
from shardwright import Scheduler, Shard

scheduler = Scheduler()


@scheduler.job(cron="* * * * * ?", shards=2{more})
def work(shard: Shard) -> None:
    os.write(1, f"shard {{shard.item}} in {{os.getpid()}}\\n".encode())


if __name__ == "__main__":
    os.write(1, b"it runs by itself\\n")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs; what is loaded from it here is forgotten after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    return tmp_path


def program(folder: Path, text: str, name: str = "nightly.py") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_file_runs_until_it_is_told_to_end(folder: Path, url: str) -> None:
    file = program(folder, PROGRAM.format(more=""))
    with Child("shardwright", "run", str(file), "--registry", url) as child:
        for _ in range(2):
            assert child.expect("shard ", PATIENCE).endswith(f"in {child.pid}")
        assert child.terminate(PATIENCE) == 0
        assert "it runs by itself" not in child.lines
    assert shardwright("jobs", "--registry", url).code == 0


def test_a_module_runs_by_its_name_from_the_environments_registry(folder: Path, url: str) -> None:
    program(folder, PROGRAM.format(more=""))
    env = {"PYTHONPATH": str(folder), "SHARDWRIGHT_REGISTRY": url}
    with Child("shardwright", "run", "nightly:scheduler", env=env) as child:
        child.expect("shard 1", PATIENCE)
        os.kill(child.pid, signal.SIGINT)
        assert child.wait(PATIENCE) == 0


NAMES_ITS_OWN = "from shardwright import Scheduler\nscheduler = Scheduler({own!r})\n"


@pytest.mark.parametrize("before", [True, False])
def test_a_registry_that_the_program_would_not_take_is_refused(folder: Path, url: str, before: bool) -> None:
    program(folder, NAMES_ITS_OWN.format(own="zookeeper://ann:hunter2@zk1/prod"))
    option = ("--registry", url)
    answer = (
        shardwright(*option, "run", "nightly.py") if before else shardwright("run", "nightly.py", *option)
    )
    assert (answer.code, answer.out) == (2, "")
    said = " ".join(answer.err.split())
    assert (
        "this scheduler names its own registry, zookeeper://ann:***@zk1/prod: leave --registry away" in said
    )
    assert "hunter2" not in said


@pytest.mark.parametrize("given", ["option", "environment"])
def test_a_program_with_a_registry_of_its_own_runs_if_that_or_none_is_named(
    folder: Path, url: str, given: str
) -> None:
    file = program(folder, NAMES_ITS_OWN.format(own=url))
    option = ("--registry", url) if given == "option" else ()
    env = {"SHARDWRIGHT_REGISTRY": f"sqlite://{folder / 'other.db'}"}
    with Child("shardwright", "run", str(file), *option, env=env) as child:
        child.expect(f"{url}: joined", PATIENCE)
        assert child.terminate(PATIENCE) == 0


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_scheduler_without_a_job_says_so_once(folder: Path, url: str, processes: int) -> None:
    file = program(folder, NAMES_ITS_OWN.format(own=url))
    with Child("shardwright", "run", str(file), "--processes", processes) as child:
        for _ in range(processes):
            child.expect("joined as", PATIENCE)
        assert child.terminate(PATIENCE) == 0
    (warning,) = [line for line in child.lines if "no job" in line]
    assert warning.endswith("WARNING no job is declared: nothing will run here until one is added")


@pytest.mark.slow
def test_several_processes_run_a_file_and_end_with_their_parent(folder: Path, url: str) -> None:
    file = program(folder, PROGRAM.format(more=""))
    with Child("shardwright", "run", str(file), "--processes", 2, "--registry", url) as parent:
        for _ in range(2):
            parent.expect(") runs", PATIENCE)
        assert not parent.expect("shard ", PATIENCE).endswith(f"in {parent.pid}")
        assert parent.terminate(PATIENCE) == 0


@pytest.mark.slow
def test_a_run_in_a_process_of_its_own_finds_its_function_in_the_file(folder: Path, url: str) -> None:
    file = program(folder, PROGRAM.format(more=", isolated=True"))
    with Child("shardwright", "run", str(file), "--registry", url) as child:
        assert not child.expect(" in ", PATIENCE).endswith(f"in {child.pid}")
        assert child.terminate(PATIENCE) == 0


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_dump_port_answers_for_all_replicas(folder: Path, url: str, processes: int) -> None:
    file, door = program(folder, PROGRAM.format(more="")), folder / "door"
    options = ("--processes", processes, "--dump-port", str(door), "--registry", url)
    with Child("shardwright", "run", str(file), *options) as child:
        child.expect("shard ", PATIENCE)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(door))
            client.sendall(b"dump@work\n")
            said = client.makefile().read()
        assert child.terminate(PATIENCE) == 0
    assert "sharding/0/instance" in said
    assert not door.exists()


@pytest.mark.parametrize(
    ("where", "code", "why"),
    [
        ("70000", 2, "there is no port 70000: give one up to 65535"),
        ("nowhere/door", 1, "the dump port cannot listen on nowhere/door"),
    ],
)
def test_a_dump_port_that_cannot_be_is_refused_before_anything_runs(
    folder: Path, url: str, where: str, code: int, why: str
) -> None:
    program(folder, PROGRAM.format(more=""))
    answer = shardwright("run", "nightly.py", "--dump-port", where, "--registry", url)
    assert (answer.code, answer.out) == (code, "")
    assert why in answer.err


NAMED = "from shardwright import Scheduler\nday, night = Scheduler(), Scheduler()\nnumber = 7\n"


@pytest.mark.parametrize(
    ("what", "text", "why"),
    [
        ("nightly.py", None, "there is no file 'nightly.py'"),
        ("nightly.txt/", None, "there is no file 'nightly.txt'"),
        ("nightly.py", NAMED, "there is: day, night; name one, as in nightly.py:day"),
        ("nightly.py:noon", NAMED, "'noon' is not there in nightly.py; there is: day, night"),
        ("nightly:noon", NAMED, "'noon' is not there in nightly; there is: day, night"),
        ("nightly.py:number", NAMED, "'number' is a int, no Scheduler in nightly.py; there is: day, night"),
        ("nightly.py:number.more", NAMED, "'number.more' is not there"),
        ("nightly.py", "", "there is no Scheduler in it; make one at its top: scheduler = Scheduler()"),
        (".", None, "'.' is a folder: name the file in it"),
        ("nightly.txt", None, "there is no module 'nightly.txt' here"),
        ("daily:scheduler", NAMED, "there is no module 'daily' here; for a file write its path: daily.py"),
        ("daily.jobs:scheduler", NAMED, "there is no module 'daily.jobs' here"),
        (".nightly:day", NAMED, "there is no module '.nightly' here"),
        ("nightly:", NAMED, "write module:name, file.py:name or file.py"),
        (":scheduler", NAMED, "write module:name, file.py:name or file.py"),
    ],
)
def test_what_is_not_there_is_wrong_usage_and_what_is_there_is_said(
    folder: Path, what: str, text: str | None, why: str
) -> None:
    if text is not None:
        program(folder, text)
    answer = shardwright("run", what)
    assert (answer.code, answer.out) == (2, "")
    assert why in answer.err


def test_a_file_that_takes_the_name_of_another_module_is_refused(folder: Path) -> None:
    program(folder, NAMED, "calendar.py")
    answer = shardwright("run", "calendar.py:day")
    assert answer.code == 2
    assert "has the name of another module, 'calendar'" in answer.err


def test_a_program_that_fails_as_it_is_loaded_says_where(folder: Path) -> None:
    program(folder, "import os\nraise RuntimeError('no luck')\n")
    for what in ("nightly.py", "nightly:scheduler"):
        sys.modules.pop("nightly", None)
        answer = shardwright("run", what)
        assert (answer.code, answer.out) == (1, "")
        assert "could not be loaded" in answer.err
        assert 'nightly.py", line 2' in answer.err
        assert "RuntimeError: no luck" in answer.err


def test_a_traceback_begins_with_the_program_and_ends_where_it_made_its_mistake(folder: Path) -> None:
    program(
        folder, "from shardwright import Scheduler\nscheduler = Scheduler()\nscheduler.add(print, cron='5')\n"
    )
    for what in ("nightly.py", "nightly:scheduler"):
        sys.modules.pop("nightly", None)
        said = shardwright("run", what).err
        assert said.count("  File ") == 1
        assert 'nightly.py", line 3' in said
        assert "shardwright.errors." in said


def test_a_program_that_runs_its_scheduler_as_it_is_loaded_is_told_where_that_belongs(
    folder: Path, url: str
) -> None:
    file = program(folder, "from shardwright import Scheduler\nscheduler = Scheduler()\nscheduler.run()\n")
    with Child("shardwright", "run", str(file), "--registry", url) as child:
        assert child.wait(PATIENCE) == 1
    said = "\n".join(child.lines)
    assert 'nightly.py", line 3' in said
    assert 'put run() below if __name__ == "__main__":' in said


def test_a_file_that_is_no_program_is_told_so(folder: Path) -> None:
    program(folder, "cron = 5", "jobs.cfg")
    assert "'jobs.cfg' is no Python file" in shardwright("run", "jobs.cfg").err


def test_a_program_that_lacks_what_it_needs_is_not_said_to_be_missing(folder: Path) -> None:
    (folder / "night").mkdir()
    program(folder, "import missing_library\n", "night/__init__.py")
    answer = shardwright("run", "night.jobs:scheduler")
    assert answer.code == 1
    assert "No module named 'missing_library'" in answer.err


def test_the_number_of_processes_is_checked(folder: Path) -> None:
    program(folder, NAMED)
    for wrong in ("0", "many"):
        assert shardwright("run", "nightly.py:day", "--processes", wrong).code == 2


def test_a_job_that_cannot_be_is_a_failure_and_no_traceback(folder: Path) -> None:
    program(
        folder,
        "from shardwright import Scheduler\nscheduler = Scheduler('memory://')\n",
    )
    answer = shardwright("run", "nightly.py", "--processes", "2")
    assert (answer.code, answer.out) == (1, "")
    assert "2 processes cannot share memory://" in answer.err
