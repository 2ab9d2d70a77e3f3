"""Retention: tables and files stay bounded, and what was in them stays counted."""

from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, insert, select

from shardwright.history import queries
from shardwright.history.events import Logged
from shardwright.history.keeping import Retention
from shardwright.history.ledger import Disposition, Entry
from shardwright.history.retention import tidy
from shardwright.history.store import Store
from shardwright.history.tables import ATTEMPT_LOG, LEDGER
from shardwright.outcomes import FAILED, OK
from tests.faults.processes import Child
from tests.history import children
from tests.history.fires import T, a_key, a_run, after, an_attempt

DAY = 86400
NOW = after(100 * DAY)
WEEK = Retention(age=timedelta(days=7))


def rows(store: Store) -> int:
    return store.reading(lambda connection: connection.scalar(select(func.count()).select_from(LEDGER)) or 0)


def test_what_is_too_old_goes_and_stays_counted(store: Store) -> None:
    old = [a_run(item, late=item) for item in range(3)] + [a_run(3, outcome=FAILED)]
    store.write([*old, a_run(at=after(99 * DAY))])
    before = queries.statistics(store)
    assert tidy(store, WEEK, NOW) == 4
    assert rows(store) == 1
    assert queries.statistics(store) == before
    ok = queries.Count("reindex", T.date(), Disposition.RAN, OK, 3, 3.0, 2.0, 3.0)
    assert ok in before


def test_a_day_may_go_bit_by_bit(store: Store) -> None:
    store.write([a_run(at=after(3600 * hour), late=hour) for hour in range(6)])
    before = queries.statistics(store)
    for hour in (2, 4, 6):
        assert tidy(store, Retention(age=timedelta()), after(3600 * hour)) == 2
    assert queries.statistics(store) == before


def test_only_so_many_rows_are_kept_the_latest(store: Store) -> None:
    store.write([a_run(at=after(60 * minute)) for minute in range(30)])
    assert tidy(store, Retention(rows=10), T) == 20
    assert [entry.due for entry in queries.history(store).entries] == [
        after(60 * m) for m in range(29, 19, -1)
    ]


def test_what_runs_for_longer_than_the_rows_go_back_is_not_counted_before_its_end(store: Store) -> None:
    began = Entry(a_key(), T, (an_attempt("1"),))
    store.write([began, *(a_run(at=after(60 * minute)) for minute in range(1, 30))])
    assert tidy(store, Retention(rows=10), T) == 19
    over = Entry(a_key(), T, (an_attempt("1", ended=3600, outcome=FAILED),))
    store.write([over])
    assert queries.fire(store, "reindex", T)[0].outcome == FAILED
    assert tidy(store, Retention(rows=10), T) == 0  # it is over since a moment only
    outcomes = {(count.outcome, count.fires) for count in queries.statistics(store)}
    assert outcomes == {(OK, 29), (FAILED, 1)}


def test_what_ran_so_long_ago_that_nobody_tells_of_its_end_goes_too(store: Store) -> None:
    store.write([Entry(a_key(), T, (an_attempt("1"),)), a_run(at=after(99 * DAY))])
    assert tidy(store, WEEK, NOW) == 1


def test_what_has_been_counted_is_not_taken_in_again(store: Store) -> None:
    store.write([a_run()])
    tidy(store, WEEK, NOW)
    store.write([a_run()])
    assert rows(store) == 0
    assert sum(count.fires for count in queries.statistics(store)) == 1


def test_what_is_run_long_after_it_was_due_is_kept_from_then_on(store: Store) -> None:
    """The fire was counted long ago, and somebody wants it run after all."""
    store.write([a_run(), a_run(at=after(99 * DAY))])
    assert tidy(store, WEEK, NOW) == 1
    now = 100.0 * DAY
    again = Entry(a_key(), T, (an_attempt("9", began=now, ended=now + 1, outcome=FAILED, source="trigger"),))
    store.write([again])
    assert tidy(store, WEEK, NOW) == 0
    assert [entry.outcome for entry in queries.fire(store, "reindex", T)] == [FAILED]
    assert tidy(store, WEEK, after(120 * DAY)) == 2


def test_a_clock_that_is_far_ahead_keeps_nothing_from_being_told_later(store: Store) -> None:
    years = after(10 * 365 * DAY)
    tidy(store, WEEK, years)  # nothing is there yet
    store.write([a_run()])
    tidy(store, WEEK, years)
    store.write([a_run(), a_run(at=after(60))])
    assert [entry.due for entry in queries.history(store).entries] == [after(60)]
    assert sum(count.fires for count in queries.statistics(store)) == 2


