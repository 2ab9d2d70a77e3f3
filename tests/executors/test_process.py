"""Processes: a function of its own process is run as it would be here, and can do no harm."""

import atexit
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled, Failed, JobError
from shardwright.executors import child
from shardwright.executors.inside import Logs, is_child
from shardwright.executors.process import Isolated
from tests.executors.test_orphans import Deaths
from tests.test_shard import a_shard


def leased(lease: Callable[[], float] = lambda: 60.0, **changes: object) -> Shard:
    return a_shard(_lease=lease, **changes)


def often_renewed(file: Path) -> Shard:
    begin = child.boot()
    return leased(lambda: 100.0 + 1000 * int((child.boot() - begin) * 5), job_parameter=str(file))


# What is run there


def tell(shard: Shard) -> None:
    assert is_child()
    Path(shard.job_parameter).write_text(f"{shard.as_json()}\n{os.getpid()}")


def save(shard: Shard) -> None:
    shard.save("page 4")
    shard.save("page 5")


def save_too_much(shard: Shard) -> None:
    shard.save("x" * 100_000)


def fail(shard: Shard) -> None:
    raise LookupError("there is no page 4\nnor any after it")


def stop_itself(shard: Shard) -> None:
    shard.cancel()
    shard.raise_if_cancelled()


def leave(shard: Shard) -> None:
    os._exit(0)


def leave_in_order(shard: Shard) -> None:
    sys.exit("no reason")


def crash(shard: Shard) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def end_badly(shard: Shard) -> None:
    import atexit

    atexit.register(os._exit, 4)


def speak(shard: Shard) -> None:
    print("printed", "x" * 10_000)
    print("to stderr", file=sys.stderr)
    logging.getLogger("app.pages").warning("page %d is odd", 4)
    logging.getLogger("app.pages").debug("not asked for")
    try:
        raise LookupError("none")
    except LookupError:
        logging.getLogger("app").exception("caught")


def wait_for_the_order(shard: Shard) -> None:
    """In a call that returns to the interpreter only when the order was heard, by another thread."""
    heard = threading.Event()
    with shard.on_cancel(heard.set):
        Path(shard.job_parameter).write_text("begun")
        heard.wait()
    assert shard.cancelled
    shard.raise_if_cancelled()


def finish_all_the_same(shard: Shard) -> None:
    Path(shard.job_parameter).write_text("begun")
    while not shard.cancelled:
        time.sleep(0.01)


def never_end(shard: Shard) -> None:
    Path(shard.job_parameter).write_text(str(os.getpid()))
    while True:
        signal.pause()


def watch_the_lease(shard: Shard) -> None:
    """Until it was renewed at least twice, and then until the order to stop."""
    seen = {round(shard.lease_left)}
    while len(seen) < 3:
        seen.add(round(shard.lease_left))
        time.sleep(0.01)
    Path(shard.job_parameter).write_text(repr(sorted(seen)))


def is_a_fork() -> bool:
    """Whether this is a fork, that goes on when the process which it is one of has said how that ended."""
    heard, says = os.pipe()
    if os.fork() == 0:
        os.close(says)
        return os.read(heard, 1) == b""
    atexit.register(os.wait)
    atexit.register(os.close, says)
    return False


def fork_and_fail(shard: Shard) -> None:
    if not is_a_fork():
        raise LookupError("in the process that counts")


def fork_one_that_fails(shard: Shard) -> None:
    if is_a_fork():
        raise LookupError("in the process that does not count")


def end_a_fork(shard: Shard) -> None:
    forks = multiprocessing.get_context("fork")
    there = forks.Event()

    def stay() -> None:
        there.set()
        threading.Event().wait()

    fork = forks.Process(target=stay)
    fork.start()
    there.wait()
    is_ended(fork)
    watch_the_lease(shard)
    shard.raise_if_cancelled()


