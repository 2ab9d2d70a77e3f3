"""The recorder: jobs go on whatever the database does, and what is told is in the history afterwards."""

import gc
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from shardwright.clock import HandClock
from shardwright.errors import MissingExtra
from shardwright.history import open_store, queries
from shardwright.history.engine import HistoryDown, HistoryError, open_engine
from shardwright.history.events import Logged, Moved
from shardwright.history.keeping import Retention
from shardwright.history.ledger import Disposition, Entry
from shardwright.history.recorder import LONGEST_PAUSE, Recorder
from shardwright.history.store import AT_ONCE, Answer, Store
from shardwright.history.stretches import MOST, Stretch
from tests.databases import Database, MariaDB, PostgreSQL
from tests.faults.processes import Child
from tests.history import children
from tests.history.fires import FIRE, T, a_run, after, ended, started

# A fire of the calendar years before the clock of the tests would be deleted as too old.
KEEP = Retention(age=timedelta(days=3650))


@pytest.fixture
def clock() -> HandClock:
    return HandClock(T)


@pytest.fixture
def quiet(store: Store, clock: HandClock) -> Iterator[Recorder]:
    """A recorder without a thread, whose turns the test takes."""
    recorder = Recorder(store, clock=clock, keep=KEEP, batch=4, every=1.0, most=10)
    recorder.turn()  # it tidies first
    yield recorder
    recorder.close()


