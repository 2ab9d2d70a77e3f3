"""The end of `run()` is heard, however it is told."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from shardwright.runtime.ending import Ending
from shardwright.signals import Handler, hear


@pytest.fixture
def ending() -> Ending:
    return Ending()


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """Another thread, which hears signals as well as this one."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    assert thread.ident is not None
    yield thread.ident
    over.set()
    thread.join()


def telling(ending: Ending) -> dict[signal.Signals, Handler]:
    return {signal.SIGUSR1: lambda number, frame: ending.tell()}


def in_a_thread(act: Callable[[], None]) -> None:
    threading.Thread(target=act).start()


def test_a_signal_that_another_thread_was_given_is_heard(ending: Ending, elsewhere: int) -> None:
    with ending.hearing(telling(ending)) as wait:
        in_a_thread(lambda: signal.pthread_kill(elsewhere, signal.SIGUSR1))
        wait()
    assert ending.told


def test_a_signal_that_came_before_anybody_waited_is_heard(ending: Ending) -> None:
    with ending.hearing(telling(ending)) as wait:
        signal.raise_signal(signal.SIGUSR1)
        wait()


def test_another_thread_may_tell(ending: Ending) -> None:
    with ending.hearing({}) as wait:
        in_a_thread(ending.tell)
        wait()


def test_other_signals_do_not_end_it(ending: Ending) -> None:
    heard = []

    def note(number: int, frame: object) -> None:
        heard.append(number)
        if len(heard) == 3:
            in_a_thread(ending.tell)
        else:
            in_a_thread(lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2))

    with ending.hearing({signal.SIGUSR2: note}) as wait:
        signal.raise_signal(signal.SIGUSR2)
        wait()
    assert len(heard) == 3


def test_who_heard_signals_before_hears_them_again(ending: Ending) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with ending.hearing(telling(ending)):
        assert signal.getsignal(signal.SIGUSR1) != before
    assert signal.getsignal(signal.SIGUSR1) == before
    ending.tell()  # there is nobody to be woken
    assert ending.told


def test_a_fork_does_about_signals_what_was_done_before_and_wakes_nobody(ending: Ending) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with ending.hearing(telling(ending)):
        ours = signal.getsignal(signal.SIGUSR1)
        fork = os.fork()
        if not fork:
            os._exit(0 if signal.getsignal(signal.SIGUSR1) == before and signal.set_wakeup_fd(-1) < 0 else 1)
        assert os.waitpid(fork, 0) == (fork, 0)
        assert signal.getsignal(signal.SIGUSR1) == ours
        assert signal.SIGUSR1 not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_fork_that_ends_what_its_parent_began_breaks_nothing(ending: Ending) -> None:
    handlers = telling(ending)
    before = signal.getsignal(signal.SIGUSR1)
    mine, wakes = socket.socketpair()
    with mine, wakes:
        wakes.setblocking(False)
        have_all_as_before = hear(handlers, wakes)
        fork = os.fork()
        if not fork:
            try:
                have_all_as_before()
            finally:
                os._exit(0 if signal.getsignal(signal.SIGUSR1) == before and sys.exception() is None else 1)
        have_all_as_before()
    assert os.waitpid(fork, 0) == (fork, 0)
