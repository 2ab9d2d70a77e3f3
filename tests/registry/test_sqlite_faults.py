"""What happens to processes, files and disks, done to the SQLite driver for real."""

import gc
import logging
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from shardwright.errors import RegistryError, RegistryUrlError, Unsuitable
from shardwright.registry import Create, Delete, Landed, Put, Refused, State, Unknown, connect
from shardwright.registry import writes as words
from shardwright.registry.sqlite import SqliteRegistry, clerk, file, holder, liveness, place, plan, schema
from shardwright.registry.sqlite.requests import Broke, Question
from shardwright.registry.tree import Node, snapshot
from tests.conftest import require
from tests.faults.processes import Child

from . import power_cuts, sqlite_children
from .contract import ROOT, data, land, mirror, read, sees
from .test_sqlite import end_session

T = TypeVar("T")

#: Long: a machine that stands still for a moment ends nobody's session. And one for those that are to end.
SESSION = 30.0
SHORT = 1.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path / "registry.db"


def url(path: Path, options: str = "", session: float = SESSION) -> str:
    return f"sqlite://{path}?session_timeout={session}s{options}"


@contextmanager
def opened(
    path: Path, options: str = "", patience: float = 10.0, session: float = SESSION
) -> Iterator[SqliteRegistry]:
    registry = connect(url(path, options, session), patience=patience)
    assert isinstance(registry, SqliteRegistry)
    with registry:
        yield registry


def states_of(registry: SqliteRegistry) -> list[State]:
    told: list[State] = []
    registry.listener = lambda state, session: told.append(state)
    return told


def id_of(registry: SqliteRegistry) -> str:
    session = registry.session()
    assert session is not None
    return session.id