def end_forks_at_once(shard: Shard) -> None:
    """Before they have done anything at all."""
    for _ in range(30):
        fork = multiprocessing.get_context("fork").Process(target=signal.pause)
        fork.start()
        is_ended(fork)
    watch_the_lease(shard)
    shard.raise_if_cancelled()


def is_ended(fork: BaseProcess) -> None:
    fork.terminate()
    fork.join(10)
    how = fork.exitcode
    fork.kill()
    assert how == -signal.SIGTERM


def use_a_pool(shard: Shard) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.apply_async(signal.pause)
        assert pool.apply(abs, [-1]) == 1
    watch_the_lease(shard)  # whatever was to be heard before has been heard then
    shard.raise_if_cancelled()


def end_together_with_a_fork(shard: Shard) -> None:
    """When told to, by a word to the fork."""
    forks = multiprocessing.get_context("fork")
    heard = forks.Event()
    fork = forks.Process(target=heard.wait)
    fork.start()
    with shard.on_cancel(heard.set):
        Path(shard.job_parameter).write_text("begun")
        fork.join()
    assert fork.exitcode == 0
    shard.raise_if_cancelled()


def log_in_a_fork(shard: Shard) -> None:
    """Made while somebody is in the midst of saying something, who does not come to its end in the fork."""
    [logs] = [each for each in logging.getLogger().handlers if isinstance(each, Logs)]
    fork = multiprocessing.get_context("fork").Process(target=logging.warning, args=["page 4 is odd"])
    with logs._line._lock:
        fork.start()
    fork.join(10)
    how = fork.exitcode
    fork.kill()
    assert how == 0