class Broken:
    """A history whose ledger is not there, for a while."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._rename("shardwright_ledger", "somewhere_else")

    def mend(self) -> None:
        self._rename("somewhere_else", "shardwright_ledger")

    def _rename(self, old: str, new: str) -> None:
        engine = open_engine(self._address)
        with engine.begin() as connection:
            connection.execute(text(f"alter table {old} rename to {new}"))
        engine.dispose()


def dispositions(store: Store) -> list[str]:
    return [entry.disposition.value for entry in queries.history(store).entries]


def test_nothing_is_written_before_its_time(store: Store, quiet: Recorder, clock: HandClock) -> None:
    quiet(started())
    clock.advance(0.5)
    assert quiet.turn() == 0.5
    assert dispositions(store) == []
    clock.advance(0.5)
    quiet.turn()
    assert dispositions(store) == ["RUNNING"]


def test_a_full_batch_is_written_at_once(store: Store, quiet: Recorder) -> None:
    for item in range(4):
        quiet(started(item))
    quiet.turn()
    assert len(dispositions(store)) == 4


def test_start_and_end_of_a_run_wait_as_one_entry(store: Store, quiet: Recorder) -> None:
    for item in range(3):
        quiet(started(item))
        quiet(ended(item))
    assert quiet.waiting == 3
    assert quiet.flush()
    assert dispositions(store) == ["RAN"] * 3


def test_what_the_ledger_does_not_keep_does_not_wait(quiet: Recorder) -> None:
    quiet(Moved(at=T, job="reindex", shards=3))
    assert quiet.waiting == 0


def test_with_nothing_to_do_it_sleeps_until_it_tidies(quiet: Recorder) -> None:
    assert quiet.turn() == 3600


def test_logs_of_runs_are_written_too(store: Store, quiet: Recorder) -> None:
    quiet(Logged(at=T, job="reindex", made=7, fire=FIRE, item=0, attempt="a1", text="hello"))
    assert quiet.flush()
    quiet(started())
    quiet.flush()
    key = queries.fire(store, "reindex", T)[0].key
    assert queries.log(store, key, "a1") == queries.Lines("hello", 0)


def test_a_store_that_is_down_is_asked_again_after_pauses_that_double(
    address: str, store: Store, quiet: Recorder, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(address)
    quiet(started())
    assert not quiet.flush()
    pauses = []
    for _ in range(9):
        pauses.append(pause := quiet.turn())
        clock.advance(pause)
        quiet.turn()
    assert pauses == [0.5, 1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    assert len([record for record in caplog.records if "jobs go on" in record.message]) == 1
    broken.mend()
    with caplog.at_level(logging.INFO, "shardwright"):
        clock.advance(quiet.turn())
        quiet.turn()
    assert "the history is written again, after 152 s; 0 entries were dropped" in caplog.text
    assert dispositions(store) == ["RUNNING"]
    assert not quiet.down


def test_what_is_told_while_the_store_is_down_is_written_when_it_is_back(
    address: str, store: Store, quiet: Recorder
) -> None:
    broken = Broken(address)
    quiet(started())
    quiet.flush()
    quiet(ended())
    broken.mend()
    assert quiet.flush()
    assert dispositions(store) == ["RAN"]


def test_more_than_may_wait_is_dropped_counted_and_not_said_to_be_kept(
    address: str, store: Store, quiet: Recorder
) -> None:
    broken = Broken(address)
    fires = [after(60 * minute) for minute in range(15)]
    kept: list[datetime] = []
    for fire in fires:
        quiet.keep([a_run(at=fire)], partial(kept.append, fire))
        quiet.flush()
    assert (quiet.waiting, quiet.dropped, len(quiet._tickets)) == (10, 5, 10)
    broken.mend()
    assert quiet.flush()
    assert kept == fires[5:]
    assert len(quiet._tickets) == 0
    assert store.gaps("reindex", fires, 1, made=7) == [(fire.isoformat(), 0) for fire in fires[:5]]


def test_one_entry_that_is_refused_does_not_keep_the_others_from_being_written(
    store: Store, quiet: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    quiet(started(0))
    quiet(started(2**40))  # a number of a shard that no column holds, but SQLite's
    quiet(started(1))
    assert quiet.flush()
    refused = 0 if store.dialect == "sqlite" else 1
    assert len(dispositions(store)) == 3 - refused
    assert quiet.dropped == refused
    assert caplog.text.count("the history refuses shard") == refused


def test_who_waits_for_entries_is_told_when_they_are_written_and_in_order(
    store: Store, quiet: Recorder
) -> None:
    told = list[str]()
    quiet.keep([a_run(item) for item in range(6)], lambda: told.append("six"))
    quiet.keep([a_run(9)], lambda: told.append("one"))
    quiet.turn()
    assert told == []  # a batch is four
    quiet.flush()
    assert told == ["six", "one"]
    assert len(dispositions(store)) == 7


def test_who_waits_for_entries_is_told_nothing_while_the_store_is_down(address: str, quiet: Recorder) -> None:
    told = list[str]()
    broken = Broken(address)
    quiet.keep([a_run()], lambda: told.append("kept"))
    quiet.flush()
    assert told == []
    broken.mend()
    quiet.flush()
    assert told == ["kept"]


def test_who_waits_for_entries_that_were_dropped_is_never_told(address: str, quiet: Recorder) -> None:
    told = list[str]()
    broken = Broken(address)
    quiet.keep([a_run(0), a_run(1)], lambda: told.append("dropped"))
    quiet.keep([a_run(item) for item in range(2, 11)], lambda: told.append("kept"))
    quiet.flush()
    assert quiet.dropped == 1
    broken.mend()
    assert quiet.flush()
    assert told == ["kept"]


def a_stretch(item: int = 0, *, fires: int = 6) -> Stretch:
    """Fires that nobody was there for, one each second."""
    span = T, after(fires), ("* * * * * ?", "UTC", "")
    return Stretch("reindex", 7, item, *span, Disposition.SKIPPED, "nobody was there", told=after(fires))


def test_a_stretch_of_fires_waits_as_one_and_is_kept_when_all_of_them_are(
    store: Store, quiet: Recorder
) -> None:
    told = list[int]()
    for item in range(10):  # as many as may wait
        quiet.keep([a_stretch(item), a_stretch(item)], lambda: told.append(len(dispositions(store))))
    assert (quiet.waiting, quiet.dropped) == (10, 0)
    assert quiet.flush()
    assert told == [6 * written for written in range(1, 11)]
    assert store.gaps("reindex", [after(second) for second in range(1, 7)], 10, made=7) == []
    assert quiet.dropped == 0


def test_what_is_told_of_one_fire_of_a_stretch_is_joined_with_it(store: Store, quiet: Recorder) -> None:
    quiet.keep([a_stretch(), a_run(at=after(2))], lambda: None)
    quiet.keep([a_run(at=after(4))], lambda: None)
    assert quiet.flush()
    ran = {entry.due for entry in queries.history(store).entries if entry.disposition is Disposition.RAN}
    assert ran == {after(2), after(4)}
    assert len(dispositions(store)) == 6


def test_stretches_are_written_one_after_another_without_a_pause(
    store: Store, quiet: Recorder, clock: HandClock
) -> None:
    for item in range(3):
        quiet.keep([a_stretch(item)], lambda: None)
    assert quiet.turn() == 1.0
    clock.advance(1.0)
    assert [quiet.turn() for _ in range(3)] == [0.0, 0.0, 3599.0]
    assert len(dispositions(store)) == 18


class Counting(Store):
    """A store that fails once, in the middle of what is written to it."""

    down_after = -1

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.transactions = 0

    def writing(self, act: Callable[[Connection], Answer]) -> Answer:
        self.transactions += 1
        if self.transactions == self.down_after:
            raise HistoryDown("gone")
        return super().writing(act)


def test_a_long_stretch_is_written_in_portions_and_again_as_a_whole_if_the_store_goes_away_between(
    tmp_path: Path, clock: HandClock
) -> None:
    told = list[str]()
    with Counting(f"sqlite:///{tmp_path / 'history.db'}") as store:
        store.down_after = 2
        recorder = Recorder(store, clock=clock, keep=KEEP)
        recorder.keep([a_stretch(fires=2 * MOST)], lambda: told.append("kept"))
        assert not recorder.flush()
        assert (told, recorder.waiting) == ([], 1)
        assert recorder.flush()
        assert (told, recorder.waiting, recorder.dropped) == (["kept"], 0, 0)
        assert store.transactions == 2 + MOST / AT_ONCE
        found = queries.history(store, limit=2 * MOST).entries
    assert sorted(entry.due for entry in found) == [after(second) for second in range(1, MOST + 1)]


def test_a_stretch_that_is_refused_does_not_keep_others_from_being_written_and_is_not_kept(
    store: Store, quiet: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    told = list[int]()
    for item in (0, 2**40, 1):  # which no column holds, but SQLite's
        quiet.keep([a_stretch(item, fires=1)], partial(told.append, item))
    assert quiet.flush()
    refused = [] if store.dialect == "sqlite" else [2**40]
    assert told == [item for item in (0, 2**40, 1) if item not in refused]
    assert quiet.dropped == caplog.text.count("the history refuses shard") == len(refused)


class Gated(Store):
    """A store that lets nothing in before its gate is open."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.asked, self.gate = threading.Event(), threading.Event()

    def write(self, told: Iterable[Entry], logged: Iterable[Logged] = ()) -> None:
        self.asked.set()
        self.gate.wait(60)
        super().write(told, logged)