def in_the_file(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


# -- kill -9 ----------------------------------------------------------------------------------------------


def test_whatever_moment_writers_are_killed_at_nothing_acknowledged_is_lost(path: Path) -> None:
    dice = random.Random(6)
    kills = 36
    with opened(path) as registry:
        tree = mirror(registry, "/storm")
        writers = [Child(sqlite_children.writer, url(path), f"w{n}") for n in range(6)]
        ended: list[Child] = []
        try:
            for n in range(kills):
                victim = writers[n % len(writers)]
                for _ in range(dice.randrange(1, 25)):
                    victim.expect("landed", 60)
                victim.kill()
                ended.append(victim)
                writers[n % len(writers)] = Child(sqlite_children.writer, url(path), f"r{n}")
        finally:
            for child in writers:
                child.close()
        for child in ended + writers:
            child.close()
        landed = [
            line.split()[1:]
            for child in ended + writers
            for line in child.lines
            if line.startswith("landed ") and len(line.split()) == 3
        ]
        sees(registry, lambda: not tree.children("alive"), "the end of every writer")
        land(registry, Create("/storm/done"))
        assert len(landed) > kills
        for where, number in landed:
            node = tree.node(where.removeprefix("/storm/"))
            assert node.made == int(number)
            assert tree.node(where.removeprefix("/storm/") + "/twin").made == int(number)
        assert len({number for _, number in landed}) == len(landed)
        assert in_the_file(path, "pragma integrity_check") == [("ok",)]
        stored = in_the_file(path, "select path, made from node where path like '/storm/%'")
        assert {f"/storm/{each}": node.made for each, node in snapshot(tree).items() if each} == {
            str(where): made for where, made in stored
        }


def test_the_nodes_of_a_killed_process_are_gone_within_a_blink(path: Path) -> None:
    with opened(path) as registry, Child(sqlite_children.member, url(path), f"{ROOT}/me") as child:
        child.expect("ready")
        tree = mirror(registry)
        sees(registry, lambda: "me" in tree)
        os.kill(child.pid, signal.SIGKILL)
        began = time.monotonic()
        sees(registry, lambda: "me" not in tree)
        assert time.monotonic() - began < SESSION / 2
        assert [each.name for each in place.sessions_of(path).iterdir()] == [id_of(registry)]


def test_who_opens_the_file_after_all_others_were_killed_never_sees_their_nodes(path: Path) -> None:
    """Who asks but once, as a command does, has gone before anybody's next look."""
    for _ in range(3):
        with Child(sqlite_children.member, url(path), f"{ROOT}/me") as child:
            child.expect("ready")
            os.kill(child.pid, signal.SIGKILL)
            child.wait(20)
        with opened(path) as registry:
            assert read(registry, f"{ROOT}/me") is None


def test_many_processes_may_open_a_file_that_is_not_there_yet_at_once(path: Path) -> None:
    children = [Child(sqlite_children.opener, url(path)) for _ in range(5)]
    try:
        for child in children:
            child.expect("open", 30)
    finally:
        for child in children:
            child.close()


# -- kill -STOP -------------------------------------------------------------------------------------------


@contextmanager
def stopped_in_a_write(path: Path) -> Iterator[Child]:
    with Child(sqlite_children.holder, str(path)) as child:
        child.expect("held")
        child.stop()
        yield child


def test_a_process_stopped_in_a_write_is_named_and_costs_nobody_the_session(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = 2 * SHORT
    with opened(path, session=session) as registry:
        told = states_of(registry)
        before = registry.session()
        land(registry, Create("/me", ephemeral=True))
        with stopped_in_a_write(path) as child:
            outcome = registry.wait(registry.commit(Create("/a"), patience=2.5 * session))
            assert isinstance(outcome, Refused)
            assert f"process {child.pid}" in outcome.why
            assert f"kill -CONT {child.pid}" in caplog.text
            assert data(registry, "/me") == ""
            assert child.alive()
        land(registry, Create("/a"))
        assert registry.session() is before
        assert told == []


def test_a_process_stopped_in_a_write_is_ended_if_we_are_told_to(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with opened(path, "&end_stopped=true") as registry, stopped_in_a_write(path) as child:
        land(registry, Create("/a"))
        assert child.wait() == -signal.SIGKILL
        assert f"the stopped process {child.pid} was ended" in caplog.text


def test_a_process_that_is_slow_in_a_write_is_not_ended(path: Path) -> None:
    with opened(path, "&end_stopped=true") as registry, Child(sqlite_children.holder, str(path)) as child:
        child.expect("held")
        outcome = registry.wait(registry.commit(Create("/a"), patience=holder.ASK_AFTER * 1.5))
        assert isinstance(outcome, Refused)
        assert f"process {child.pid}" in outcome.why
        assert child.alive()


def test_a_process_stopped_elsewhere_is_given_up_after_its_time_out_and_finds_out(path: Path) -> None:
    at = url(path, session=SHORT)
    with opened(path) as registry, Child(sqlite_children.member, at, f"{ROOT}/me") as child:
        first = child.expect("ready").split()[1]
        tree = mirror(registry)
        sees(registry, lambda: "me" in tree)
        child.stop()
        began = time.monotonic()
        sees(registry, lambda: "me" not in tree)
        # By its own time-out, and not by ours.
        assert SHORT * 0.5 < time.monotonic() - began < SESSION / 2
        child.cont()
        child.expect("lost")
        assert child.expect("connected").split()[1] != first


def test_a_session_that_was_ended_commits_nothing(path: Path) -> None:
    with opened(path) as registry:
        first = id_of(registry)
        end_session(path, first)
        registry.wait_for(lambda: registry.session() is not None and id_of(registry) != first)
        late = file.File(path, patience=5)
        planned = plan.of([Create("/late")])
        assert isinstance(planned, plan.Plan)
        late.land([planned.request(1, first)])
        late.close()
        assert read(registry, "/late") is None


def test_who_holds_the_lock_is_read_from_the_systems_list() -> None:
    locks = (
        "1: POSIX  ADVISORY  READ  11 fe:00:131 128 128\n"
        "2: POSIX  ADVISORY  WRITE 12 fe:00:131 121 121\n"
        "3: FLOCK  ADVISORY  WRITE 13 fe:00:131 0 EOF\n"
        "4: POSIX  ADVISORY  WRITE 14 fe:00:7131 120 120\n"
        "5: -> POSIX  ADVISORY  WRITE 15 fe:00:131 120 120\n"
        "6: POSIX  ADVISORY  WRITE 16 fe:00:131 120 120\n"
        "7: POSIX  ADVISORY  WRITE 17 fe:00:131 100 EOF\n"
    )
    assert list(holder.lockers(locks, 131)) == [16, 17]


@pytest.mark.parametrize("last", ["registry keeper", "registry clerk"])
def test_where_the_system_has_no_threads_left_nothing_stays_open(
    last: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == last:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError):
        connect(url(path))
    gc.collect()
    descriptors = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert [each for each in descriptors if str(each.readlink()).startswith(str(path))] == []


# -- fork -------------------------------------------------------------------------------------------------


def test_a_forked_child_neither_uses_the_registry_nor_keeps_the_session_alive(path: Path) -> None:
    with opened(path) as registry, Child(sqlite_children.forker, url(path), f"{ROOT}/me") as child:
        forked = int(child.expect("forked it").split()[2])
        tree = mirror(registry)
        sees(registry, lambda: "me" in tree)
        said = [line for line in child.lines if line.startswith("child:")]
        assert [line.split()[1] for line in said] == ["commit:", "read:", "session:", "pump:"]
        assert all(f"belongs to process {child.pid}" in line for line in said)
        child.kill()
        sees(registry, lambda: "me" not in tree)
        assert Path(f"/proc/{forked}").exists()
        assert read(registry, "/from-the-child") is None


def test_a_forked_child_with_a_registry_of_its_own_loses_nothing_when_its_parent_closes_first(
    path: Path,
) -> None:
    wal = f"{path}-wal"
    with Child(sqlite_children.outlived_by_its_fork, url(path), wal, listens=True) as parent:
        parent.expect("closed, and the log is there", 30)
        parent.expect("third, please", 30)
        with opened(path) as third:
            before = land(third, Create("/third"))
            parent.tell("")
            parent.expect("child ended 0", 30)
            after = land(third, Create("/fourth"))
            numbers = landed_by(parent)
            assert len(numbers) == 1 + 10 + 20 + 1
            assert all(
                node is not None and node.made == numbers[each] for each, node in nodes_of(third, numbers)
            )
    in_order = list(numbers.values())
    assert in_order == sorted(set(in_order))
    assert in_order[-2] < before.number < in_order[-1] < after.number
    assert in_the_file(path, "pragma integrity_check") == [("ok",)]


def test_at_whatever_moment_of_a_write_a_process_forks_the_child_can_open_a_registry_of_its_own(
    path: Path,
) -> None:
    with Child(sqlite_children.forker_in_the_midst_of_writes, url(path), 40) as parent:
        parent.expect("all could", 120)
        with opened(path) as registry:
            assert len(registry.wait(registry.names(["/child"]))["/child"] or ()) == 40


def test_a_fork_does_not_wait_for_ever_for_a_statement_and_its_child_is_told_why_it_may_not_open_the_file(
    path: Path,
) -> None:
    with Child(sqlite_children.forker_whose_clerk_is_stuck, url(path)) as parent:
        said = parent.expect("child:", 30)
        assert "Unsuitable" in said
        assert str(path) in said
        assert "was in use at the moment when this process was forked" in said
        parent.expect("landed /parent", 30)


def test_what_a_forked_child_inherited_takes_nothing_away_that_others_have_left_since(path: Path) -> None:
    with Child(sqlite_children.forker_whose_child_opens_late, url(path), listens=True) as parent:
        parent.expect("closed", 30)
        with Child(sqlite_children.writer, url(path), "w") as writer:
            for _ in range(10):
                writer.expect("landed", 30)
            writer.kill()
            numbers = landed_by(writer)
        assert Path(f"{path}-wal").exists()
        parent.tell("")
        parent.expect("child ended 0", 30)
        numbers |= landed_by(parent)
        with opened(path) as registry:
            assert all(
                node is not None and node.made == numbers[each] for each, node in nodes_of(registry, numbers)
            )


def landed_by(child: Child) -> dict[str, int]:
    """The number of each commit that it says has landed."""
    said = [line.split() for line in child.lines if line.startswith("landed ")]
    return {where: int(number) for _, where, number in (words for words in said if len(words) == 3)}


def nodes_of(registry: SqliteRegistry, paths: Iterable[str]) -> Iterable[tuple[str, Node | None]]:
    return registry.wait(registry.read(paths)).items()


# -- disks ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    where = tmp_path / "disk"
    where.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", str(where)]
    done = subprocess.run(mount, capture_output=True, check=False)
    require("a small disk cannot be mounted: that needs root" if done.returncode else None)
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)


def test_on_a_full_disk_commits_are_refused_with_a_sentence_and_none_is_forgotten(small_disk: Path) -> None:
    path = small_disk / "registry.db"
    with opened(path) as registry:
        told = states_of(registry)
        tree = mirror(registry)
        ballast = small_disk / "ballast"
        landed: list[int] = []

        def commit(n: int) -> bool:
            outcome = registry.wait(registry.commit(Create(f"{ROOT}/{n}", "x" * 50_000)))
            if isinstance(outcome, Landed):
                landed.append(n)
                return True
            assert isinstance(outcome, Refused), outcome
            assert "no room left on the disk" in outcome.why
            return False

        assert all(commit(n) for n in range(5))
        fill(ballast)
        refused = [n for n in range(5, 60) if not commit(n)]
        assert refused
        assert [str(n) for n in sorted(landed)] == sorted(tree.children(""), key=int)
        ballast.unlink()
        assert commit(100)
        assert told == []
    assert in_the_file(path, "pragma integrity_check") == [("ok",)]
    stored = in_the_file(path, f"select path from node where path like '{ROOT}/%'")
    assert {where for (where,) in stored} == {f"{ROOT}/{n}" for n in landed}


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as out:
        for size in (65536, 4096, 512, 1):
            try:
                while out.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


COMMITS = 150
CUTS = 150


def commit_through_power_cuts(path: Path, synchronous: str, seed: int) -> tuple[int, int]:
    """How many of the cuts lost what was acknowledged, or left a file that is not whole; and how many kept
    all of it."""
    with power_cuts.recorded(path, synchronous) as (connection, recording):
        for statement in schema.statements():
            connection.execute(statement)
        connection.execute("insert into session (id, pid, timeout) values ('s', 1, 10)")
        recording.acknowledge(0)
        for n in range(1, COMMITS + 1):
            planned = plan.of(words.in_order([Create(f"/{n % 7}/{n}", str(n) * 50)]))
            assert isinstance(planned, plan.Plan)
            connection.execute(file._LAND, (plan.as_text([planned.request(n, "s")]),))
            recording.acknowledge(n)
    first = recording.events.index(power_cuts.Acknowledged(0))
    dice = random.Random(seed)
    bad = 0
    for number in range(CUTS):
        disk, acknowledged = power_cuts.cut(recording, dice.randrange(first + 1, len(recording.events)), dice)
        bad += not survived(path.with_name(f"cut-{synchronous}-{number}.db"), path, disk, acknowledged)
    return bad, CUTS - bad


def survived(after: Path, before: Path, disk: dict[str, bytes], acknowledged: set[int]) -> bool:
    for name, content in disk.items():
        Path(name.replace(str(before), str(after))).write_bytes(content)
    try:
        whole = in_the_file(after, "pragma integrity_check") == [("ok",)]
        found = {ref for (ref,) in in_the_file(after, "select coalesce(ref, 0) from log")}
        nodes = {where for (where,) in in_the_file(after, "select path from node")}
    except sqlite3.DatabaseError:
        return False
    return whole and acknowledged <= found and all(f"/{n % 7}/{n}" in nodes for n in acknowledged if n)


def test_a_power_cut_loses_nothing_that_was_acknowledged(path: Path) -> None:
    assert commit_through_power_cuts(path, "full", 1) == (0, CUTS)


@pytest.mark.parametrize("synchronous", ["normal", "off"])
def test_the_power_cuts_are_real_with_less_syncing_they_do_harm(path: Path, synchronous: str) -> None:
    bad, _ = commit_through_power_cuts(path, synchronous, 1)
    assert bad > CUTS // 2


def test_every_connection_syncs_every_commit(path: Path) -> None:
    with opened(path) as registry:
        asked = registry._ask(lambda file: file._connection.row("pragma synchronous"))
        assert registry.wait(asked) == (2,)
    assert in_the_file(path, "pragma journal_mode") == [("wal",)]


# -- operators --------------------------------------------------------------------------------------------


def test_who_loses_the_lock_file_notices_and_starts_anew(path: Path) -> None:
    with opened(path) as registry, opened(path) as witness:
        told = states_of(registry)
        first = id_of(registry)
        tree = mirror(witness)
        land(registry, Create(f"{ROOT}/me", ephemeral=True))
        sees(witness, lambda: "me" in tree)
        (place.sessions_of(path) / first).unlink()
        sees(witness, lambda: "me" not in tree)
        registry.wait_for(lambda: registry.session() is not None and id_of(registry) != first)
        assert told == [State.LOST, State.CONNECTED]
        land(registry, Create(f"{ROOT}/me", ephemeral=True))


def test_after_the_file_was_taken_away_work_goes_on_in_a_new_one(path: Path) -> None:
    with opened(path) as registry:
        first = id_of(registry)
        tree = mirror(registry)
        land(registry, Create(f"{ROOT}/a"))
        for each in path.parent.glob("registry.db*"):
            if each.is_file():
                each.unlink()
        registry.wait_for(lambda: registry.session() is not None and id_of(registry) != first and tree.synced)
        assert len(tree) == 0
        land(registry, Create(f"{ROOT}/b"))
        assert list(tree.children("")) == ["b"]


def test_who_loses_the_log_of_the_file_notices_and_opens_it_anew(path: Path) -> None:
    with opened(path) as registry:
        told = states_of(registry)
        land(registry, Create(f"{ROOT}/a"))
        Path(f"{path}-wal").unlink()
        registry.wait_for(lambda: told == [State.SUSPENDED, State.CONNECTED])
        land(registry, Create(f"{ROOT}/b"))
        assert in_the_file(path, f"select count(*) from node where path in ('{ROOT}/a', '{ROOT}/b')") == [
            (2,)
        ]


def test_leftover_lock_files_are_swept_away(path: Path) -> None:
    with opened(path):
        pass
    leftover = place.sessions_of(path) / "0123456789abcdef"
    leftover.touch()
    with opened(path) as registry:
        assert [each.name for each in place.sessions_of(path).iterdir()] == [id_of(registry)]


def test_a_session_from_before_a_restart_of_the_machine_is_ended(path: Path) -> None:
    with opened(path) as registry:
        in_the_file(path, "insert into session values ('00000000000000aa', 1, 3600)")
        registry.wait_for(
            lambda: in_the_file(path, "select id from session") == [(id_of(registry),)], what="the end of it"
        )


# -- ourselves --------------------------------------------------------------------------------------------


class BadLog(logging.Handler):
    """Has no room left, and says so to whoever logs."""

    def emit(self, record: logging.LogRecord) -> None:
        raise OSError(28, "No space left on device")


@pytest.fixture
def bad_log() -> Iterator[None]:
    handler = BadLog()
    logging.getLogger("shardwright.registry").addHandler(handler)
    yield
    logging.getLogger("shardwright.registry").removeHandler(handler)


def failing(real: Callable[..., T], times: int, error: Exception) -> Callable[..., T]:
    """The same, failing for the first few times."""
    left = [error] * times

    def fail_at_first(*args: object) -> T:
        if left:
            raise left.pop()
        return real(*args)

    return fail_at_first


@pytest.mark.usefixtures("bad_log")
@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("planted"), sqlite3.ProgrammingError("planted")]
)
def test_whatever_goes_wrong_in_a_turn_even_with_a_log_that_fails_it_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with opened(path) as registry:
        told, first = states_of(registry), id_of(registry)
        tree = mirror(registry)
        monkeypatch.setattr(file.File, "data_version", failing(file.File.data_version, 3, error))
        registry.wait_for(lambda: len(told) == 2 and tree.synced)
        assert told == [State.SUSPENDED, State.CONNECTED]
        assert id_of(registry) == first
        land(registry, Create(f"{ROOT}/a"))