def keep_its_own_handler(shard: Shard) -> None:
    """A fork has what the function itself would do about a signal."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
    fork = multiprocessing.get_context("fork").Process(target=lambda: signal.raise_signal(signal.SIGTERM))
    fork.start()
    fork.join()
    assert fork.exitcode == 7


def until_it_is_to_move(shard: Shard) -> None:
    while not shard.to_move:
        shard.raise_if_cancelled()


def fail_when_told_to_stop(shard: Shard) -> None:
    def fail() -> None:
        raise LookupError("in no mood")

    with shard.on_cancel(fail):
        finish_all_the_same(shard)
    shard.raise_if_cancelled()


class Jobs:
    @staticmethod
    def tell(shard: Shard) -> None:
        tell(shard)


@Isolated
def decorated(shard: Shard) -> None:
    tell(shard)


# What comes of it


def test_the_function_is_handed_the_shard_in_another_process(tmp_path: Path) -> None:
    for function in (Isolated(tell), Isolated(Jobs.tell), decorated):
        shard = leased(job_parameter=str(tmp_path / "told"))
        function(shard)
        told, pid = (tmp_path / "told").read_text().splitlines()
        assert told == shard.as_json()
        assert int(pid) != os.getpid()
    assert not is_child()


def test_what_it_saves_is_saved_here() -> None:
    saved: list[str] = []
    Isolated(save)(leased(_save=saved.append))
    assert saved == ["page 4", "page 5"]
    with pytest.raises(Failed, match="ValueError: a checkpoint may take 65,536 bytes"):
        Isolated(save_too_much)(leased(_save=saved.append))


def test_what_it_raises_is_raised_here_in_words() -> None:
    with pytest.raises(Failed) as failed:
        Isolated(fail)(leased())
    assert str(failed.value) == "reindex, shard 1: LookupError: there is no page 4\nnor any after it"
    [trace] = failed.value.__notes__
    assert trace.startswith("Traceback (most recent call last):\n")
    assert 'raise LookupError("there is no page 4' in trace
    assert "process.py" not in trace.replace("test_process.py", "")


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (leave, "its process ended with exit code 0 before its function returned"),
        (leave_in_order, "SystemExit: no reason"),
        (crash, "its process was killed by SIGSEGV before its function returned"),
        (end_badly, "its process ended with exit code 4 after its function returned"),
    ],
)
def test_a_process_that_ends_before_its_time_fails(function: Callable[[Shard], None], why: str) -> None:
    with pytest.raises(Failed, match=f"reindex, shard 1: {why}"):
        Isolated(function)(leased())


def test_what_it_logs_and_prints_is_logged_here_with_job_and_shard(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Isolated(speak)(leased())
    logged = {(record.name, record.levelname, record.getMessage()[:60]) for record in caplog.records}
    ours = "shardwright.executors.process"
    assert ("app.pages", "WARNING", "reindex: shard 1: page 4 is odd") in logged
    assert (ours, "INFO", "reindex: shard 1: to stderr") in logged
    [caught] = [record for record in caplog.records if record.name == "app"]
    assert "LookupError: none" in caught.getMessage()
    assert (vars(caught)["job"], vars(caught)["shard"]) == ("reindex", 1)
    [printed] = [record.getMessage() for record in caplog.records if " printed" in record.getMessage()]
    assert printed.endswith("bytes more)")
    assert "not asked for" not in caplog.text


def cancelled_when_begun(function: Callable[[Shard], None], file: Path, *, grace: float = 60.0) -> None:
    """Run it, and tell it to stop when it has written to the file that is its parameter."""
    os.mkfifo(file)
    shard = leased(job_parameter=str(file))

    def cancel() -> None:
        file.read_text()
        shard.cancel()

    threading.Thread(target=cancel).start()
    Isolated(function, grace=grace)(shard)


def test_the_order_to_stop_is_heard_there(tmp_path: Path) -> None:
    with pytest.raises(Cancelled, match="reindex, shard 1: told to stop"):
        cancelled_when_begun(wait_for_the_order, tmp_path / "begun")


def test_a_function_may_stop_of_its_own_accord() -> None:
    with pytest.raises(Cancelled):
        Isolated(stop_itself)(leased())


def test_a_function_that_returns_though_told_to_stop_has_done_its_work(tmp_path: Path) -> None:
    cancelled_when_begun(finish_all_the_same, tmp_path / "begun")


def test_a_function_that_does_not_heed_the_order_is_killed(tmp_path: Path) -> None:
    with pytest.raises(Cancelled, match="its process was told to stop, and was killed by SIGKILL"):
        cancelled_when_begun(never_end, tmp_path / "begun", grace=0.1)


def test_a_killed_process_touches_no_other(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    shard = leased(job_parameter=str(tmp_path / "begun"))

    def run() -> None:
        with pytest.raises(Cancelled):
            Isolated(never_end, grace=0.1)(shard)

    other = threading.Thread(target=run)
    other.start()
    with Deaths(int((tmp_path / "begun").read_text())) as neighbour:
        with pytest.raises(Failed, match="SIGSEGV"):
            Isolated(crash)(leased())
        with pytest.raises(AssertionError, match="lives on"):
            neighbour.expect(within=0)
        shard.cancel()
        other.join()
        neighbour.expect()


def test_the_lease_that_is_left_is_known_there(tmp_path: Path) -> None:
    Isolated(watch_the_lease)(often_renewed(tmp_path / "seen"))
    assert (tmp_path / "seen").exists()


def test_a_function_of_the_script_that_was_started_is_found(tmp_path: Path) -> None:
    script = tmp_path / "app"
    script.write_text(
        "from pathlib import Path\n"
        "from shardwright.executors.process import Isolated\n"
        "from tests.test_shard import a_shard\n"
        "def work(shard):\n"
        "    helper(shard)\n"
        "def helper(shard):\n"
        "    Path(shard.job_parameter).write_text(__name__)\n"
        "if __name__ == '__main__':\n"
        f"    Isolated(work)(a_shard(job_parameter={str(tmp_path / 'told')!r}, _lease=lambda: 60.0))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, script], check=True, env=env, cwd=tmp_path)
    assert (tmp_path / "told").read_text() == "__mp_main__"
    script.rename(tmp_path / "app.py")
    subprocess.run([sys.executable, "-m", "app"], check=True, env=env, cwd=tmp_path)
    assert (tmp_path / "told").read_text() == "app"


def test_of_a_function_that_forks_only_the_process_that_was_begun_says_how_it_ended() -> None:
    with pytest.raises(Failed, match="LookupError: in the process that counts"):
        Isolated(fork_and_fail)(leased())
    Isolated(fork_one_that_fails)(leased())


@pytest.mark.parametrize("function", [end_a_fork, end_forks_at_once, use_a_pool])
def test_a_fork_of_a_function_that_is_told_to_end_does_and_the_function_goes_on(
    function: Callable[[Shard], None], tmp_path: Path
) -> None:
    Isolated(function)(often_renewed(tmp_path / "seen"))


def test_a_fork_keeps_what_the_function_itself_does_about_a_signal() -> None:
    Isolated(keep_its_own_handler)(leased())


def test_what_a_function_has_begun_is_the_functions_to_stop(tmp_path: Path) -> None:
    with pytest.raises(Cancelled, match="reindex, shard 1: told to stop"):
        cancelled_when_begun(end_together_with_a_fork, tmp_path / "begun")


def test_a_fork_that_logs_waits_for_nobody_who_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    Isolated(log_in_a_fork)(leased())
    assert "reindex: shard 1: page 4 is odd" in caplog.text


def test_that_the_shard_is_to_move_is_known_there() -> None:
    Isolated(until_it_is_to_move, grace=0.1)(leased(lambda: 20.0, _to_move=lambda: True))


def test_what_fails_when_it_is_told_to_stop_is_told_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Cancelled, match="reindex, shard 1: told to stop"):
        cancelled_when_begun(fail_when_told_to_stop, tmp_path / "begun")
    assert "in no mood" in caplog.text


def test_folders_and_arguments_that_are_no_texts_do_not_keep_it_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])  # Python passes over what is no text
    monkeypatch.setattr(sys, "argv", ["app", tmp_path])
    Isolated(tell)(leased(job_parameter=str(tmp_path / "told")))
    assert (tmp_path / "told").exists()


def test_where_our_own_folder_is_gone_nothing_is_begun_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(Failed, match="the folder that this process runs in is gone: start it in one"):
        Isolated(tell)(leased(job_parameter=str(tmp_path / "told")))


def test_a_function_of_a_folder_that_was_started_is_found(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(
        "from pathlib import Path\n"
        "from shardwright.executors.process import Isolated\n"
        "from tests.test_shard import a_shard\n"
        "def work(shard):\n"
        "    Path(shard.job_parameter).write_text(__name__)\n"
        "if __name__ == '__main__':\n"
        f"    Isolated(work)(a_shard(job_parameter={str(tmp_path / 'told')!r}, _lease=lambda: 60.0))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, tmp_path / "app"], check=True, env=env, cwd=tmp_path)
    assert (tmp_path / "told").read_text() == "__mp_main__"


async def coroutine(shard: Shard) -> None: ...


def yielding(shard: Shard) -> Iterator[int]:
    yield 1


def greedy(shard: Shard, more: int) -> None: ...


def test_what_another_process_could_not_find_is_refused_where_it_is_declared() -> None:
    def local(shard: Shard) -> None: ...

    for function, why in [
        (lambda shard: None, "define it with `def` at the top of a module"),
        (local, "define it with `def` at the top of a module"),
        (print, "give a plain function of a module"),
        (leased().on_cancel, "give a plain function of a module"),
        (coroutine, "call asyncio.run in a plain function"),
        (yielding, "yields, so calling it runs nothing of it"),
        (greedy, "must take the shard and nothing else"),
    ]:
        with pytest.raises(JobError, match=why):
            Isolated(function)  # type: ignore[arg-type]
