"""The verdict can fail: for each kind of violation a small history that has it, beside one that has none."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance import history, verdict
from tests.acceptance.history import CANCELLED, FAILED, OK, Fault, History, Run
from tests.acceptance.jobs import Job
from tests.acceptance.verdict import Node

START = datetime(2030, 1, 1, tzinfo=UTC)
JOB = Job("job", every=5, length=1.0, shards=1)
A, B = 1, 2


def a_run(seconds: float, pid: int = A, *, late: float = 0.0, attempt: int = 1, **changes: object) -> Run:
    """The run for a fire so many seconds from the start, which takes a second."""
    began = seconds + late
    run = Run(
        pid=pid,
        job=JOB.name,
        item=0,
        fire=START + timedelta(seconds=seconds),
        token=int(began * 1000),
        began=began,
        ended=began + 1.0,
        outcome=OK,
        attempt=attempt,
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def a_history(*runs: Run, faults: tuple[Fault, ...] = (), **changes: object) -> History:
    """Its boot clock began to count at the start. A is there all the time; B comes later."""
    found = History(runs=runs, faults=faults, ups={A: -1.0, B: 12.0}, ahead=START.timestamp())
    return replace(found, **changes)  # type: ignore[arg-type]


def kinds(found: History, job: Job = JOB, until: float = 15.0) -> list[str]:
    broken = verdict.violations(found, [job], START + timedelta(seconds=until))
    return [each.kind for each in broken]


ALL = (a_run(0), a_run(5), a_run(10), a_run(15))
KILLED = a_run(5, ended=None, outcome=None)
AGAIN = a_run(5, B, late=2.5, attempt=2, source="failover")
STOPPED = Fault("stop", 5.5, A, until=9.5)


def test_a_history_in_which_every_fire_ran_once_is_in_order() -> None:
    assert kinds(a_history(*ALL)) == []


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_fire_that_never_ran_is_lost(missing: int) -> None:
    rest = [run for number, run in enumerate(ALL) if number != missing]
    assert kinds(a_history(*rest)) == ["LOST"]


def test_a_shard_that_never_ran_is_lost() -> None:
    assert kinds(a_history(*ALL), replace(JOB, shards=2)) == ["LOST"]


def test_a_fire_that_fell_into_a_run_may_be_stood_for_by_a_later_one() -> None:
    long = a_run(0, ended=10.5)
    assert kinds(a_history(long, a_run(10, late=0.6), a_run(15))) == []


def test_a_fire_that_fell_into_a_run_and_is_stood_for_by_none_is_lost() -> None:
    long = a_run(0, ended=20.5)
    assert kinds(a_history(long)) == ["LOST", "LOST", "LOST"]


def test_where_everything_stood_still_a_later_fire_may_stand_for_one() -> None:
    others = [replace(each, item=1) for each in ALL]
    held_up = replace(a_run(5, late=0.8), item=1)
    two = replace(JOB, shards=2)
    rest = [ALL[0], ALL[2], ALL[3]]
    assert kinds(a_history(*rest, others[0], held_up, *others[2:]), two) == []
    assert kinds(a_history(*rest, *others), two) == ["LOST"]


def test_a_fire_that_fell_while_nobody_was_there_must_run_itself() -> None:
    faults = (Fault("kill", 7.0, A),)
    made_up = a_run(10, B, late=3.0, source="catch-up")
    assert kinds(a_history(a_run(0), a_run(5), made_up, a_run(15, B), faults=faults)) == []
    assert kinds(a_history(a_run(0), a_run(5), a_run(15, B), faults=faults)) == ["LOST"]
    skips = replace(JOB, catch_up="skip")
    assert kinds(a_history(a_run(0), a_run(5), a_run(15, B), faults=faults), skips) == []


def test_a_fire_whose_run_was_cut_short_and_not_made_good_is_lost_and_unfinished() -> None:
    cut_short = a_run(5, outcome=CANCELLED)
    assert kinds(a_history(a_run(0), cut_short, a_run(10), a_run(15))) == ["LOST", "UNFINISHED"]
    assert kinds(a_history(a_run(0), cut_short, AGAIN, a_run(10), a_run(15))) == []


def test_a_run_that_failed_is_a_run() -> None:
    assert kinds(a_history(a_run(0), a_run(5, outcome=FAILED), a_run(10), a_run(15))) == []


def test_two_first_attempts_are_one_too_many() -> None:
    assert kinds(a_history(*ALL, a_run(5, B, late=2.0))) == ["TWICE", "TWICE"]


def test_another_attempt_after_a_good_end_is_one_too_many() -> None:
    assert kinds(a_history(*ALL, AGAIN)) == ["TWICE"]


def test_the_good_end_of_one_who_was_killed_may_not_have_been_heard_of() -> None:
    faults = (Fault("kill", 6.1, A),)
    theirs = (a_run(10, B), a_run(15, B))
    assert kinds(a_history(a_run(0), a_run(5), AGAIN, *theirs, faults=faults, ups={A: -1, B: 0})) == []


def test_two_runs_of_a_shard_at_once_overlap() -> None:
    late = a_run(0, ended=5.5, outcome=FAILED)
    assert kinds(a_history(late, *ALL[1:])) == ["OVERLAP"]


def test_one_who_was_stopped_may_be_stood_in_for_in_the_meantime() -> None:
    asleep, others = replace(KILLED, ended=9.6, outcome=OK), (a_run(10), a_run(15))
    assert kinds(a_history(a_run(0), asleep, AGAIN, *others, faults=(STOPPED,))) == []
    assert kinds(a_history(a_run(0), asleep, AGAIN, *others)) == ["OVERLAP"]


def test_one_who_wakes_up_may_take_a_moment_to_stop_and_no_longer() -> None:
    def woken(late: float) -> History:
        asleep = replace(KILLED, ended=5.1 + late, outcome=CANCELLED)
        others = replace(AGAIN, began=5.0 + late, ended=9.9), a_run(10), a_run(15)
        return a_history(a_run(0), asleep, *others, faults=(replace(STOPPED, until=8.5),))

    assert kinds(woken(late=3.6)) == []
    assert kinds(woken(late=4.0)) == ["OVERLAP"]


def test_one_who_was_stopped_before_its_first_note_may_note_what_it_had_claimed_when_it_wakes() -> None:
    def woken(**changes: object) -> History:
        asleep = a_run(5, token=5000, began=9.52, ended=9.55, outcome=CANCELLED)
        rest = a_run(0), a_run(10), a_run(15)
        return a_history(*rest, replace(asleep, **changes), AGAIN, faults=(STOPPED,))  # type: ignore[arg-type]

    other = replace(STOPPED, pid=B)
    assert kinds(woken()) == []
    assert kinds(woken(token=8000)) == ["TWICE", "UNFINISHED"]
    assert kinds(woken(began=9.9, ended=9.95)) == ["TWICE", "TOKENS", "UNFINISHED"]
    assert kinds(woken(ended=9.9)) == ["TWICE", "TOKENS", "UNFINISHED"]
    assert kinds(woken(outcome=OK)) == ["TWICE", "TOKENS"]
    assert kinds(replace(woken(), faults=(other,))) == ["IDLE", "TOKENS", "UNFINISHED"]


def test_a_run_before_its_time_is_unexpected() -> None:
    assert kinds(a_history(*ALL[:3], a_run(15, late=-0.5))) == ["UNEXPECTED"]


def test_a_run_for_a_time_that_is_not_on_the_list_is_unexpected() -> None:
    assert kinds(a_history(*ALL, a_run(7))) == ["UNEXPECTED"]


def test_a_run_that_nobody_asked_for_is_unexpected() -> None:
    surplus = a_run(7, fire=None, source="trigger")
    assert kinds(a_history(*ALL, surplus)) == ["UNEXPECTED"]
    assert kinds(a_history(*ALL, surplus, asked=((6.9, JOB.name),))) == []


def test_a_request_that_no_run_came_after_is_lost() -> None:
    asked = a_run(7, fire=None, source="trigger")
    assert kinds(a_history(*ALL, asked, asked=((6.9, JOB.name), (7.1, JOB.name)))) == ["LOST"]


def test_a_token_that_does_not_grow_is_no_token() -> None:
    assert kinds(a_history(*ALL[:2], a_run(10, token=5000), a_run(15))) == ["TOKENS"]


def test_the_effect_of_one_with_an_older_token_is_not_accepted() -> None:
    asleep = replace(KILLED, ended=9.6, outcome=OK)
    assert verdict.accepted([asleep, AGAIN]) == {AGAIN}
    assert verdict.accepted([asleep, replace(AGAIN, token=1)]) == {asleep}


def test_a_run_without_an_end_in_a_process_that_lives_is_unfinished() -> None:
    assert kinds(a_history(*ALL[:3], replace(ALL[3], ended=None, outcome=None)), until=14.0) == ["UNFINISHED"]


def test_a_run_of_one_who_died_is_unfinished_unless_somebody_runs_it_again() -> None:
    faults, theirs = (Fault("kill", 5.5, A),), (a_run(10, B), a_run(15, B))
    ups = {A: -1.0, B: 0.0}
    assert kinds(a_history(a_run(0), KILLED, AGAIN, *theirs, faults=faults, ups=ups)) == []
    assert kinds(a_history(a_run(0), KILLED, *theirs, faults=faults, ups=ups)) == ["LOST", "UNFINISHED"]
    plain = replace(JOB, failover=False)
    assert kinds(a_history(a_run(0), KILLED, *theirs, faults=faults, ups=ups), plain) == []


def test_a_time_that_comes_again_is_not_expected_again() -> None:
    steps = ((11.5, -10.0), (21.0, 0.0))
    after = a_run(20, late=1.5)
    assert kinds(a_history(*ALL[:3], after, a_run(25), steps=steps), until=25.0) == []
    again = replace(ALL[1], token=15_200, began=15.2, ended=15.7)
    assert kinds(a_history(*ALL[:3], again, after, a_run(25), steps=steps), until=25.0) == ["TWICE", "TWICE"]


def test_an_hour_that_is_left_out_is_not_expected() -> None:
    steps = ((12.0, 3600.0),)
    ahead = [
        replace(a_run(late), fire=START + timedelta(seconds=3600 + late), source="scheduled")
        for late in (15, 20)
    ]
    assert kinds(a_history(*ALL[:3], *ahead, steps=steps), until=20.0) == []
    assert kinds(a_history(*ALL[:3], *ahead[:1], steps=steps), until=20.0) == ["LOST"]


@pytest.mark.parametrize("source", ["misfire", "catch-up"])
def test_what_is_made_good_although_nothing_was_in_its_way_has_misfired(source: str) -> None:
    spurious = a_run(10, late=0.1, source=source)
    assert kinds(a_history(*ALL[:2], spurious, ALL[3])) == ["MISFIRED"]
    cut = (Fault("cut", 8.9, A, until=9.5),)
    assert kinds(a_history(*ALL[:2], spurious, ALL[3], faults=cut)) == []
    long = a_run(5, ended=8.6)
    assert kinds(a_history(ALL[0], long, spurious, ALL[3])) == []


def test_a_fire_begun_long_after_its_time_by_one_who_was_on_time_with_another_is_late() -> None:
    two = replace(JOB, shards=2)
    on_time = [replace(each, item=1) for each in ALL]
    held_up, fires = a_run(5, late=5.1, ended=10.4), (ALL[0], a_run(10, late=0.5), ALL[3])
    assert kinds(a_history(*fires, held_up, *on_time), two) == ["LATE"]
    elsewhere = [replace(each, pid=B) for each in on_time]
    assert kinds(a_history(*fires, held_up, *elsewhere), two) == []
    cut = (Fault("cut", 4.9, A, until=5.5),)
    assert kinds(a_history(*fires, held_up, *on_time, faults=cut), two) == []


def test_where_everything_stood_still_nothing_is_late() -> None:
    two = replace(JOB, shards=2)
    late = a_run(5, late=4.9, ended=10.4), a_run(10, late=0.6)
    others = replace(late[0], item=1), replace(late[1], item=1)
    rest = ALL[0], ALL[3], replace(ALL[0], item=1), replace(ALL[3], item=1)
    assert kinds(a_history(*late, *others, *rest), two) == []


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault("kill", 17.0, A), []),
        (Fault("kill", 17.0, B), ["IDLE"]),
        (Fault("stop", -0.5, A, until=-0.1), ["IDLE"]),
        (Fault("cut", 5.5, until=5.6), []),
        (Fault("cut", 6.5, until=7.0), ["IDLE"]),
        (Fault("cut", 8.0, until=11.0), []),
        (Fault("step", 8.0), []),
    ],
    ids=str,
)
def test_a_fault_that_met_nobody_at_work_shows_nothing(fault: Fault, found: list[str]) -> None:
    assert kinds(a_history(*ALL, faults=(fault,))) == found


def shared(*owners: str, members: Sequence[str] = ("a", "b")) -> dict[str, Node]:
    """The nodes of a job whose shards belong to these."""
    there = {f"job/instances/{member}": Node(ephemeral=True) for member in members}
    return there | {f"job/sharding/{item}/instance": Node(who) for item, who in enumerate(owners)}


@pytest.mark.parametrize(
    ("nodes", "balanced"),
    [
        (shared("a", "b", "a"), True),
        (shared("a", "a", "a", members=["a"]), True),
        (shared("a", "a", "a"), False),
        (shared("a", "b", "c"), False),
        (shared("a", "b", ""), False),
        (shared("a", "b"), False),
        (shared("a", "b", "a", members=[]), False),
    ],
)
def test_shards_are_spread_to_within_one_over_who_is_there(nodes: dict[str, Node], balanced: bool) -> None:
    found = [each.kind for each in verdict.unbalanced(nodes, [replace(JOB, shards=3)])]
    assert found == ([] if balanced else ["UNBALANCED"])


@pytest.mark.parametrize(
    ("path", "stays"),
    [
        ("job", True),
        ("job/instances", True),
        ("job/instances/a", False),
        ("job/leader/election/latch", True),
        ("job/leader/election/latch/_c_1-latch-0000000001", False),
        ("job/leader/failover/items/0", False),
        ("job/sharding/10/instance", True),
        ("job/sharding/10/running", False),
        ("job/sharding/10/failover", False),
        ("job/trigger/a", False),
        ("job/cursor/10", True),
        ("job/watched/next/10", False),
        ("job/watched/alive/a", False),
        ("job/watched/gap", True),
    ],
)
def test_what_was_of_a_member_or_a_run_is_not_left_when_everybody_has_gone(path: str, stays: bool) -> None:
    assert [each.kind for each in verdict.left({path: Node()})] == ([] if stays else ["LEFT"])
    assert [each.kind for each in verdict.left({path: Node(ephemeral=True)})] == ["LEFT"]


def test_notes_are_read_as_what_they_tell() -> None:
    run = {
        "pid": A,
        "address": "10.0.0.1",
        "job": "job",
        "item": 0,
        "fire": START.isoformat(),
        "token": 7,
        "attempt": 1,
        "source": "scheduled",
        "threads": 9,
        "atexit": 1,
    }
    notes = [
        {"what": "clock", "boot": 1.0, "wall": 1001.0},
        {"what": "up", "boot": 2.0, "pid": A},
        {"what": "begin", "boot": 3.0, **run},
        {"what": "fault", "boot": 3.5, "kind": "stop", "pid": A},
        {"what": "over", "boot": 3.7, "pid": A},
        {"what": "end", "boot": 4.0, "outcome": OK, **run},
        {"what": "asked", "boot": 4.5, "job": "job"},
        {"what": "step", "boot": 5.0, "offset": 3600.0},
        {"what": "left", "boot": 6.0, "pid": A},
    ]
    assert history.read(json.dumps(note) for note in notes) == History(
        runs=(Run(A, "job", 0, START, 7, 3.0, 4.0, OK, 1, "scheduled", threads=9, at_exit=1),),
        faults=(Fault("stop", 3.5, A, until=3.7),),
        ups={A: 2.0},
        left={A: 6.0},
        ahead=1000.0,
        steps=((5.0, 3600.0),),
        asked=((4.5, "job"),),
    )