@pytest.mark.usefixtures("bad_log")
def test_a_heart_goes_on_beating_whatever_goes_wrong_with_a_beat(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as registry:
        session = registry.session()
        assert session is not None
        monkeypatch.setattr(liveness.Others, "look", failing(liveness.Others.look, 3, MemoryError()))
        monkeypatch.setattr(liveness.Tenure, "beat", failing(liveness.Tenure.beat, 3, MemoryError()))
        before = session.ends()
        registry.wait_for(lambda: session.ends() > before)
        assert id_of(registry) == session.id


@pytest.mark.usefixtures("bad_log")
def test_who_loses_the_lock_file_starts_anew_although_the_log_fails(path: Path) -> None:
    with opened(path) as registry:
        first = id_of(registry)
        (place.sessions_of(path) / first).unlink()
        registry.wait_for(lambda: registry.session() is not None and id_of(registry) != first)
        land(registry, Create(f"{ROOT}/a"))


def test_where_a_thread_of_ours_has_ended_everybody_is_answered_and_the_owner_fails(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = connect(url(path))
    assert isinstance(registry, SqliteRegistry)
    told = states_of(registry)
    underway = registry.commit(Create("/a"))
    registry._clerk.put(Broke(RuntimeError("planted")))
    for _ in range(2):
        with pytest.raises(
            RegistryError, match=r"a thread of the registry has ended: RuntimeError\('planted'\)"
        ):
            registry.wait_for(lambda: False)
    assert told == [State.LOST]
    assert isinstance(underway.result(timeout=0), Landed | Refused | Unknown)
    assert "planted" in registry.trouble
    registry.close()
    assert "a fault of its own" in caplog.text


@pytest.mark.usefixtures("bad_log")
def test_an_owner_fails_with_its_thread_although_the_log_does(path: Path) -> None:
    with opened(path) as registry:
        registry._clerk.put(Broke(RuntimeError("planted")))
        with pytest.raises(RegistryError, match="planted"):
            registry.wait_for(lambda: False)


def test_who_falls_behind_the_pruned_log_reads_everything_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clerk, "KEPT", 20)
    monkeypatch.setattr(clerk, "PRUNED_EVERY", 10)
    with opened(path) as slow, opened(path) as busy:
        tree = mirror(slow)
        land(busy, Create(f"{ROOT}/goes"))
        sees(slow, lambda: "goes" in tree)
        with held_up(slow):
            land(busy, Delete(f"{ROOT}/goes"))
            for n in range(60):
                land(busy, Create(f"{ROOT}/{n}", str(n)))
            ((kept,),) = in_the_file(path, "select count(*) from log")
            assert isinstance(kept, int)
            assert kept < 40
        sees(slow, lambda: "59" in tree and tree.synced)
        assert {each.data for where, each in snapshot(tree).items() if where} == {str(n) for n in range(60)}


@contextmanager
def held_up(registry: SqliteRegistry) -> Iterator[None]:
    """Have the thread that follows the log stand still."""
    go_on, stands = threading.Event(), threading.Event()

    def stand(_: object) -> Callable[[], None]:
        stands.set()
        assert go_on.wait(60)
        return lambda: None

    registry._clerk.put(Question(stand, lambda why: None))
    assert stands.wait(10)
    try:
        yield
    finally:
        go_on.set()


def test_a_session_ends_with_its_registry_although_the_thread_that_would_end_it_stands_still(
    path: Path,
) -> None:
    with opened(path) as watcher, opened(path) as stuck:
        land(stuck, Create(f"{ROOT}/me", ephemeral=True))
        tree = mirror(watcher)
        sees(watcher, lambda: "me" in tree)
        with held_up(stuck):
            stuck.patience = 0.0
            stuck.abandon()
            sees(watcher, lambda: "me" not in tree)


def test_numbers_grow_after_everything_was_pruned(path: Path) -> None:
    with opened(path) as registry:
        before = land(registry, Create("/a")).number
    in_the_file(path, "delete from log")
    with opened(path) as registry:
        assert land(registry, Put("/a")).number > before


def test_a_name_that_was_given_by_hand_costs_only_the_commit_that_was_to_be_given_it(path: Path) -> None:
    with opened(path) as registry:
        land(registry, Create("/q/n-0000000000"), Create("/q/n-0000000001"))
        with held_up(registry):
            futures = [
                registry.commit(Create("/q/a")),
                registry.commit(Create("/q/n-", sequential=True)),
                registry.commit(Create("/q/b")),
            ]
        first, named, last = [registry.wait(future) for future in futures]
        assert isinstance(first, Landed)
        assert named == Refused("a name that was to be given is taken")
        assert isinstance(last, Landed)


def test_text_that_is_no_text_is_refused_at_the_door_and_bytes_in_disguise_come_back(path: Path) -> None:
    with opened(path) as registry:
        with pytest.raises(ValueError, match="surrogate"):
            registry.commit(Create("/a", "\ud800"))
        land(registry, Create("/a", "\udc80 \x1a0000 \x00"))
        assert data(registry, "/a") == "\udc80 \x1a0000 \x00"


# -- places -----------------------------------------------------------------------------------------------


def test_what_we_make_is_for_us_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "registry.db"
    with opened(path) as registry:
        land(registry, Create("/a"))
        modes = {each.name: oct(each.stat().st_mode & 0o777) for each in path.parent.iterdir()}
        locks = [oct(each.stat().st_mode & 0o777) for each in place.sessions_of(path).iterdir()]
    assert modes == {
        "registry.db": "0o600",
        "registry.db-shm": "0o600",
        "registry.db-wal": "0o600",
        "registry.db.sessions": "0o700",
    }
    assert oct(path.parent.stat().st_mode & 0o777) == "0o700"
    assert locks == ["0o600"]


def folder_for_all(path: Path) -> None:
    path.parent.chmod(0o777)


def half(path: Path) -> None:
    with opened(path):
        pass
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere.db"))
    path.with_name("elsewhere.db").touch()


def other_version(path: Path) -> None:
    with opened(path):
        pass
    in_the_file(path, f"pragma user_version = {schema.VERSION + 1}")


def other_database(path: Path) -> None:
    in_the_file(path, "create table theirs (x)")
    path.chmod(0o600)


def text(path: Path) -> None:
    path.write_text("not a database, " * 100)
    path.chmod(0o600)


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (
            folder_for_all,
            "others may write to .*: name a folder of its own, .*, or keep them out: chmod go-w ",
        ),
        (half, "cannot be used .*malformed"),
        (link, "is a symbolic link: name the file itself"),
        (Path.mkdir, "is a folder: name a file in it"),
        (other_version, f"its schema is version {schema.VERSION + 1}, ours is {schema.VERSION}"),
        (other_database, "is somebody else's database: name another file"),
        (text, "is not a registry: name another file"),
    ],
)
def test_an_unsuitable_place_is_refused_with_what_to_do(
    path: Path, prepare: Callable[[Path], None], sentence: str
) -> None:
    prepare(path)
    with pytest.raises(Unsuitable, match=sentence):
        connect(url(path))


