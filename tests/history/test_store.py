"""The store: one row for each shard of each fire, whoever tells of it and how often."""

import errno
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from shardwright.errors import ShardwrightError
from shardwright.history import beside, ledger, open_store, queries, rows
from shardwright.history.engine import HistoryDown, HistoryError
from shardwright.history.events import Logged
from shardwright.history.ledger import Disposition, Entry, Verdict
from shardwright.history.store import Store, insert_new
from shardwright.history.tables import LEDGER
from shardwright.outcomes import FAILED, OK
from tests.faults.processes import Child
from tests.history import children
from tests.history.fires import (
    FIRE,
    ME,
    OTHER,
    T,
    a_key,
    a_run,
    a_verdict,
    after,
    an_attempt,
)

LOST = Entry(a_key(), T, (an_attempt("a0", by=OTHER, ended=3, outcome=ledger.LOST_RUN),))
BEGUN = Entry(a_key(), T, (an_attempt("a1", number=2, began=4, source="failover"),))
DONE = Entry(a_key(), T, (an_attempt("a1", number=2, began=4, ended=5, outcome=OK, source="failover"),))


def count(store: Store) -> int:
    return store.reading(lambda connection: connection.scalar(select(func.count()).select_from(LEDGER)) or 0)


def test_what_is_told_is_found_as_it_was_told(store: Store) -> None:
    told = Entry(
        a_key(item=3),
        T,
        (an_attempt(began=0.123456, ended=2, outcome=FAILED, failure="Grüße, 世界 🎉\nValueError"),),
    )
    store.write([told])
    assert queries.fire(store, "reindex", FIRE) == [told]


def test_the_same_told_twice_is_one_row(store: Store) -> None:
    store.write([DONE, DONE])
    store.write([DONE])
    assert count(store) == 1


@pytest.mark.parametrize("seed", range(3))
def test_in_whatever_order_it_is_told_the_row_is_the_same(store: Store, seed: int) -> None:
    told = [LOST, BEGUN, DONE, a_verdict(Disposition.UNKNOWN, reason="?")]
    random.Random(seed).shuffle(told)
    for entry in told:
        store.write([entry])
    [found] = queries.fire(store, "reindex", FIRE)
    assert found.disposition is Disposition.FAILED_OVER
    assert found.outcome == OK
    assert [(attempt.by, attempt.outcome) for attempt in found.attempts] == [(OTHER, "lost"), (ME, OK)]


def test_names_that_differ_by_case_or_accent_are_different_jobs(store: Store) -> None:
    store.write([a_run(job=name) for name in ("report", "Report", "réport", "report2")])
    assert count(store) == 4
    assert [entry.key.job for entry in queries.history(store, job="Report").entries] == ["Report"]


def test_a_job_made_anew_has_rows_of_its_own(store: Store) -> None:
    store.write([Entry(a_key(made=made), T, (an_attempt(),)) for made in (7, 9)])
    assert len(queries.fire(store, "reindex", FIRE)) == 2
    assert [entry.key.made for entry in queries.fire(store, "reindex", T, made=9)] == [9]


def test_many_processes_that_tell_the_same_at_once_make_it_one_row_each(address: str) -> None:
    Store(address, trace=True).close()
    writers = [Child(children.write_at_once, address, seed, listens=True) for seed in range(3)]
    try:
        for writer in writers:
            writer.expect("ready", 60)
        for writer in writers:
            writer.tell("go")
        for writer in writers:
            writer.expect("all is told", 60)
    finally:
        for writer in writers:
            writer.close()
    with Store(address, trace=True) as store:
        assert count(store) == children.SHARDS
        assert store.trace is not None
        executions = select(func.count()).select_from(store.trace.executions)
        assert store.reading(lambda connection: connection.scalar(executions)) == 2 * children.SHARDS
        found = queries.fire(store, "reindex", FIRE)
        assert {entry.disposition for entry in found} == {Disposition.FAILED_OVER}
        assert {len(entry.attempts) for entry in found} == {2}


def test_a_row_that_is_there_does_not_keep_those_after_it_from_being_inserted(store: Store) -> None:
    store.write([a_run(item) for item in range(5)])
    told = [rows.of(a_run(item)) for item in (0, 5, 6, 1, 7, 8, 9)]
    store.writing(lambda connection: connection.execute(insert_new(connection, LEDGER), told))
    assert count(store) == 10