def test_who_waits_for_entries_is_not_told_while_another_thread_writes_them(
    tmp_path: Path, clock: HandClock
) -> None:
    told = list[int]()
    with Gated(f"sqlite:///{tmp_path / 'history.db'}") as store:
        recorder = Recorder(store, clock=clock, keep=KEEP, batch=1)
        recorder.keep([a_run(0)], lambda: told.append(len(dispositions(store))))
        recorder.keep([a_run(1)], lambda: told.append(len(dispositions(store))))
        threads = [threading.Thread(target=recorder.flush) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert store.asked.wait(60)
        assert told == []
        store.gate.set()
        for thread in threads:
            thread.join()
    assert sorted(told) in ([1, 2], [2, 2])


def test_one_who_ends_writes_first_what_nobody_else_can_tell_and_leaves_stretches_to_the_cursors(
    tmp_path: Path, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    told = list[str]()
    with Gated(f"sqlite:///{tmp_path / 'history.db'}") as store:
        recorder = Recorder(store, clock=clock, keep=KEEP, batch=1)
        recorder.keep([a_stretch()], lambda: told.append("stretch"))
        recorder(ended(9))
        recorder.start()
        assert store.asked.wait(60)  # over the stretch
        recorder.keep([a_stretch(1)], lambda: told.append("another"))
        recorder(ended(8))
        assert not recorder.close(0.0)
        store.gate.set()
        assert recorder.close(60)
        found = {(entry.key.item, entry.disposition.value) for entry in queries.history(store).entries}
    assert "3 entries of the history could not be written" in caplog.text
    assert found == {(0, "SKIPPED"), (9, "RAN"), (8, "RAN")}
    assert told == ["stretch"]


def test_whatever_the_store_does_what_was_told_is_not_lost(
    tmp_path: Path, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(Store):
        faults = 1

        def write(self, told: Iterable[Entry], logged: Iterable[Logged] = ()) -> None:
            if self.faults:
                self.faults -= 1
                raise MissingExtra("a driver is not installed")
            super().write(told, logged)

    with Faulty(f"sqlite:///{tmp_path / 'history.db'}") as store:
        recorder = Recorder(store, clock=clock, keep=KEEP)
        recorder(started())
        assert not recorder.flush()
        assert "a driver is not installed" in caplog.text
        assert recorder.flush()
        assert dispositions(store) == ["RUNNING"]


def test_a_history_that_goes_away_while_it_is_found_out_what_it_refuses_drops_nothing(
    tmp_path: Path, clock: HandClock
) -> None:
    answers = deque([HistoryError("refused"), None, HistoryDown("gone")])

    class Failing(Store):
        def write(self, told: Iterable[Entry], logged: Iterable[Logged] = ()) -> None:
            answer = answers.popleft() if answers else None
            if answer is not None:
                raise answer
            super().write(told, logged)

    with Failing(f"sqlite:///{tmp_path / 'history.db'}") as store:
        recorder = Recorder(store, clock=clock, keep=KEEP)
        for item in range(3):
            recorder(started(item))
        assert not recorder.flush()
        assert (recorder.waiting, recorder.dropped) == (3, 0)
        assert recorder.flush()
        assert len(dispositions(store)) == 3


class Interrupted(Recorder):
    """A recorder that is told something right after its first turn, before it has gone to sleep."""

    kept = threading.Event()
    told = False

    def turn(self) -> float:
        wait = super().turn()
        if not self.told:
            self.told = True
            self.keep([a_run()], self.kept.set)
        return wait


def test_what_is_told_while_the_thread_goes_to_sleep_is_not_slept_over(store: Store) -> None:
    recorder = Interrupted(store, keep=KEEP, every=0.01)
    recorder.start()
    assert recorder.kept.wait(60)
    assert recorder.close(60)


def test_the_thread_writes_what_waits_when_it_is_closed(store: Store) -> None:
    recorder = Recorder(store, keep=KEEP, every=3600)
    recorder.start()
    for item in range(20):
        recorder(started(item))
    assert recorder.close(60)
    assert len(dispositions(store)) == 20


def test_closing_does_not_wait_for_a_store_that_is_down(
    address: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(store, keep=KEEP)
    recorder.start()
    Broken(address)
    recorder(started())
    assert not recorder.close(60)
    assert "1 entries of the history could not be written" in caplog.text


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with Child(children.record_on_a_full_disk, str(tmp_path / "history.db")) as child:
        child.expect("down", 60)
        child.expect("up again", 60)
    with open_store(tmp_path / "history.db") as store:
        assert len(queries.history(store, limit=10_000).entries) == children.RECORDED


def kill_and_restart(database: Database, clock: HandClock) -> None:
    with Store(database.make("history")) as store:
        recorder = Recorder(store, clock=clock, keep=KEEP)
        recorder(started(0))
        assert recorder.flush()
        database.kill()
        recorder(ended(0))
        recorder(started(1))
        assert not recorder.flush()
        assert recorder.down
        database.restart()
        assert recorder.flush()
        assert sorted(dispositions(store)) == ["RAN", "RUNNING"]


def test_a_postgresql_that_is_killed_and_comes_back_loses_nothing(
    postgresql_server: PostgreSQL, clock: HandClock
) -> None:
    kill_and_restart(postgresql_server, clock)


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_mariadb_that_is_killed_and_comes_back_loses_nothing(
    mariadb_server: MariaDB, clock: HandClock
) -> None:
    kill_and_restart(mariadb_server, clock)
    gc.collect()  # PyMySQL forgets to close a socket that nobody listens to: that is to be told here