def test_a_file_of_ours_that_others_may_read_is_kept_to_ourselves_from_now_on(path: Path) -> None:
    path.touch()
    path.chmod(0o644)
    with opened(path):
        assert oct(path.stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("prepare", [other_database, text])
def test_a_file_that_is_somebody_elses_is_left_as_it_is(path: Path, prepare: Callable[[Path], None]) -> None:
    prepare(path)
    path.chmod(0o664)
    before = path.read_bytes()
    with pytest.raises(Unsuitable):
        connect(url(path))
    assert (oct(path.stat().st_mode & 0o777), path.read_bytes()) == ("0o664", before)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("slashes", ["/", "//", "///"])
def test_more_slashes_than_needed_name_the_same_file(path: Path, slashes: str) -> None:
    registry = connect(f"sqlite://{slashes}{str(path).lstrip('/')}")
    registry.close()
    assert path.exists()


@pytest.mark.parametrize(
    "address", ["sqlite:///:memory:", "sqlite:///x%00.db", "sqlite://", "sqlite:///", None]
)
def test_an_address_that_names_no_file_is_one_sentence(address: str) -> None:
    with pytest.raises(RegistryUrlError, match=r"sqlite:///var/lib/app/registry\.db"):
        connect(address)


def test_what_is_not_ours_among_the_lock_files_harms_nobody(path: Path) -> None:
    with opened(path):
        pass
    (place.sessions_of(path) / "lost+found").mkdir()
    (place.sessions_of(path) / "link").symlink_to("/etc/hostname")
    with opened(path) as registry:
        land(registry, Create("/a"))


def test_all_who_open_a_new_file_at_the_same_moment_get_in(tmp_path: Path) -> None:
    for turn in range(20):
        address = url(tmp_path / str(turn) / "registry.db")
        with ThreadPoolExecutor(4) as threads:
            opened_at_once = [threads.submit(connect, address) for _ in range(4)]
        for each in opened_at_once:
            each.result().close()


def test_a_sqlite_that_is_too_old_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 0))
    with pytest.raises(Unsuitable, match=r"3\.38\.0 is needed"):
        connect(url(path))


