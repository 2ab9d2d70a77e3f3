"""Arguments: what a scheduler is declared with, refused with a sentence where it cannot be meant."""

import contextlib
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from .. import durations
from ..coordination import request
from ..egress import Egress
from ..errors import ConfigError, JobError
from ..history.keeping import NEW_TABLES, OLD_TABLES, Retention, is_choice_of_tables
from ..jobs import JobConfig
from .listeners import Listener

#: More seconds than anybody waits for; far more would be beyond what a calendar and a timer take.
LONGEST = 1_000_000_000

#: What is younger may still run, or be in nobody's books yet.
SHORTEST_AGE = timedelta(hours=1)

#: More rows than any database here is for.
MOST_ROWS = 1_000_000_000


def seconds(option: str, given: float) -> float:
    """A time; refused where it cannot be."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= LONGEST:
        raise JobError(f"{option} must be a number of seconds from 0 to {LONGEST:,}, not {given!r:.100}")
    return given


def check_no_schedule(name: str) -> None:
    """Refuse a name that reads as a schedule: whoever gives no other has given that one."""
    for setting, text in (("cron", name), ("schedule", name), ("schedule", f"crontab {name}")):
        with contextlib.suppress(ConfigError):
            JobConfig.of({"name": "any", setting: text})
            raise JobError(f"job {name!r}: the first argument is the name: write {setting}={text!r}")


def retention(age: object, rows: object, audit_age: object) -> Retention:
    """How much of a history is kept; refused where it would be nothing."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise JobError(f"history_rows must be a whole number from 1 to {MOST_ROWS:,}, not {rows!r:.100}")
    return Retention(_age("history_age", age), rows, _age("audit_age", audit_age))


def _age(option: str, given: object) -> timedelta:
    try:
        length = durations.read(given)
    except ValueError as error:
        raise JobError(f"{option} {error}, not {given!r:.100}") from None
    if length < SHORTEST_AGE:
        raise JobError(f"{option} must be at least {durations.text(SHORTEST_AGE)}, not {given!r:.100}")
    return length


def tables(given: bool | str | None) -> bool | str | None:
    """Whether ElasticJob's tables are written, and in which form; refused where it is neither."""
    if not is_choice_of_tables(given):
        raise JobError(
            "elasticjob_tables must be True, False, or the version of ElasticJob in whose form they are "
            f"made, {OLD_TABLES!r} or {NEW_TABLES!r}, not {given!r:.100}"
        )
    return given


def check_parameter(given: str) -> None:
    """Refuse what a run cannot be asked for with."""
    try:
        request.check(given)
    except ValueError as error:
        raise JobError(str(error)) from None


def egress(allowed: Iterable[str]) -> Egress:
    if isinstance(allowed, str | bytes):  # of a text, each letter would be a host
        raise JobError(f"http_allowed is a list: [{os.fsdecode(allowed)!r}]")
    return Egress(tuple(allowed))


def words(argv: Sequence[str | Path], job: str) -> list[str]:
    """A program and its arguments as texts; refused where they are none."""
    wanted = f"job {job!r}: give the program and its arguments as a list"
    if isinstance(argv, str | bytes):
        raise JobError(f"{wanted}{_split(os.fsdecode(argv))}")
    if isinstance(argv, Path) or not isinstance(argv, Iterable):
        raise JobError(f"{wanted}: {[str(argv)]}")
    words = list(argv)
    for each in words:
        if not isinstance(each, str | Path):
            raise JobError(f"job {job!r}: {each!r:.100} is no text: give each word of the command as one")
    return [str(each) for each in words]


def _split(text: str) -> str:
    try:
        return f": {shlex.split(text)}"
    except ValueError as error:
        return f"; the text that was given cannot be split into one: {error}"


def listed(listeners: Iterable[Listener | str], job: str) -> list[Listener | str]:
    """A job's listeners; refused where it is one of them and no list."""
    if isinstance(listeners, Iterable) and not isinstance(listeners, str | bytes | Listener):
        return list(listeners)
    kind = listeners if isinstance(listeners, type) else type(listeners)
    shown = f"{kind.__name__}(…)" if issubclass(kind, Listener) else f"{listeners!r:.100}"
    raise JobError(f"job {job!r}: listeners is no single one: give a list: [{shown}]")


def with_props(settings: Mapping[str, object], props: Mapping[str, str]) -> dict[str, object]:
    given = settings.get("props") or {}
    return {**settings, "props": {**given, **props} if isinstance(given, Mapping) else given}
