"""ElasticJob's tables: its own columns, in both generations, each run once."""

from collections.abc import Mapping

import pytest
from sqlalchemy import create_engine, inspect, select, text

from shardwright.history import ledger, queries
from shardwright.history.engine import HistoryError, open_engine
from shardwright.history.ledger import Disposition, Entry
from shardwright.history.store import Store
from shardwright.outcomes import FAILED, OK
from tests.history.fires import ME, OTHER, T, a_key, a_run, after, an_attempt

EXECUTION_COLUMNS = {
    *("id", "job_name", "task_id", "hostname", "ip", "sharding_item", "execution_source"),
    *("failure_cause", "is_success", "start_time", "complete_time"),
}
STATE_COLUMNS = {
    *("id", "job_name", "original_task_id", "task_id", "slave_id", "execution_type", "sharding_item"),
    *("state", "message", "creation_time"),
}

# As version 3.0.4 makes them.
OLD_STATES = {
    "sqlite": """create table JOB_STATUS_TRACE_LOG (id varchar(40) not null primary key, {columns})""",
    "postgresql": """create table JOB_STATUS_TRACE_LOG (id varchar(40) not null primary key, {columns})""",
    "mysql": """create table `JOB_STATUS_TRACE_LOG` (
        auto_id int not null auto_increment primary key, id varchar(40) not null, {columns},
        index TASK_ID_STATE_INDEX (task_id(128), state)) default charset latin1""",
}
OLD_COLUMNS = """
    job_name varchar(100) not null, original_task_id varchar(255) not null, task_id varchar(255) not null,
    slave_id varchar(50) not null, source varchar(50) not null, execution_type varchar(20) not null,
    sharding_item varchar(100) not null, state varchar(20) not null, message varchar(4000) null,
    creation_time timestamp null"""


def rows(store: Store, which: str) -> list[Mapping[str, object]]:
    assert store.trace is not None
    table = getattr(store.trace, which)
    found = store.reading(lambda connection: connection.execute(select(table)).mappings().all())
    return [dict(row) for row in found]


def test_the_tables_have_elasticjobs_names_and_columns(store: Store, address: str) -> None:
    engine = open_engine(address)
    columns = {
        table.upper(): {column["name"] for column in inspect(engine).get_columns(table)}
        for table in inspect(engine).get_table_names()
    }
    engine.dispose()
    assert columns["JOB_EXECUTION_LOG"] - {"auto_id"} == EXECUTION_COLUMNS
    assert columns["JOB_STATUS_TRACE_LOG"] - {"auto_id"} == STATE_COLUMNS
    assert ("auto_id" in columns["JOB_EXECUTION_LOG"]) == (store.dialect == "mysql")


def test_a_run_is_written_at_its_start_and_completed_at_its_end(store: Store) -> None:
    begun = Entry(a_key(), T, (an_attempt(began=1),))
    store.write([begun])
    [row] = rows(store, "executions")
    assert (row["is_success"], row["complete_time"]) == (0, None)
    store.write([Entry(a_key(), T, (an_attempt(began=1, ended=3, outcome=OK),))])
    [row] = rows(store, "executions")
    assert row["task_id"] == f"reindex@-@0@-@READY@-@{ME}"
    assert (row["ip"], row["hostname"], row["execution_source"]) == ("10.0.0.1", "10.0.0.1", "NORMAL_TRIGGER")
    assert (row["is_success"], row["failure_cause"]) == (1, None)
    assert row["start_time"] == after(1).replace(tzinfo=None)
    assert row["complete_time"] == after(3).replace(tzinfo=None)


def test_each_state_of_a_run_is_one_row_however_often_it_is_told(store: Store) -> None:
    for _ in range(2):
        store.write([a_run(outcome=FAILED)])
    found = rows(store, "states")
    assert sorted(str(row["state"]) for row in found) == ["TASK_ERROR", "TASK_RUNNING", "TASK_STAGING"]
    assert {row["execution_type"] for row in found} == {"READY"}
    assert {row["sharding_item"] for row in found} == {"[0]"}


def test_every_attempt_is_a_run_of_its_own(store: Store) -> None:
    lost = an_attempt("a0", by=OTHER, ended=3, outcome=ledger.LOST_RUN)
    again = an_attempt("a1", number=2, began=4, ended=5, outcome=OK, source="failover")
    store.write([Entry(a_key(), T, (lost, again))])
    found = {row["ip"]: row for row in rows(store, "executions")}
    assert found["10.0.0.2"]["failure_cause"] == "lost"
    assert found["10.0.0.1"]["execution_source"] == "FAILOVER"
    assert "TASK_LOST" in {row["state"] for row in rows(store, "states")}


def test_a_table_of_the_older_generation_is_written_to_as_it_is(address: str) -> None:
    engine = open_engine(address)
    with engine.begin() as connection:
        connection.execute(text(OLD_STATES[engine.dialect.name].format(columns=OLD_COLUMNS)))
    engine.dispose()
    with Store(address, trace=True) as store:
        store.write([a_run()])
        assert {row["source"] for row in rows(store, "states")} == {"LITE_EXECUTOR"}
        assert len(rows(store, "executions")) == 1