MOUNTS = (
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "30 22 0:26 / /srv rw shared:2 - nfs4 files:/srv rw\n"
    "31 30 0:27 / /srv/local\\040disk rw - xfs /dev/vdb rw\n"
    "32 22 0:28 / /home/me rw - fuse.sshfs me@there:/ rw\n"
    "33 22 0:29 / /twice rw - ext4 /dev/vdc rw\n"
    "34 22 0:30 / /twice rw - cifs //there/share rw\n"
    "nonsense\n"
)


@pytest.mark.parametrize(
    ("where", "kind", "shared"),
    [
        ("/var/lib", "ext4", False),
        ("/srv/app", "nfs4", True),
        ("/srv/local disk/app", "xfs", False),
        ("/srvs", "ext4", False),
        ("/home/me", "fuse.sshfs", True),
        ("/twice/a", "cifs", True),
    ],
)
def test_network_file_systems_are_known_by_the_list_of_mounts(where: str, kind: str, shared: bool) -> None:
    assert place.file_system(where, MOUNTS) == kind
    assert place.is_shared(kind) is shared


def test_a_file_on_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "file_system", lambda where, mountinfo: "nfs4")
    with pytest.raises(Unsuitable, match=r"network file system \(nfs4\).*local disk"):
        connect(url(path))
    assert not path.exists()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("sqlite://registry.db", "after three slashes"),
        ("sqlite://folder/registry.db", "after three slashes"),
        ("sqlite:///", "after three slashes"),
        ("sqlite:///tmp/x.db?color=red", "no option 'color'"),
        ("sqlite:///tmp/x.db?session_timeout=10ms", "at least 0.5s"),
        ("sqlite:///tmp/x.db?end_stopped=maybe", "true or false"),
    ],
)
def test_an_address_that_names_no_file_is_refused(address: str, sentence: str) -> None:
    with pytest.raises(RegistryUrlError, match=sentence):
        connect(address)
