"""Timekeeping: whether this machine's clock agrees with the registry's, as far as the job asks for it.

    systemTime/current    persistent    written to learn the registry's time from the answer

Fires go by the registry's time in any case. A job that sets `max_time_diff_seconds` has work that reads the
machine's own clock: where that is further off, nothing is started, and it is said why.
"""

from collections.abc import Iterator

from .step import Create, Look, Put, Say, Step, Write, do
from .view import View

NODE = "systemTime/current"

#: How often we look while they do not agree.
ASK_AGAIN = 1.0


def checked(view: View) -> bool:
    return view.config.max_time_diff_seconds >= 0


def apart(view: View) -> float:
    """By how many seconds the machine's clock is off, either way."""
    return abs((view.wall - view.now).total_seconds()) if view.wall is not None else 0.0


def trusted(view: View) -> bool:
    return not checked(view) or apart(view) <= view.config.max_time_diff_seconds


def touch(view: View) -> Iterator[Write]:
    """Have the registry's time told with a claim, as Java members do before each fire."""
    if checked(view):
        yield Put(NODE, "") if NODE in view.tree else Create(NODE)


def complain(view: View) -> Iterator[Step | Look]:
    most = view.config.max_time_diff_seconds
    yield do(
        then=Say(
            f"nothing is started here: this machine's clock and the registry's are more than the {most} s "
            f"apart that max_time_diff_seconds allows; set the machine's clock right"
        )
    )
    yield Look(view.boot + ASK_AGAIN, "do the clocks agree by now?")
