"""ElasticJob's tables as they are read: what a Java member wrote there, by its own statements, and what we
did."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import text

from shardwright.history import traces
from shardwright.history.engine import HistoryError, open_engine
from shardwright.history.store import Store
from shardwright.history.traces import Execution, State
from shardwright.outcomes import FAILED
from tests.history.fires import T, a_run, after
from tests.history.java import a_java_run, a_java_state
from tests.history.test_elasticjob import OLD_COLUMNS, OLD_STATES


def test_a_run_of_a_java_member_is_told(store: Store) -> None:
    a_java_run(store, 3, success=False, failure="java.lang.IllegalStateException: token=s3cret-s3cret")
    assert traces.executions(store).runs == (
        Execution(
            "id-3",
            "reindex",
            "reindex@-@0@-@READY@-@10.0.0.9@-@4711",
            "host-a",
            "10.0.0.9",
            3,
            "NORMAL_TRIGGER",
            False,
            "java.lang.IllegalStateException: token=***",
            T,
            after(2),
        ),
    )


def test_runs_of_ours_are_told_beside_those_of_java_members(store: Store) -> None:
    store.write([a_run(outcome=FAILED), a_run(at=T + timedelta(hours=2))])
    a_java_run(store, 9, began=T + timedelta(hours=1))
    found = traces.executions(store).runs
    assert [(each.ip, each.success) for each in found] == [
        ("10.0.0.1", True),
        ("10.0.0.9", True),
        ("10.0.0.1", False),
    ]
    assert {each.state for each in traces.states(store).states} == {
        *("TASK_STAGING", "TASK_RUNNING", "TASK_FINISHED", "TASK_ERROR")
    }


def test_runs_are_chosen_by_job_server_time_and_success(store: Store) -> None:
    a_java_run(store, 0)
    a_java_run(store, 1, job="Reindex")
    a_java_run(store, 2, ip="10.0.0.10", began=after(60))
    a_java_run(store, 3, success=False, began=after(120))

    def found(**asked: object) -> list[int]:
        return sorted(each.shard for each in traces.executions(store, **asked).runs)  # type: ignore[arg-type]

    assert found() == [0, 1, 2, 3]
    assert found(job="reindex") == [0, 2, 3]
    assert found(job="Reindex") == [1]
    assert found(job="rein%") == []
    assert found(ip="10.0.0.10") == [2]
    assert found(success=True) == [0, 1, 2]
    assert found(success=False, job="reindex") == [3]
    assert found(begin=after(60)) == [2, 3]
    assert found(end=after(60)) == [0, 1]
    assert found(begin=after(1), end=after(119.5)) == [2]


@pytest.mark.parametrize("old", [False, True])
def test_states_are_told_of_tables_of_both_generations(address: str, old: bool) -> None:
    if old:
        engine = open_engine(address)
        with engine.begin() as connection:
            connection.execute(text(OLD_STATES[engine.dialect.name].format(columns=OLD_COLUMNS)))
        engine.dispose()
    with Store(address, trace=True) as store:
        for number, state in enumerate(["TASK_STAGING", "TASK_RUNNING"]):
            a_java_state(store, number, state, old=old)
        a_java_state(store, 2, "TASK_ERROR", message="{0=password=s3cret-s3cret}", old=old)
        a_java_state(store, 3, "TASK_FINISHED", job="other", old=old)
        task = ("a task", "10.0.0.9", "[0, 1]")
        failed = State("id-2", "reindex", *task, "TASK_ERROR", "{0=password=***}", after(2))
        assert traces.states(store, job="reindex").states == (
            failed,
            State("id-1", "reindex", *task, "TASK_RUNNING", "", after(1)),
            State("id-0", "reindex", *task, "TASK_STAGING", "", T),
        )
        assert traces.states(store, state="TASK_ERROR").states == (failed,)
        assert [each.id for each in traces.states(store, begin=after(1), end=after(3)).states] == [
            "id-2",
            "id-1",
        ]


def pages(read: Callable[[str | None], tuple[list[str], str | None]]) -> list[list[str]]:
    """All pages, one after the other."""
    found, more = read(None)
    everything = [found]
    while more is not None:
        found, more = read(more)
        everything.append(found)
    return everything


def test_pages_have_every_run_once_the_newest_first_and_those_without_a_time_last(store: Store) -> None:
    for number, at in enumerate([T, None, after(9), T, T, None, after(9)]):
        a_java_run(store, number, began=at)
    store.write([a_run(77)])  # at the same moment, in another spelling

    def read(more: str | None) -> tuple[list[str], str | None]:
        page = traces.executions(store, limit=2, after=more)
        return [str(each.shard) for each in page.runs], page.after

    found = pages(read)
    assert [len(page) for page in found] == [2, 2, 2, 2]
    assert [set(found[0]), set(found[1] + found[2]), set(found[3])] == [
        {"2", "6"},
        {"0", "3", "4", "77"},
        {"1", "5"},
    ]


def test_pages_have_every_state_once(store: Store) -> None:
    numbered = store.dialect == "mysql"  # so that what came at once is still in order
    for number in range(5):
        a_java_state(store, number // 2 if numbered else number, f"TASK_{number}")

    def read(more: str | None) -> tuple[list[str], str | None]:
        page = traces.states(store, limit=2, after=more)
        return [each.state for each in page.states], page.after

    assert pages(read) == [["TASK_4", "TASK_3"], ["TASK_2", "TASK_1"], ["TASK_0"]]


@pytest.mark.parametrize("after", ["", "page 2", "soon/1", "2030-01-01"])
def test_what_is_no_page_is_refused(store: Store, after: str) -> None:
    with pytest.raises(HistoryError, match="take `after` from the page before"):
        traces.executions(store, after=after)


def test_where_the_tables_are_not_there_or_are_others_nothing_is_told(address: str) -> None:
    with Store(address, trace=True) as store:
        assert store.trace is not None
        executions, states = store.trace.executions, store.trace.states.name
        store.writing(executions.drop)
        store.writing(
            lambda connection: connection.execute(text(f"alter table {states} drop column message"))
        )
        assert traces.executions(store).runs == ()
        assert traces.states(store).states == ()
