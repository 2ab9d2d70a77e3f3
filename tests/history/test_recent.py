"""The last fires of jobs: of many at once, and of one with its shards."""

from datetime import timedelta

from shardwright.history import recent
from shardwright.history.ledger import Disposition, Entry, Key, Verdict
from shardwright.history.recent import Summary
from shardwright.history.store import Store

from .fires import ME, T, a_key, a_run, an_attempt


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def test_of_each_job_the_last_fires_are_told_by_the_worst_of_their_shards(store: Store) -> None:
    store.write(
        [
            a_run(0),
            a_run(1, outcome="failed", late=3),
            a_run(0, at=T + minutes(1)),
            a_run(1, at=T + minutes(1), late=1),
            a_run(0, job="other"),
        ]
    )
    later = T + minutes(1)
    ok = Summary(later.isoformat(), later, Disposition.RAN, "ok", later + timedelta(seconds=2), 1.0)
    failed = Summary(T.isoformat(), T, Disposition.RAN, "failed", T + timedelta(seconds=4), 3.0)
    other = Summary(T.isoformat(), T, Disposition.RAN, "ok", T + timedelta(seconds=1), 0.0)
    assert recent.summaries(store, {"reindex": 2, "other": 1, "nosuch": 3}, 5) == {
        "reindex": (ok, failed),
        "other": (other,),
    }
    assert recent.summaries(store, {"reindex": 2}, 1) == {"reindex": (ok,)}
    assert recent.summaries(store, {}, 5) == {}


def test_many_jobs_are_asked_for_by_several_statements(store: Store) -> None:
    names = [f"job-{each}" for each in range(recent.AT_ONCE + 5)]
    store.write([a_run(job=name) for name in names])
    assert set(recent.summaries(store, dict.fromkeys(names, 1), 3)) == set(names)


def test_the_last_fire_is_the_last_that_is_over(store: Store) -> None:
    running = Entry(a_key(at=T + minutes(1)), T + minutes(1), (an_attempt(at=T + minutes(1)),))
    store.write([a_run(), running])
    told = recent.summaries(store, {"reindex": 1}, 5)["reindex"]
    assert [each.disposition for each in told] == [Disposition.RUNNING, Disposition.RAN]
    assert told[0].ended is None
    assert recent.last(told) is told[1]
    assert recent.last(told[:1]) is told[0]
    assert recent.last(()) is None


def test_what_was_lost_or_skipped_outweighs_what_ran(store: Store) -> None:
    lost = Entry(a_key(1), T, (), Verdict(Disposition.LOST, T, "its runner died"))
    store.write([a_run(0), lost])
    (told,) = recent.summaries(store, {"reindex": 2}, 5)["reindex"]
    assert (told.disposition, told.outcome) == (Disposition.LOST, "")


def test_of_a_job_with_very_many_shards_no_failed_one_is_overlooked(store: Store) -> None:
    later = T + minutes(1)
    store.write(
        [
            *(a_run(item, outcome="failed" if item == 900 else "ok") for item in range(1000)),
            *(a_run(item, at=later, late=7 if item == 901 else 0) for item in range(1000)),
            a_run(0, job="other"),
        ]
    )
    ok = Summary(later.isoformat(), later, Disposition.RAN, "ok", later + timedelta(seconds=8), 7.0)
    failed = Summary(T.isoformat(), T, Disposition.RAN, "failed", T + timedelta(seconds=1), 0.0)
    told = recent.summaries(store, {"reindex": 1000, "other": 1, "nosuch": 1000}, 5)
    assert set(told) == {"reindex", "other"}
    assert told["reindex"] == (ok, failed)
    assert recent.summaries(store, {"reindex": 1000}, 1) == {"reindex": (ok,)}


def test_of_a_job_with_very_many_shards_the_last_fire_is_the_last_that_is_over(store: Store) -> None:
    later = T + minutes(1)
    begun = Entry(a_key(900, at=later), later, (an_attempt(at=later),))
    store.write(
        [
            *(a_run(item, outcome="failed" if item == 900 else "ok") for item in range(1000)),
            *(a_run(item, at=later) for item in range(1000) if item != 900),
            begun,
        ]
    )
    told = recent.summaries(store, {"reindex": 1000}, 2)["reindex"]
    assert (told[0].disposition, told[0].ended) == (Disposition.RUNNING, None)
    last = recent.last(told)
    assert last is not None
    assert (last.due, last.outcome) == (T, "failed")


