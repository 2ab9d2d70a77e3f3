"""The books can be found wrong: for each kind of violation a small ledger that has it, beside one without."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shardwright.history.ledger import Attempt, Disposition, Entry, Key, Verdict
from tests.acceptance import books
from tests.acceptance.history import CANCELLED, FAILED, OK, Fault, History, Run
from tests.acceptance.jobs import Job

START = datetime(2030, 1, 1, tzinfo=UTC)
JOB = Job("job", every=5, length=1.0, shards=1)
A, B = 1, 2
FIRES = [START + timedelta(seconds=seconds) for seconds in (0, 5, 10)]


def a_run(place: int, pid: int = A, **changes: object) -> Run:
    """The run for one of the fires, which takes a second."""
    began = 5.0 * place
    run = Run(pid, JOB.name, 0, FIRES[place], int(began), began, began + 1.0, OK)
    return replace(run, **changes)  # type: ignore[arg-type]


def an_attempt(pid: int = A, outcome: str = "ok") -> Attempt:
    return Attempt(str(pid), f"10.0.0.{pid}@-@{pid}-abc", ended=START, outcome=outcome)


def a_row(place: int, *attempts: Attempt, kind: Disposition | None = None, **told: str) -> Entry:
    """What the ledger says of one of the fires."""
    verdict = Verdict(kind, START, told.get("reason", ""), told.get("later", "")) if kind else None
    return Entry(Key(JOB.name, 7, FIRES[place].isoformat(), 0), FIRES[place], attempts, verdict)


RUNS = (a_run(0), a_run(1), a_run(2))
ROWS = tuple(a_row(place, an_attempt()) for place in range(3))


def kinds(*rows: Entry, runs: tuple[Run, ...] = RUNS, faults: tuple[Fault, ...] = ()) -> list[str]:
    history = History(runs=runs, faults=faults, ups={A: -1.0, B: -1.0})
    return [each.kind for each in books.violations(history, JOB, rows, FIRES)]


def test_a_ledger_that_says_what_was_is_in_order() -> None:
    assert kinds(*ROWS) == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_fire_without_a_row_is_missing(place: int) -> None:
    assert kinds(*(row for row in ROWS if row is not ROWS[place])) == ["MISSING"]


def test_two_rows_of_two_makings_are_one_too_many() -> None:
    other = replace(ROWS[1], key=replace(ROWS[1].key, made=8))
    assert kinds(*ROWS, other) == ["DOUBLE"]


@pytest.mark.parametrize("key", [{"fire": "#1"}, {"fire": "2030-01-01T00:00:07+00:00"}, {"item": 1}])
def test_a_row_that_is_on_no_list_is_strange(key: dict[str, object]) -> None:
    skipped = a_row(1, kind=Disposition.SKIPPED, reason="why not")
    strange = replace(skipped, key=replace(skipped.key, **key))  # type: ignore[arg-type]
    assert kinds(*ROWS, strange) == ["STRANGE"]


def test_a_row_that_says_that_something_still_runs_is_open() -> None:
    assert kinds(*ROWS[:2], a_row(2, an_attempt(outcome=""))) == ["OPEN", "DENIED"]


def test_a_row_that_says_that_a_fire_ran_that_did_not_is_untrue() -> None:
    assert kinds(*ROWS, runs=RUNS[:2]) == ["UNTRUE"]


def test_a_row_that_says_that_a_run_was_well_that_failed_or_was_cut_short_is_untrue() -> None:
    for outcome in (FAILED, CANCELLED):
        runs = (*RUNS[:2], replace(RUNS[2], outcome=outcome))
        assert kinds(*ROWS, runs=runs) == ["UNTRUE"]
        assert kinds(*ROWS[:2], a_row(2, an_attempt(outcome="failed")), runs=runs) == (
            [] if outcome == FAILED else ["UNTRUE"]
        )


@pytest.mark.parametrize("kind", [Disposition.SKIPPED, Disposition.LOST, Disposition.UNKNOWN])
@pytest.mark.parametrize("outcome", [OK, FAILED])
def test_a_run_that_came_to_its_end_may_be_denied_only_where_something_struck_it(
    kind: Disposition, outcome: str
) -> None:
    runs = (a_run(0), a_run(1, outcome=outcome), a_run(2, B))
    rows = (ROWS[0], a_row(1, kind=kind, reason="nobody knows"), a_row(2, an_attempt(B)))
    assert kinds(*rows, runs=runs) == ["DENIED"]
    assert kinds(*rows, runs=runs, faults=(Fault("kill", 6.2, A),)) == []
    assert kinds(*rows, runs=runs, faults=(Fault("kill", 6.2, B),)) == ["DENIED"]
    assert kinds(*rows, runs=runs, faults=(Fault("kill", 9.0, A),)) == ["DENIED"]
    assert kinds(*rows, runs=runs, faults=(Fault("cut", 3.0, None, until=5.5),)) == []


def test_all_who_ran_a_fire_are_to_be_named() -> None:
    cut_short = a_run(2, ended=None, outcome=None)
    again = a_run(2, B, began=12.0, ended=13.0, token=12, attempt=2)
    runs, struck = (*RUNS[:2], cut_short, again), (Fault("kill", 10.5, A),)
    both = a_row(2, an_attempt(A, "lost"), an_attempt(B))
    assert both.disposition is Disposition.FAILED_OVER
    assert kinds(*ROWS[:2], both, runs=runs, faults=struck) == []
    assert kinds(*ROWS[:2], a_row(2, an_attempt(B)), runs=runs, faults=struck) == ["UNNAMED"]


def test_a_row_of_a_fire_that_did_not_run_says_why() -> None:
    runs = (RUNS[0], RUNS[2])
    for kind in (Disposition.SKIPPED, Disposition.LOST, Disposition.UNKNOWN):
        assert kinds(ROWS[0], a_row(1, kind=kind, reason="why"), ROWS[2], runs=runs) == []
        assert kinds(ROWS[0], a_row(1, kind=kind), ROWS[2], runs=runs) == ["UNSAID"]


def test_a_row_of_a_fire_that_was_made_good_names_a_later_fire() -> None:
    def made_good(later: str) -> list[str]:
        row = a_row(1, kind=Disposition.MADE_GOOD, later=later)
        return kinds(ROWS[0], row, ROWS[2], runs=(RUNS[0], RUNS[2]))

    assert made_good(FIRES[2].isoformat()) == []
    assert made_good(FIRES[0].isoformat()) == made_good("2030-01-01T00:00:07+00:00") == ["UNSAID"]
    assert made_good("") == ["UNSAID"]
