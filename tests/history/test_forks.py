"""A process that is forked neither loses what it writes into a history, nor disturbs its parent's."""

import gc
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from shardwright.history.store import Store
from shardwright.history.tables import AUDIT
from tests.faults.processes import Child

from . import forking


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def noted(file: Path) -> Counter[str]:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        return Counter(who for (who,) in connection.execute("select who from shardwright_audit"))


def test_a_forked_child_that_opens_the_history_loses_nothing_when_its_parent_closes_first(file: Path) -> None:
    with Child(forking.outlived_by_its_fork, str(file)) as parent:
        assert parent.expect("child ended") == "child ended 0"
    assert noted(file) == {"parent": 1, "child, early": 1, "child, late": 10}


def test_a_history_that_is_inherited_is_opened_anew(address: str) -> None:
    with Child(forking.shares_what_is_open_with_its_fork, address) as parent:
        assert parent.expect("child ended") == "child ended 0"
        assert parent.wait(20) == 0
    with Store(address) as store:
        found = store.reading(lambda connection: connection.scalars(select(AUDIT.c.who)).all())
    assert Counter(found) == {"parent, early": 1, "child": 5, "parent, late": 5, "parent, last": 1}


def test_at_whatever_moment_of_a_transaction_a_process_forks_the_child_can_open_the_history(
    file: Path,
) -> None:
    with Child(forking.forks_in_the_midst_of_writes, str(file), 20) as parent:
        parent.expect("all could", within=60)
        assert parent.wait(20) == 0
    assert noted(file)["child"] == 20


def test_a_child_that_is_forked_while_a_history_is_made_can_make_its_own(tmp_path: Path) -> None:
    with Child(forking.forks_while_it_is_made, str(tmp_path), 5) as parent:
        parent.expect("all could", within=60)
        assert parent.wait(20) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_comes_back_to_a_history_that_was_closed_does_not_stay_open(file: Path) -> None:
    store, come_back = Store(file), threading.Event()
    lent = threading.Event()

    def ask(connection: Connection) -> None:
        lent.set()
        come_back.wait(20)

    reader = threading.Thread(target=store.reading, args=(ask,))
    reader.start()
    lent.wait()
    store.close()
    come_back.set()
    reader.join()
    gc.collect()
    descriptors = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert [each for each in descriptors if str(each.readlink()).startswith(str(file))] == []


def test_a_signal_that_breaks_a_forks_waiting_off_locks_nobody_out(tmp_path: Path) -> None:
    with Child(forking.is_interrupted_as_it_forks, str(tmp_path)) as parent:
        parent.expect("all could", within=60)
        assert parent.wait(20) == 0


def test_a_fork_does_not_wait_for_ever_for_a_transaction_and_its_child_is_told_why_there_is_no_history(
    file: Path,
) -> None:
    with Child(forking.forks_in_a_long_transaction, str(file)) as parent:
        said = parent.expect("child:")
        assert "was in use at the moment when this process was forked" in said
        parent.expect("parent could")
        assert parent.wait(20) == 0
    assert noted(file) == {"parent": 1}