def test_of_a_job_with_very_many_shards_fires_that_were_asked_for_are_told_too(store: Store) -> None:
    def asked(item: int) -> Entry:
        attempt = an_attempt(f"b{item}", began=1, ended=2, outcome="failed" if item == 5 else "ok")
        return Entry(Key("reindex", 7, "#3", item), T + timedelta(seconds=1 + item / 1000), (attempt,))

    store.write([*(a_run(item) for item in range(500)), *(asked(item) for item in range(500))])
    told = recent.summaries(store, {"reindex": 500}, 5)["reindex"]
    assert [(each.fire, each.outcome) for each in told] == [("#3", "failed"), (T.isoformat(), "ok")]


def test_a_job_that_had_very_many_shards_when_it_last_fired_is_counted_whole(store: Store) -> None:
    store.write([a_run(item, outcome="failed" if item == 500 else "ok") for item in range(600)])
    for shards in (3, 150):
        (told,) = recent.summaries(store, {"reindex": shards}, 5)["reindex"]
        assert told.outcome == "failed", shards


def test_no_fire_is_told_by_some_of_its_shards_only(store: Store) -> None:
    store.write(
        [
            a_run(item, at=T + minutes(each), outcome="failed" if item == 0 else "ok")
            for each in range(4)
            for item in range(150)
        ]
    )
    told = recent.summaries(store, {"reindex": 150}, 5)["reindex"]
    assert [(each.due, each.outcome) for each in told] == [
        (T + minutes(3), "failed"),
        (T + minutes(2), "failed"),
    ]


def test_a_timeline_has_the_last_fires_with_their_shards_in_order(store: Store) -> None:
    store.write([a_run(item, at=T + minutes(each)) for each in range(4) for item in (2, 0, 1)])
    found = recent.fires(store, "reindex", 2)
    assert [each.due for each in found] == [T + minutes(3), T + minutes(2)]
    assert [[entry.key.item for entry in each.shards] for each in found] == [[0, 1, 2]] * 2
    before = recent.fires(store, "reindex", 5, found[-1].due)
    assert [each.due for each in before] == [T + minutes(1), T]
    assert recent.fires(store, "nosuch", 5) == []


def test_of_a_fire_with_very_many_shards_the_first_are_told_and_all_are_counted(store: Store) -> None:
    shards = recent.STRIDE + 50
    store.write([a_run(item, at=T + minutes(each)) for each in range(2) for item in range(shards)])
    found = recent.fires(store, "reindex", 5)
    assert [(each.due, len(each.shards), each.total, each.last) for each in found] == [
        (T + minutes(1), recent.MOST_SHARDS, shards, shards - 1),
        (T, recent.MOST_SHARDS, shards, shards - 1),
    ]


def test_of_a_fire_with_very_many_shards_those_are_told_that_are_asked_for(store: Store) -> None:
    shards = recent.MOST_SHARDS * 2 + 50
    store.write([*(a_run(item) for item in range(shards)), a_run(3, at=T + minutes(1))])
    told = recent.fires(store, "reindex", 5, first=recent.MOST_SHARDS * 2)
    assert [([entry.key.item for entry in each.shards], each.total, each.last) for each in told] == [
        ([], 1, 3),
        ([*range(recent.MOST_SHARDS * 2, shards)], shards, shards - 1),
    ]


def test_fires_that_were_asked_for_stand_where_they_were_heard_of(store: Store) -> None:
    def asked(item: int, at: float) -> Entry:
        attempt = an_attempt(f"b{item}", by=ME, began=at, ended=at + 1, outcome="ok", source="trigger")
        return Entry(Key("reindex", 7, "#3", item), T + timedelta(seconds=at), (attempt,))

    store.write([a_run(0), *(asked(item, 1 + item / 100) for item in range(3)), a_run(0, at=T + minutes(1))])
    assert [(each.fire, each.total) for each in recent.fires(store, "reindex", 9)] == [
        ((T + minutes(1)).isoformat(), 1),
        ("#3", 3),
        (T.isoformat(), 1),
    ]
