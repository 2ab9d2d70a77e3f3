"""The examples do what they say, as a newcomer starts them: each in a process of its own, on a file."""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shardwright.registry import connect
from tests.faults.processes import ROOT, Child

PATIENCE = 40.0
TERMINATED_IN_ORDER = 0

Start = Callable[[str], Child]


@pytest.fixture
def registry(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path / 'registry.db'}"


@pytest.fixture
def start(registry: str) -> Iterator[Start]:
    """Starts an example; all those of a test share a registry in a folder of its own."""
    with ExitStack() as children:

        def example(name: str) -> Child:
            return children.enter_context(
                Child(f"examples/{name}", listens=True, env={"SHARDWRIGHT_REGISTRY": registry})
            )

        yield example


def test_every_example_is_short_and_tested_here() -> None:
    examples = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
    here = Path(__file__).read_text()
    assert examples
    assert [name for name in examples if name not in here] == []
    assert [name for name in examples if (ROOT / "examples" / name).read_text().count("\n") > 40] == []


def test_hello_is_said_and_said_again_until_the_process_is_told_to_end(start: Start) -> None:
    hello = start("01_hello.py")
    for _ in range(2):
        hello.expect(f"hello from process {hello.pid}", PATIENCE)
    assert hello.terminate(PATIENCE) == TERMINATED_IN_ORDER


def test_one_that_is_told_to_end_twice_at_once_leaves_in_order(start: Start) -> None:
    """As `timeout` does it: first the process, then the group that it is in."""
    hello = start("01_hello.py")
    hello.expect("hello", PATIENCE)
    for _ in range(2):
        os.kill(hello.pid, signal.SIGTERM)
    assert hello.wait(PATIENCE) == TERMINATED_IN_ORDER
    assert "Traceback" not in "\n".join(hello.lines)


def until_shared_by_two(url: str, job: str, shards: int) -> None:
    with connect(url) as registry:
        tree = registry.mirror(f"{registry.namespace}/{job}")

        def shares() -> list[int]:
            owners = Counter(tree.get(f"sharding/{item}/instance") for item in range(shards))
            return list(owners.values())

        registry.wait_for(lambda: shares() == [shards // 2] * 2, PATIENCE)


def test_the_shards_are_shared_by_two_and_all_run_on_the_one_that_is_left(
    start: Start, registry: str
) -> None:
    first = start("02_shards.py")
    first.expect("part 0 of 4, Asia", PATIENCE)
    second = start("02_shards.py")
    until_shared_by_two(registry, "report", shards=4)
    its: set[str] = set()
    while len(its) < 2:  # a part that runs when the second one comes moves when it has ended
        its.add(part_of(second.expect("part ", PATIENCE)))
    assert first.terminate(PATIENCE) == TERMINATED_IN_ORDER
    while len(its) < 4:
        its.add(part_of(second.expect("part ", PATIENCE)))
    assert second.terminate(PATIENCE) == TERMINATED_IN_ORDER


def part_of(line: str) -> str:
    return line.partition(": process")[0]


@pytest.mark.slow
def test_pages_that_a_killed_process_has_not_sent_are_sent_by_the_other(start: Start) -> None:
    runner = start("03_failover.py")
    runner.expect("begins with page 1", PATIENCE)
    other = start("03_failover.py")
    other.expect("fires next at", PATIENCE)
    runner.expect("begins with page 1", PATIENCE)  # a fire that both are there for
    runner.expect("page 5", PATIENCE)
    runner.kill()
    begun = other.expect("begins with page", PATIENCE)
    resumed = re.search(r"begins with page (\d+), try 2", begun)
    assert resumed is not None
    assert 1 < int(resumed[1]) <= 5  # what was sent last may not have been noted
    other.expect("page 10", PATIENCE)
    assert other.terminate(PATIENCE) == TERMINATED_IN_ORDER


def test_a_service_goes_on_beside_its_jobs_and_closes_in_order(start: Start) -> None:
    service = start("04_in_a_service.py")
    service.expect("the service serves", PATIENCE)
    service.expect("the job tidies up", PATIENCE)
    service.expect("the service serves", PATIENCE)
    assert service.terminate(PATIENCE) == TERMINATED_IN_ORDER
    service.expect("closed", PATIENCE)


def test_a_job_without_a_schedule_runs_when_enter_is_pressed_on_all_who_have_it(
    start: Start, registry: str
) -> None:
    first = start("05_one_off.py")
    first.expect("press Enter", PATIENCE)
    first.tell("")
    for _ in range(2):
        first.expect("is rebuilt", PATIENCE)
    second = start("05_one_off.py")
    second.expect("press Enter", PATIENCE)
    until_shared_by_two(registry, "rebuild", shards=2)
    second.tell("")
    for each in (first, second):
        each.expect("is rebuilt", PATIENCE)
    for each in (first, second):
        assert each.terminate(PATIENCE) == TERMINATED_IN_ORDER


def test_the_example_of_a_test_passes(start: Start) -> None:
    tests = Child(
        "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "examples/06_test_your_jobs.py"
    )
    with tests:
        assert tests.wait(PATIENCE) == 0, tests.lines
        tests.expect("2 passed", PATIENCE)


def test_only_the_master_settles_and_when_it_goes_the_other_does(start: Start) -> None:
    first = start("07_master.py")
    first.expect("now the master", PATIENCE)
    first.expect(f"process {first.pid} settles accounts, with token", PATIENCE)
    second = start("07_master.py")
    assert first.terminate(PATIENCE) == TERMINATED_IN_ORDER
    first.expect("no longer the master", PATIENCE)
    second.expect(f"process {second.pid} settles accounts, with token", PATIENCE)
    assert second.terminate(PATIENCE) == TERMINATED_IN_ORDER


def test_customers_are_shared_by_two_and_all_go_to_the_one_that_is_left(start: Start) -> None:
    first = start("08_slices.py")
    first.expect("slice 0 of 1: customers [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]", PATIENCE)
    second = start("08_slices.py")
    first.expect("pausing", PATIENCE)
    first.expect("slice 0 of 2: customers [0, 2, 4, 6, 8, 10]", PATIENCE)
    second.expect("slice 1 of 2: customers [1, 3, 5, 7, 9, 11]", PATIENCE)
    first.kill()
    second.expect("slice 0 of 1", PATIENCE)
    assert second.terminate(PATIENCE) == TERMINATED_IN_ORDER


def test_what_failed_is_tried_again_and_what_crashes_in_a_process_of_its_own_hurts_nobody(
    start: Start,
) -> None:
    ways = start("09_ways_to_run.py")
    for _ in range(2):
        ways.expect("call_home begins", PATIENCE)
        ways.expect("call_home: answered at try 2", PATIENCE)
        ways.expect("call_home has ended", PATIENCE)
    assert ways.terminate(PATIENCE) == TERMINATED_IN_ORDER
