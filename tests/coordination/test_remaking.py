"""A job that was removed and is made anew: what is left of the one before says nothing about it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shardwright import Scheduler
from shardwright.coordination import again, barrier, claim, due, ending, firing, gap, milestone, request
from shardwright.coordination.barrier import Last
from shardwright.coordination.gap import Gap
from shardwright.coordination.milestone import Mark
from shardwright.coordination.step import Put, Step, do
from shardwright.coordination.view import Hooks, Run, View
from shardwright.ops import past
from shardwright.ops.operator import Operator
from shardwright.registry import Create, Delete, Node
from shardwright.testing import Cluster, Replica

from .test_firing import LED, T, owned, starts
from .views import NOW, A, B, Told, a_view

#: Which commits made the job before, and this one.
BEFORE, NOW_MADE = 3, 7
EARLIER = NOW - timedelta(hours=5)
OLD = (NOW - timedelta(hours=1)).isoformat()


def remade(nodes: dict[str, Told], *, written: int = BEFORE, **more: object) -> View:
    """A view of a job that was made anew, with these nodes, which were written in some commit."""
    made = {"": NOW_MADE, **dict.fromkeys(nodes, written)}
    return a_view({"": "", **LED, **owned(A, A), **nodes}, made=made, **{"now": T, "since": {}, **more})  # type: ignore[arg-type]


def there_since(view: View, when: datetime) -> View:
    return replace(view, local=replace(view.local, since=when))


STOOD = Gap("0/10 * * * * ? UTC", 2, since=EARLIER, alone=EARLIER, born=EARLIER)


# How things stood


@pytest.mark.parametrize("written", [BEFORE, NOW_MADE + 1], ids=["before", "by one who had not heard of it"])
@pytest.mark.parametrize("made", [BEFORE, 0])
def test_how_things_stood_in_the_job_before_is_not_believed_and_written_anew(made: int, written: int) -> None:
    left = replace(STOOD, made=made).text()
    view = there_since(remade({"~gap": (left, 5)}, written=written), NOW)
    assert gap.known(view) is None
    assert not gap.settled(view)
    stands = replace(STOOD, since=NOW, alone=NOW, born=NOW, made=NOW_MADE)
    assert list(gap.decide(view)) == [do(Put("~gap", stands.text(), 5))]


def test_nothing_of_the_calendar_begins_before_that() -> None:
    for catch_up in ("skip", "once", "all"):
        view = there_since(remade({"~gap": STOOD.text()}, config={"catch_up": catch_up}), T)
        assert starts([*firing.decide(view)]) == []


def test_what_was_written_with_the_job_is_about_it_and_stays() -> None:
    """Its number is not known before the commit has landed."""
    view = remade({"~gap": (STOOD.text(), 0)}, written=NOW_MADE)
    assert gap.known(view) == STOOD
    assert list(gap.decide(view)) == []


def test_no_fire_from_before_its_making_is_owed() -> None:
    stands = replace(STOOD, since=NOW, alone=NOW, born=NOW, made=NOW_MADE)
    view = remade({"~gap": stands.text()}, written=NOW_MADE + 1, config={"catch_up": "all"})
    assert due.answered(there_since(view, NOW), 0) == NOW


# Fires of the past, and requests


@pytest.mark.parametrize("written", [BEFORE, NOW_MADE + 1])
def test_a_fire_of_the_past_that_was_wanted_of_the_job_before_is_not_run(written: int) -> None:
    for made, wanted in ((BEFORE, []), (NOW_MADE, [OLD])):
        nodes: dict[str, Told] = {
            "~gap": replace(STOOD, made=NOW_MADE).text(),
            "~again/0": again.text([(OLD, 2)], made),
        }
        view = there_since(remade(nodes, written=written, now=NOW), NOW)
        assert [begun.fire for begun in starts([*firing.decide(view)])] == wanted


@pytest.mark.parametrize(
    ("number", "owed"), [(BEFORE, 0), (NOW_MADE, NOW_MADE), (NOW_MADE + 1, NOW_MADE + 1)]
)
def test_a_request_from_before_its_making_was_made_to_another_job(number: int, owed: int) -> None:
    view = remade({"~owed/0": f"{number} wipe=2029"}, written=NOW_MADE + 1)
    assert request.owed(view, 0, A) == owed
    assert request.parameter(view, 0, A) == ("wipe=2029" if owed else "")


# Marks, and calls


def test_how_far_the_shards_of_the_job_before_had_come_is_no_milestone() -> None:
    fire, place = NOW.isoformat(), (milestone.STARTED, milestone.SCHEDULED)
    for made, marks in ((BEFORE, {}), (NOW_MADE, {0: Mark(fire, NOW, made=NOW_MADE)})):
        node = milestone.mark_node(place, 0)
        view = remade({node: Mark(fire, NOW, made=made).text()}, written=NOW_MADE + 1)
        assert milestone.marks_of(view, place) == marks


def test_a_call_that_the_job_before_did_not_end_is_not_made_again() -> None:
    place = (milestone.STARTED, milestone.SCHEDULED)
    node = barrier.called_node(place)
    nodes: dict[str, Told] = {
        node: (Last(NOW.isoformat(), "10.0.0.9@-@9-x", barrier.CALLING, made=BEFORE).text(), 6)
    }
    marks: dict[str, Told] = {
        milestone.mark_node(place, item): Mark(T.isoformat(), T, made=NOW_MADE).text() for item in (0, 1)
    }
    view = remade(nodes, written=NOW_MADE + 1, hooks=Hooks(started=True))
    assert barrier.last_call(view, place) is None
    assert list(barrier.decide(view)) == []
    view = remade({**nodes, **marks}, written=NOW_MADE + 1, hooks=Hooks(started=True))
    (step,) = barrier.decide(view)
    assert isinstance(step, Step)
    assert Put(node, Last(T.isoformat(), A, barrier.CALLING, made=NOW_MADE).text(), 6) in step.writes


# Word about shards


def test_a_shard_is_not_handed_to_somebody_who_is_not_in_the_job() -> None:
    """Whoever was to have it in the job before, or has gone since the leader left word."""
    run = claim.Tenure(A, "3", T.isoformat(), "scheduled", 1)
    at = claim.Cursor(made=NOW_MADE, at=T, run=run).text()
    cursors = {0: Node(at, 3, "", NOW_MADE, NOW_MADE), 1: None}
    nodes: dict[str, Told] = {"sharding/0/running": A, "~next/0": (B, 2), f"~alive/{B}": ""}
    (step,) = ending.decide(remade(nodes, cursors=cursors, runs={0: Run("3", "ok")}))
    about_it = [write for write in step.writes if write.path in ("sharding/0/instance", "~next/0")]
    assert about_it == [Delete("~next/0", 2)]


# With whole processes


def hourly(catch_up: str = "skip", *, shards: int = 1) -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(
        lambda shard: None, "job", cron="0 0 * * * ?", time_zone="UTC", shards=shards, catch_up=catch_up
    )
    return scheduler


def operator(cluster: Cluster) -> Operator:
    return Operator(cluster.store.connect(), who="somebody", audit=lambda entry: None)


def hour(number: int) -> datetime:
    return datetime(2030, 1, 1, number, tzinfo=UTC)


def by_force(cluster: Cluster) -> None:
    operator(cluster).remove("job", force=True, patience=0.0)


def by_hand(cluster: Cluster) -> None:
    registry = cluster.store.connect()
    registry.commit(Delete(f"{registry.namespace}/job", recursive=True))


def runs(replica: Replica) -> list[tuple[object, ...]]:
    return [(run.fire_time, run.source, run.job_parameter) for run in replica.runs]


REMOVALS = pytest.mark.parametrize("remove", [by_force, by_hand])


@REMOVALS
@pytest.mark.parametrize("catch_up", ["skip", "once", "all"])
def test_a_job_made_anew_runs_no_fire_that_the_one_before_has_run_and_nobody_misses_them(
    catch_up: str, remove: Callable[[Cluster], None], caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster()
    first = cluster.start(hourly(catch_up), lasting=100.0)
    cluster.advance(hours=5, seconds=10)
    remove(cluster)
    cluster.advance(minutes=5)  # its run has ended by then
    second = cluster.start(hourly(catch_up))
    cluster.advance(minutes=12)
    assert len(first.runs) == 5
    assert second.runs == []
    cluster.advance(hours=1)
    assert runs(second) == [(hour(6), "scheduled", "")]
    assert "missed" not in caplog.text


@REMOVALS
@pytest.mark.parametrize("wait", [0.0, 30.0], ids=["while its run goes on", "afterwards"])
def test_a_job_made_anew_runs_nothing_that_was_asked_of_the_one_before(
    wait: float, remove: Callable[[Cluster], None]
) -> None:
    cluster = Cluster()
    cluster.start(hourly(), lasting=1000.0)
    cluster.advance(hours=5, seconds=10)
    operator(cluster).backfill("job", hour(1), hour(4))
    operator(cluster).trigger("job", shards=[0], parameter="wipe=2029")
    remove(cluster)
    cluster.advance(minutes=wait)
    second = cluster.start(hourly())
    cluster.advance(minutes=20)
    assert second.runs == []
    assert past.left(cluster.store.connect(), "job") == past.Left("job", 0, 0)
    operator(cluster).rerun("job", hour(2))
    operator(cluster).trigger("job", shards=[0], parameter="count")
    cluster.advance(seconds=10)
    assert sorted(runs(second), key=str) == [(None, "trigger", "count"), (hour(2), "trigger", "")]


def test_it_is_the_same_where_somebody_else_has_made_the_job_as_java_members_do() -> None:
    cluster = Cluster()
    first = cluster.start(hourly("all"), lasting=1000.0)
    cluster.advance(hours=5, seconds=10)
    operator(cluster).backfill("job", hour(1), hour(4))
    by_hand(cluster)
    registry = cluster.store.connect()
    registry.commit(Create(f"{registry.namespace}/job"))
    cluster.advance(minutes=30)
    second = cluster.start(hourly("all"))
    cluster.advance(minutes=2)
    assert (len(first.runs), second.runs) == (5, [])


def test_a_shard_that_was_taken_away_and_comes_back_runs_nothing_that_was_asked_of_it_before() -> None:
    cluster = Cluster()
    only = cluster.start(hourly(shards=2), lasting=1000.0)
    cluster.advance(hours=5, seconds=10)
    operator(cluster).backfill("job", hour(1), hour(4), shards=[1])
    operator(cluster).trigger("job", shards=[1], parameter="wipe=2029")
    operator(cluster).update("job", {"shards": 1})
    cluster.advance(hours=10, minutes=30)
    assert past.left(cluster.store.connect(), "job") == past.Left("job", 0, 0)
    before = len(only.runs)
    operator(cluster).update("job", {"shards": 2})
    cluster.advance(hours=2)
    assert sorted((str(run.fire_time), run.item, run.source) for run in only.runs[before:]) == [
        (str(hour(number)), item, "scheduled") for number in (16, 17) for item in (0, 1)
    ]
