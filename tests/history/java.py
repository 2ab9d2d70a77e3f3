"""A Java member that writes into ElasticJob's tables, by ElasticJob's own statements."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from shardwright.history.store import Store
from tests.history.fires import T, after

RUN = """insert into JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, execution_source,
    is_success, start_time, complete_time, failure_cause)
    values (:id, :job, :task, 'host-a', :ip, :item, 'NORMAL_TRIGGER', {success}, :began, :ended, :failure)"""
STATE = """insert into JOB_STATUS_TRACE_LOG (id, job_name, original_task_id, task_id, slave_id,
    {source}execution_type, sharding_item, state, message, creation_time)
    values (:id, :job, '', :task, '10.0.0.9', {lite}'READY', '[0, 1]', :state, :message, :at)"""


def told(moment: datetime) -> str:
    """A time as a statement has it: without a zone, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def a_java_run(
    store: Store,
    number: int,
    *,
    job: str = "reindex",
    ip: str = "10.0.0.9",
    success: bool = True,
    failure: str | None = None,
    began: datetime | None = T,
) -> None:
    kept = str(success).lower() if store.dialect == "postgresql" else str(int(success))
    row = {
        "id": f"id-{number}",
        "job": job,
        "task": f"{job}@-@0@-@READY@-@{ip}@-@4711",
        "ip": ip,
        "item": number,
        "began": None if began is None else told(began),
        "ended": None if began is None else told(began + timedelta(seconds=2)),
        "failure": failure,
    }
    _execute(store, RUN.format(success=kept), row)


def a_java_state(
    store: Store,
    number: int,
    state: str,
    *,
    job: str = "reindex",
    message: str | None = None,
    old: bool = False,
) -> None:
    row = {
        "id": f"id-{number}",
        "job": job,
        "task": "a task",
        "state": state,
        "message": message,
        "at": told(after(number)),
    }
    _execute(store, STATE.format(source="source, " * old, lite="'LITE_EXECUTOR', " * old), row)


def _execute(store: Store, statement: str, row: Mapping[str, object]) -> None:
    types = {"began": "timestamp", "ended": "timestamp", "at": "timestamp"}
    if store.dialect == "postgresql":
        for name, kind in types.items():
            statement = statement.replace(f":{name}", f"cast(:{name} as {kind})")
    store.writing(lambda connection: connection.execute(text(statement), row))
