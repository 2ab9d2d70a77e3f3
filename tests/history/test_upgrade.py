"""Upgrades: many may start at once, what was left half-way is finished, and what is newer is left alone."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from shardwright.history import upgrade
from shardwright.history.engine import HistoryError, open_engine
from shardwright.history.store import Store
from shardwright.history.tables import METADATA, VERSION_TABLE
from tests.faults.processes import Child
from tests.history import children
from tests.history.fires import a_run
from tests.test_import_cost import modules_after


def execute(address: str, *statements: str) -> None:
    engine = open_engine(address)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def ours_only(thing: object, name: str | None, kind: str, reflected: bool, other: object) -> bool:
    return kind != "table" or (name or "").lower().startswith("shardwright_")


def differences(connection: Connection) -> list[object]:
    options = {
        "include_object": ours_only,
        "version_table": VERSION_TABLE,
        "compare_type": connection.dialect.name != "sqlite",
    }
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), METADATA))


def test_the_steps_lead_to_the_tables_that_we_speak_of(store: Store, address: str) -> None:
    engine = open_engine(address)
    with engine.connect() as connection:
        assert differences(connection) == []
    engine.dispose()


def test_many_processes_that_start_at_once_upgrade_once(address: str) -> None:
    starting = [Child(children.open_at_once, address, listens=True) for _ in range(4)]
    try:
        for child in starting:
            child.expect("ready", 60)
        for child in starting:
            child.tell("go")
        for child in starting:
            child.expect("it stands open", 60)
    finally:
        for child in starting:
            child.close()
    with Store(address, trace=True) as store:
        store.write([a_run()])
    engine = open_engine(address)
    with engine.connect() as connection:
        assert connection.execute(text(f"select version_num from {VERSION_TABLE}")).all() == [("0001",)]
    engine.dispose()


def test_an_upgrade_that_was_killed_half_way_is_finished_by_the_next(address: str) -> None:
    Store(address).close()
    execute(address, f"delete from {VERSION_TABLE}", "drop table shardwright_audit")
    with Store(address) as store:
        store.write([a_run()])
    engine = open_engine(address)
    assert "shardwright_audit" in inspect(engine).get_table_names()
    engine.dispose()


def test_a_schema_of_a_newer_version_is_left_alone(address: str) -> None:
    Store(address).close()
    execute(address, f"update {VERSION_TABLE} set version_num = '9999'")
    with pytest.raises(HistoryError, match="made by a newer Shardwright"):
        Store(address)


def test_what_we_call_the_last_step_is_the_last_step() -> None:
    config = Config()
    config.set_main_option("script_location", "shardwright.history:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [upgrade.HEAD]


def test_a_history_that_is_up_to_date_is_opened_without_alembic(address: str) -> None:
    Store(address).close()
    loaded = modules_after(f"from shardwright.history.store import Store; Store({address!r}).close()")
    assert not [name for name in loaded if name.partition(".")[0] == "alembic"]