def test_a_writer_that_is_killed_leaves_whole_rows_and_what_it_told_is_there(address: str) -> None:
    Store(address, trace=True).close()
    with Child(children.write_for_ever, address) as writer:
        last = int(writer.expect("written 20", 60).split()[1])
        writer.kill()
    with Store(address, trace=True) as store:
        assert store.gaps("reindex", [after(n) for n in range(last + 1)], 20, made=7) == []
        assert store.trace is not None
        executions = select(func.count()).select_from(store.trace.executions)
        assert store.reading(lambda connection: connection.scalar(executions)) == count(store)
        store.write([a_run(item, at=after(last)) for item in range(20)])  # it left no lock


def test_history_comes_latest_first_and_page_by_page(store: Store) -> None:
    told = [a_run(item, at=after(60 * minute)) for minute in range(5) for item in range(3)]
    store.write(told)
    pages, after_page = list[Entry](), None
    for _ in range(4):
        page = queries.history(store, limit=4, after=after_page)
        pages += page.entries
        after_page = page.after
    assert after_page is None
    assert len(pages) == len({entry.key for entry in pages}) == 15
    assert [entry.due for entry in pages] == sorted((entry.due for entry in told), reverse=True)


def test_history_can_be_narrowed_down(store: Store) -> None:
    store.write(
        [
            a_run(0, outcome=FAILED),
            a_run(1),
            a_run(0, at=after(60)),
            a_run(0, job="other"),
            Entry(a_key(5), T, (), ledger.Verdict(Disposition.SKIPPED, T, "disabled")),
        ]
    )
    ask = queries.history
    assert len(ask(store, job="reindex").entries) == 4
    assert [entry.key.item for entry in ask(store, job="reindex", outcome=FAILED).entries] == [0]
    assert [entry.key.item for entry in ask(store, disposition=Disposition.SKIPPED).entries] == [5]
    assert [entry.due for entry in ask(store, begin=after(1)).entries] == [after(60)]
    assert len(ask(store, end=after(60)).entries) == 4
    assert len(ask(store, item=1).entries) == 1


def test_where_a_page_begins_cannot_be_made_up(store: Store) -> None:
    with pytest.raises(HistoryError, match="take `after` from the page before"):
        queries.history(store, after="yesterday")


def test_statistics_count_what_became_of_the_fires_of_a_day(store: Store) -> None:
    store.write(
        [a_run(0, late=2), a_run(1, late=1), a_run(2, outcome=FAILED), a_run(0, at=after(86400), late=5)]
    )
    first, second = T.date(), after(86400).date()
    ran = Disposition.RAN
    assert queries.statistics(store, job="reindex") == [
        queries.Count("reindex", first, ran, FAILED, 1, 0.0, 0.0, 1.0),
        queries.Count("reindex", first, ran, OK, 2, 3.0, 2.0, 2.0),
        queries.Count("reindex", second, ran, OK, 1, 5.0, 5.0, 1.0),
    ]
    assert [each.day for each in queries.statistics(store, begin=after(86400))] == [second]
    midnight = datetime.combine(second, time(), UTC)
    assert {each.day for each in queries.statistics(store, end=midnight)} == {first}
    elsewhere = midnight.astimezone(timezone(-timedelta(hours=8)))
    assert {each.day for each in queries.statistics(store, begin=elsewhere)} == {second}
    assert queries.statistics(store, job="none") == []


def test_what_is_expected_and_not_found_is_a_gap(store: Store) -> None:
    store.write([a_run(0), a_run(1), a_run(0, at=after(60))])
    gaps = store.gaps("reindex", [T, after(60), after(120)], 2, made=7)
    assert gaps == [
        (after(60).isoformat(), 1),
        (after(120).isoformat(), 0),
        (after(120).isoformat(), 1),
    ]


def test_what_turns_up_later_replaces_what_was_unknown(store: Store) -> None:
    store.write([Entry(a_key(), T, (), Verdict(Disposition.UNKNOWN, after(9), "?"))])
    store.write([a_run()])
    [found] = queries.fire(store, "reindex", T)
    assert found.disposition is Disposition.RAN


def test_the_log_of_a_run_is_kept_once(store: Store) -> None:
    logged = Logged(
        at=after(1), job="reindex", made=7, fire=FIRE, item=0, attempt="a1", text="one\ntwo", left_out=3
    )
    store.write([], [logged])
    store.write([], [logged])
    assert queries.log(store, a_key(), "a1") == queries.Lines("one\ntwo", 3)
    assert queries.log(store, a_key(), "a2") is None


