"""A history of 100,000 fires in a file: what questions cost beside a bare select of the same rows.

Each question is asked of us and of `sqlite3` in turn, in the same run, so a busy machine is busy for both.
The ratio says how many times dearer we are. At the end the history is tidied, and the file must shrink.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.rows import Bounds, Row
from shardwright.history import open_store, queries, why
from shardwright.history.keeping import Retention
from shardwright.history.ledger import Attempt, Disposition, Entry, Key, Verdict
from shardwright.history.retention import tidy
from shardwright.history.store import Store
from shardwright.outcomes import FAILED, OK

FIRES, SHARDS, JOBS = 500, 20, 10  # 100,000 rows
KEPT = 10_000
TIMES = 15
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MIDDLE = BEGIN + timedelta(minutes=FIRES // 2)

#: What every question must stay below, as the issue has it: well under a second, on any machine.
BOUND = 0.5

COUNT = """select job, day, disposition, outcome, count(*), sum(late_ms), max(late_ms), sum(ran_ms)
    from shardwright_ledger where job = 'job3' group by job, day, disposition, outcome"""
QUESTIONS: dict[str, tuple[Callable[[Store], object], str]] = {
    "the latest 100 of a job": (
        lambda store: queries.history(store, job="job3"),
        "select * from shardwright_ledger where job = 'job3' order by due desc, known_as desc limit 101",
    ),
    "the latest 100 failures": (
        lambda store: queries.history(store, outcome=FAILED),
        "select * from shardwright_ledger where outcome = 'failed' order by due desc limit 101",
    ),
    "why, one fire": (
        lambda store: why.ask(store, "job3", MIDDLE),
        f"select * from shardwright_ledger where job = 'job3' and fire = '{MIDDLE.isoformat()}'",
    ),
    "statistics of a job": (lambda store: queries.statistics(store, job="job3"), COUNT),
    "statistics of all jobs": (
        lambda store: queries.statistics(store),
        COUNT.replace("where job = 'job3'", ""),
    ),
}


def run() -> Iterator[Row]:
    bounds = Bounds()
    with tempfile.TemporaryDirectory(prefix="history-") as folder:
        file = Path(folder, "history.db")
        with open_store(file) as store:
            begin = perf_counter()
            store.write(fires())
            rate = FIRES * SHARDS * JOBS / (perf_counter() - begin)
            yield Row(
                "history: rows written", rate, bare_rate(file, Path(folder)), "bare insert", None, "1/s"
            )
            for name, (ours, bare) in QUESTIONS.items():
                yield question(name, store, file, ours, bare, bounds)
            yield from tidied(store, file, bounds)
    bounds.check()


def fires() -> list[Entry]:
    return [
        entry(Key(f"job{job}", 1, (BEGIN + timedelta(minutes=minute)).isoformat(), item), minute)
        for minute in range(FIRES)
        for job in range(JOBS)
        for item in range(SHARDS)
    ]


def entry(key: Key, minute: int) -> Entry:
    """One in fifty was skipped, one in twenty failed, and one in thirty was late."""
    due = BEGIN + timedelta(minutes=minute)
    chance = hash((key.job, minute, key.item))
    if chance % 50 == 0:
        return Entry(key, due, (), Verdict(Disposition.SKIPPED, due, "the job was disabled"))
    began = due + timedelta(seconds=20 if chance % 30 == 0 else 0.01)
    outcome, failure = (FAILED, "ValueError: no such customer") if chance % 20 == 0 else (OK, "")
    name = f"{key.job}-{minute}-{key.item}"
    ended = began + timedelta(seconds=1)
    return Entry(key, due, (Attempt(name, "10.0.0.1@-@1-a", "scheduled", 1, began, ended, outcome, failure),))


def question(
    name: str, store: Store, file: Path, ours: Callable[[Store], object], bare: str, bounds: Bounds
) -> Row:
    mine, peer = list[float](), list[float]()
    with closing(sqlite3.connect(file)) as connection:
        for _ in range(TIMES):
            begin = perf_counter()
            ours(store)
            middle = perf_counter()
            connection.execute(bare).fetchall()
            peer.append(perf_counter() - middle)
            mine.append(middle - begin)
    cost, least = median(mine), median(peer)
    title = f"history: {name}"
    note = bounds.note(title, cost < BOUND, f"must stay below {BOUND:g} s")
    return Row(title, cost * 1e3, least * 1e3, "bare select", cost / least, "ms", note)


def bare_rate(file: Path, folder: Path) -> float:
    """The same rows, copied by nothing but inserts in one transaction: a bound that nobody reaches."""
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("select * from shardwright_ledger").fetchall()
        schema = connection.execute(
            "select sql from sqlite_master where tbl_name = 'shardwright_ledger' and sql is not null"
        ).fetchall()
    with closing(sqlite3.connect(folder / "bare.db")) as connection:
        for (statement,) in schema:
            connection.execute(statement)
        holes = ", ".join("?" for _ in found[0])
        begin = perf_counter()
        connection.executemany(f"insert into shardwright_ledger values ({holes})", found)
        connection.commit()
        return len(found) / (perf_counter() - begin)


def tidied(store: Store, file: Path, bounds: Bounds) -> Iterator[Row]:
    """Most rows go: the file gives their room back, and what they came to is still counted."""
    counted = sum(count.fires for count in queries.statistics(store))
    full = size(file)
    begin = perf_counter()
    gone = tidy(store, Retention(rows=KEPT, age=timedelta(days=36500)), BEGIN)
    rate = gone / (perf_counter() - begin)
    left = size(file)
    assert sum(count.fires for count in queries.statistics(store)) == counted
    bound = 2 * KEPT / (FIRES * SHARDS * JOBS) + 0.02  # pages of an index stay half full
    ratio = left / full
    title = f"history: file with {KEPT:,} rows kept"
    note = bounds.note(title, ratio < bound, f"must stay below {bound:.2f}")
    yield Row(title, left, full, "before", ratio, "bytes", note)
    yield Row("history: rows tidied away", rate, None, "", None, "1/s")


def size(file: Path) -> int:
    """How large the file is when all is in it that was written."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    return file.stat().st_size


if __name__ == "__main__":
    for row in run():
        figures = f"{row.ours:>14,.2f} {row.peer or 0:>14,.2f} {row.unit:<6} {row.ratio or 0:>6.2f}"
        print(f"{row.name:<44} {figures} {row.note}")