def test_what_is_not_kept_any_more_is_no_gap(store: Store) -> None:
    store.write([a_run()])
    tidy(store, WEEK, NOW)
    fires = [T, after(99 * DAY)]
    assert store.gaps("reindex", fires, 1, made=7) == [(fires[1].isoformat(), 0)]


def test_logs_notes_and_elasticjobs_rows_of_ours_go_too(store: Store) -> None:
    assert store.trace is not None
    executions = store.trace.executions
    store.write([a_run()], [_logged()])
    store.audit(at=T - timedelta(days=1000), who="ann", what="disable", target="reindex")
    theirs = {
        "id": "6f2c0f8e-5a55-4a55-9555-555555555555",
        "job_name": "java",
        "task_id": "java@-@0@-@READY@-@10.0.0.9@-@1",
        "hostname": "h",
        "ip": "10.0.0.9",
        "sharding_item": 0,
        "execution_source": "NORMAL_TRIGGER",
        "is_success": True if store.trace.boolean else 1,
        "start_time": T.replace(tzinfo=None),
    }
    store.writing(lambda connection: connection.execute(insert(executions), theirs))
    tidy(store, WEEK, NOW)
    assert store.reading(lambda connection: connection.execute(select(ATTEMPT_LOG)).all()) == []
    assert queries.audit(store) == []
    left = store.reading(lambda connection: connection.scalars(select(executions.c.job_name)).all())
    assert left == ["java"]
    assert store.reading(lambda connection: connection.execute(select(store.trace.states)).all()) == []  # type: ignore[union-attr]


def _logged() -> Logged:
    return Logged(at=T, job="reindex", made=7, fire=T.isoformat(), item=0, attempt="a", text="x")


def test_tidying_again_finds_nothing_more(store: Store) -> None:
    store.write([a_run()])
    assert tidy(store, WEEK, NOW) == 1
    assert tidy(store, WEEK, NOW) == 0


def test_many_who_tidy_at_once_count_every_row_once(store: Store, address: str) -> None:
    for n in range(4):
        store.write([a_run(item, at=after(n)) for item in range(500)])
    before = queries.statistics(store)
    tidying = [Child(children.tidy_at_once, address, listens=True) for _ in range(3)]
    try:
        for child in tidying:
            child.expect("ready", 60)
        for child in tidying:
            child.tell("go")
        gone = [int(child.expect("tidied", 60).split()[1]) for child in tidying]
    finally:
        for child in tidying:
            child.close()
    assert sum(gone) == 2000
    assert rows(store) == 0
    assert queries.statistics(store) == before


def test_a_file_gives_the_room_back(tmp_path: Path) -> None:
    file = tmp_path / "history.db"
    with Store(f"sqlite:///{file}") as store:
        empty = _size(store)
        for n in range(10):
            store.write([a_run(item, at=after(n)) for item in range(200)])
        full = _size(store)
        tidy(store, WEEK, NOW)
        assert _size(store) - empty < (full - empty) / 10
    assert file.stat().st_size < full


def test_a_file_that_gives_no_room_back_is_tidied_all_the_same(tmp_path: Path) -> None:
    """Somebody else has made it, and it keeps its pages."""
    file = tmp_path / "history.db"
    file.touch()
    with Store(file) as store:
        store.write([a_run(item, at=after(60 * minute)) for minute in range(20) for item in range(50)])
        assert tidy(store, WEEK, NOW) == 1000
        free = store.reading(lambda connection: connection.exec_driver_sql("pragma freelist_count").scalar())
        assert (free or 0) > 0


def test_a_file_that_is_tidied_as_it_fills_does_not_grow(tmp_path: Path) -> None:
    keep, sizes = Retention(rows=300), list[int]()
    with Store(f"sqlite:///{tmp_path / 'history.db'}") as store:
        for n in range(12):
            store.write([a_run(item, at=after(n)) for item in range(300)])
            tidy(store, keep, T)
            sizes.append(_size(store))
    assert sizes[-1] <= 1.2 * sizes[3]


def _size(store: Store) -> int:
    """How large the file is when all is written to it."""

    def ask(pragma: str) -> int:
        return store.reading(lambda connection: connection.exec_driver_sql(f"pragma {pragma}").scalar() or 0)

    return ask("page_count") * ask("page_size")