@pytest.mark.parametrize("job", ["世界", "reindex"])
def test_letters_that_an_older_table_cannot_hold_keep_nothing_from_being_written(
    address: str, job: str
) -> None:
    engine = open_engine(address)
    with engine.begin() as connection:
        connection.execute(text(OLD_STATES[engine.dialect.name].format(columns=OLD_COLUMNS)))
    engine.dispose()
    attempt = an_attempt(ended=1, outcome=FAILED, failure="ValueError: 世界")
    with Store(address, trace=True) as store:
        store.write([Entry(a_key(job=job), T, (attempt,))])
        assert len(rows(store, "states")) == 3
        assert queries.fire(store, job, T)[0].attempts == (attempt,)


def test_tables_that_somebody_has_changed_do_not_keep_the_ledger_from_being_written(address: str) -> None:
    with Store(address, trace=True) as store:
        engine = open_engine(address)
        with engine.begin() as connection:
            assert store.trace is not None
            quoted = connection.dialect.identifier_preparer.quote(store.trace.executions.name)
            connection.execute(text(f"alter table {quoted} drop column hostname"))
        engine.dispose()
        store.write([a_run()])
        assert queries.fire(store, "reindex", T)[0].disposition is Disposition.RAN


def test_a_file_has_them_only_if_asked(tmp_path: object) -> None:
    with Store(f"sqlite:///{tmp_path}/history.db") as store:
        store.write([a_run()])
    engine = create_engine(f"sqlite:///{tmp_path}/history.db")
    assert not [name for name in inspect(engine).get_table_names() if name.startswith("JOB_")]
    engine.dispose()


# What its console asks: the columns of its two entities, by its filters, the newest first, a page at a time.

CONSOLE_RUNS = """select id, job_name, task_id, hostname, ip, sharding_item, execution_source, failure_cause,
    is_success, start_time, complete_time from JOB_EXECUTION_LOG
    where start_time > :begin and start_time < :end and job_name = :job and ip = :ip
    and is_success = {success} order by start_time desc limit 10"""
CONSOLE_STATES = """select id, job_name, original_task_id, task_id, slave_id, {source}execution_type,
    sharding_item, state, message, creation_time from JOB_STATUS_TRACE_LOG
    where creation_time > :begin and creation_time < :end and job_name = :job
    order by creation_time desc limit 10"""

# What it can make of the texts: the names in ElasticJob's enumerations.
SOURCES = {"NORMAL_TRIGGER", "MISFIRE", "FAILOVER"}
STATES = {
    *(
        "TASK_STAGING",
        "TASK_RUNNING",
        "TASK_FINISHED",
        "TASK_KILLED",
        "TASK_LOST",
        "TASK_FAILED",
        "TASK_ERROR",
    ),
    *("TASK_DROPPED", "TASK_GONE", "TASK_GONE_BY_OPERATOR", "TASK_UNREACHABLE", "TASK_UNKNOWN"),
}


def asked_by_the_console(store: Store, statement: str) -> list[dict[str, object]]:
    asked: dict[str, object] = {"job": "reindex", "ip": "10.0.0.1"}
    asked |= {"begin": after(-60).replace(tzinfo=None), "end": after(60).replace(tzinfo=None)}
    found = store.reading(lambda connection: connection.execute(text(statement), asked).mappings().all())
    return [dict(row) for row in found]


@pytest.mark.parametrize("version", ["3.0.4", "3.0.5"])
def test_elasticjobs_console_reads_our_runs_in_tables_of_both_generations(address: str, version: str) -> None:
    lost = an_attempt("a0", by=OTHER, ended=3, outcome=ledger.LOST_RUN)
    again = an_attempt("a1", number=2, began=4, ended=5, outcome=OK, source="failover")
    failed = an_attempt("b", began=7, ended=8, outcome=FAILED, failure="ValueError: no such customer")
    with Store(address, trace=version) as store:
        store.write([Entry(a_key(), T, (lost, again)), Entry(a_key(item=1), T, (failed,))])
        well, badly = ("true", "false") if store.dialect == "postgresql" else ("1", "0")
        (ran,) = asked_by_the_console(store, CONSOLE_RUNS.format(success=well))
        assert (ran["sharding_item"], ran["execution_source"], ran["failure_cause"]) == (0, "FAILOVER", None)
        (bad,) = asked_by_the_console(store, CONSOLE_RUNS.format(success=badly))
        assert (bad["sharding_item"], bad["failure_cause"]) == (1, "ValueError: no such customer")
        assert {ran["execution_source"], bad["execution_source"]} <= SOURCES
        source = "source, " if version == "3.0.4" else ""
        states = asked_by_the_console(store, CONSOLE_STATES.format(source=source))
        assert len(states) == 9
        assert {row["state"] for row in states} <= STATES
        assert {row.get("source") for row in states} == {"LITE_EXECUTOR" if source else None}
        ends = [row["state"] for row in states if row["state"] not in ("TASK_STAGING", "TASK_RUNNING")]
        assert ends == ["TASK_ERROR", "TASK_FINISHED", "TASK_LOST"]


def test_a_table_that_is_there_stays_as_it_is_whichever_form_is_asked_for(address: str) -> None:
    for version in ("3.0.4", "3.0.5"):
        with Store(address, trace=version) as store:
            assert store.trace is not None
            assert store.trace.old


def test_there_is_no_other_generation(tmp_path: object) -> None:
    with pytest.raises(HistoryError, match=r"trace must be True, False, '3\.0\.4' or '3\.0\.5', not '2\.1'"):
        Store(f"sqlite:///{tmp_path}/history.db", trace="2.1")
