"""The books: every way in which a ledger does not agree with what processes have noted of their own runs.

MISSING   a fire that was expected, and has no row
DOUBLE    a shard of a fire that has more than one row, such as one for each of two makings of the job
STRANGE   a row for a time, or a shard, that is on no list
OPEN      a row that says that something still runs, though nobody is there any more
UNTRUE    a row that says that a run came to an end to which none came
DENIED    a run that came to its end, and whose row says otherwise, though nothing was done to it
UNNAMED   a run of which its row does not know who ran it
UNSAID    a row of a fire that did not run, without a reason, or without the later fire that stands for it
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from shardwright.history.ledger import Disposition, Entry
from tests.acceptance import verdict
from tests.acceptance.history import FAILED, History, Run
from tests.acceptance.jobs import Job
from tests.acceptance.verdict import Violation

#: What says that a run came to its end.
THROUGH = (Disposition.RAN, Disposition.FAILED_OVER)

Rows = dict[tuple[str, int], list[Entry]]


def violations(
    history: History, job: Job, rows: Iterable[Entry], expected: Iterable[datetime]
) -> list[Violation]:
    """Everything that is wrong with the rows of a job whose fires are all known up to some time. Nobody is
    there any more; rows of later fires than those expected may be there or not."""
    found: Rows = defaultdict(list)
    for row in rows:
        found[row.key.fire, row.key.item].append(row)
    ran: dict[tuple[str, int], list[Run]] = defaultdict(list)
    for run in history.of(job.name):
        if run.fire is not None:
            ran[_name(run.fire), run.item].append(run)
    return [
        *_missing(job, found, expected),
        *_strange(job, found),
        *(
            each
            for key, rows in found.items()
            for row in rows
            for each in _untrue(job, row, ran.get(key, []))
        ),
        *(each for key, runs in ran.items() for each in _denied(history, runs, found.get(key, []))),
    ]


def _name(fire: datetime) -> str:
    return fire.astimezone(UTC).isoformat()


def _missing(job: Job, rows: Rows, expected: Iterable[datetime]) -> Iterator[Violation]:
    for fire in expected:
        for item in range(job.shards):
            if not rows.get((_name(fire), item)):
                yield Violation("MISSING", f"{job.name}/{item} for {_name(fire)}")


def _strange(job: Job, rows: Rows) -> Iterator[Violation]:
    for (fire, item), same in rows.items():
        if len(same) > 1:
            yield Violation("DOUBLE", f"{job.name}/{item} for {fire}: {same}")
        if not _is_fire(job, fire) or item not in range(job.shards):
            yield Violation("STRANGE", f"{job.name}/{item} for {fire}")


def _is_fire(job: Job, fire: str) -> bool:
    if fire.startswith("#") or job.spec is None:
        return False
    moment = datetime.fromisoformat(fire)
    return job.spec.matches(moment.replace(tzinfo=None)) and not moment.microsecond


def _untrue(job: Job, row: Entry, runs: Sequence[Run]) -> Iterator[Violation]:
    if row.disposition is Disposition.RUNNING:
        yield Violation("OPEN", str(row))
    elif row.disposition in THROUGH:
        if row.outcome not in {run.outcome for run in runs}:
            yield Violation("UNTRUE", f"{row}, though there were {[str(run) for run in runs]}")
    elif row.disposition is Disposition.MADE_GOOD:
        later = row.verdict.later if row.verdict is not None else ""
        if later <= row.key.fire or not _is_fire(job, later):
            yield Violation("UNSAID", str(row))
    elif row.verdict is None or not row.verdict.reason:
        yield Violation("UNSAID", str(row))


def _denied(history: History, runs: Sequence[Run], rows: Sequence[Entry]) -> Iterator[Violation]:
    """What came of a run whose process, or registry, was struck before its end was told need not be known."""
    for row in rows:
        told = [run for run in verdict.accepted(runs) if not struck(history, run)]
        told += [run for run in runs if run.outcome == FAILED and not struck(history, run)]
        for run in told:
            if row.disposition not in THROUGH:
                yield Violation("DENIED", f"{run}, and its row is {row}")
        for run in runs:
            who = {each.by.split("@-@")[1].partition("-")[0] for each in row.attempts}
            if str(run.pid) not in who and row.disposition in THROUGH:
                yield Violation("UNNAMED", f"{run}, and its row is {row}")


def struck(history: History, run: Run) -> bool:
    """Whether something was done to a run between its beginning and the telling of its end."""
    assert run.ended is not None
    return any(
        fault.touches(run.pid) and fault.lasted(run.began, run.ended + verdict.TOLD)
        for fault in history.faults
    )