def test_who_asked_for_what_is_noted(store: Store) -> None:
    store.audit(at=T, who="ann", what="disable", target="reindex")
    store.audit(
        at=after(5), who="bob", what="trigger", target="other", detail="shards 1, 2", outcome="refused"
    )
    assert queries.audit(store) == [
        queries.Note(after(5), "bob", "trigger", "other", "shards 1, 2", "refused"),
        queries.Note(T, "ann", "disable", "reindex", "", "done"),
    ]
    assert [note.who for note in queries.audit(store, job="reindex")] == ["ann"]
    assert queries.audit(store, begin=after(6)) == []


def test_what_is_noted_of_somebody_is_bounded_and_without_secrets(store: Store) -> None:
    store.audit(at=T, who="x" * 999, what="update", target="reindex", detail="email.password: hunter2")
    [note] = queries.audit(store)
    assert len(note.who) == 255
    assert note.detail == "email.password: ***"


def test_a_history_is_where_it_was_when_it_is_opened_again(address: str) -> None:
    with Store(address) as store:
        store.write([a_run()])
    with Store(address) as store:
        assert count(store) == 1


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("nonsense", "cannot be read"),
        ("oracle://scott:tiger@host/db", "and not in oracle"),
        ("sqlite://", "is kept in a file"),
        ("sqlite:////no/such/folder/history.db", "there is no folder /no/such/folder"),
        ("postgresql://scott:tiger@host:port/db", "cannot be read"),
        ("postgresql://scott:t@tiger@host/db", "write @ in a password as %40"),
        ("mysql://scott:tiger@host/db?ssl-mode=REQUIRED", "the driver knows no option 'ssl-mode'"),
    ],
)
def test_an_address_that_cannot_be_gets_one_clear_sentence(address: str, complaint: str) -> None:
    with pytest.raises(ShardwrightError, match=complaint) as raised:
        Store(address)
    assert "tiger" not in str(raised.value)


def test_a_server_that_is_not_there_is_down_and_its_password_is_nobodys_business(tmp_path: Path) -> None:
    with pytest.raises(HistoryDown, match="cannot be opened now") as raised:
        Store(f"postgresql://me:hunter2@/db?host={tmp_path}")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("secret", ["password=hunter2", "sslpassword=hunter2"])
def test_a_password_among_the_options_of_an_address_is_not_shown_either(tmp_path: Path, secret: str) -> None:
    with pytest.raises(HistoryDown) as raised:
        Store(f"postgresql://me@/db?host={tmp_path}&{secret}")
    assert f"me@/db?host={tmp_path}&{secret.partition('=')[0]}=*** " in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_a_folder_that_lets_nobody_make_a_whole_file_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)  # as shared and removable drives do
    with pytest.raises(HistoryError, match="cannot be made: Operation not permitted"):
        Store(tmp_path / "history.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", [{"item": 2**64}, {"job": "\udcff"}])
def test_what_no_database_can_be_asked_is_not_found_or_refused_in_a_sentence(
    store: Store, asked: dict[str, Any]
) -> None:
    told = ""
    try:
        assert queries.history(store, **asked).entries == ()
    except HistoryError as error:
        told = str(error)
    assert told == "" or "cannot be read" in told


def test_a_file_that_is_no_database_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_text("Dear diary, " * 1000)
    with pytest.raises(HistoryError, match="cannot be opened"):
        Store(f"sqlite:///{tmp_path / 'history.db'}")
    assert (tmp_path / "history.db").read_text().startswith("Dear diary")


def test_a_new_file_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path / 'history.db'}").close()
    assert (tmp_path / "history.db").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["history.db"]


@pytest.mark.parametrize("name", ["with space", "per%20cent", "question?", "hash#", "Größe"])
def test_a_file_may_be_called_anything(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    file = beside(folder / "registry.db")
    for _ in range(2):
        with open_store(file) as store:
            store.write([a_run()])
    assert file.exists()
    assert count_in(file) == 1


def count_in(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        [(found,)] = connection.execute("select count(*) from shardwright_ledger").fetchall()
    return int(found)


@pytest.mark.parametrize(
    ("module", "opened", "extra"),
    [
        ("sqlalchemy", "sqlite:////tmp/never.db", "trace"),
        ("psycopg", "postgresql://host/db", "postgres"),
        ("pymysql", "mariadb://host/db", "mysql"),
    ],
)
def test_what_is_not_installed_is_named_by_its_extra(module: str, opened: str, extra: str) -> None:
    with Child(children.open_without, module, opened) as child:
        assert f"pip install 'shardwright[{extra}]'" in child.expect("MissingExtra", 60)
