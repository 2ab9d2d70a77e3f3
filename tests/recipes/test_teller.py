"""The teller: one call after the other, whatever they do."""

import sys
import threading

from shardwright.recipes.teller import Teller

from .heard import PATIENCE, Heard, listening, says


def test_a_call_that_would_end_its_thread_is_reported_and_the_next_is_called() -> None:
    heard: Heard[str] = Heard()
    teller = Teller("Account")
    with listening() as said:
        teller.tell("on_change", lambda: sys.exit(1))
        teller.tell("on_change", lambda: heard("next"))
        heard.until(len)
        said.until(says("ERROR Account: on_change has failed"))
    teller.stop(PATIENCE)


def test_stopped_twice_it_tells_again_when_there_is_something_to_tell() -> None:
    """As when a callback stops what its owner stops as well."""
    heard: Heard[str] = Heard()
    teller = Teller("Account")
    teller.tell("on_change", lambda: teller.stop(PATIENCE))
    teller.stop(PATIENCE)
    teller.stop(PATIENCE)
    teller.tell("on_change", lambda: heard("again"))
    heard.until(len)
    teller.stop(PATIENCE)


def test_nothing_is_called_beside_what_has_not_come_back_though_it_was_not_waited_for() -> None:
    heard: Heard[str] = Heard()
    may_go_on = threading.Event()

    def hang() -> None:
        heard("begins")
        may_go_on.wait(PATIENCE)
        heard("ends")

    teller = Teller("Account")
    teller.tell("on_change", hang)
    heard.until(len)
    teller.stop(0.0)
    teller.tell("on_change", lambda: heard("next"))
    may_go_on.set()
    assert heard.until(lambda calls: len(calls) == 3) == ["begins", "ends", "next"]
    teller.stop(PATIENCE)


def test_it_knows_whether_it_is_asked_in_what_it_calls() -> None:
    heard: Heard[bool] = Heard()
    teller, other = Teller("Account"), Teller("Order")
    teller.tell("on_change", lambda: heard(teller.is_calling()))
    teller.tell("on_change", lambda: heard(other.is_calling()))
    assert heard.until(lambda calls: len(calls) == 2) == [True, False]
    assert not teller.is_calling()
    teller.stop(PATIENCE)
