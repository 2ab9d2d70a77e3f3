"""Overlap: what a fire does that falls into the run before it.

    skip      nothing: it is passed over
    queue     it is made good right after that run; any number of them collapses to one
    cancel    it ends that run, and comes in its place
    allow     it runs beside it. Only the newest run of a shard is looked after, even if it is not to begin:
              should its member die, the older ones are not run again, and no barrier waits for them

Where a job says nothing of it, ElasticJob's `misfire` does: queue, or skip.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from . import claim
from .step import Look, Step, Supersede, do
from .view import LONG_AGO, View


def policy(view: View) -> str:
    return view.config.overlap or ("queue" if view.config.misfire else "skip")


def made_good(view: View) -> bool:
    """Whether a fire that fell into a run is owed after it."""
    return policy(view) in ("queue", "cancel")


def beside(view: View, item: int) -> bool:
    """Whether a shard may be begun although it runs: here, under the claim that its cursor tells of."""
    run = view.local.runs.get(item)
    going = run is not None and run.outcome is None and not run.held
    return policy(view) == "allow" and going and claim.still_ours(view, item)


def supersede(
    view: View, items: Iterable[int], fires: Mapping[int, datetime], latest: datetime | None
) -> Iterator[Step | Look]:
    """End the runs here that a fire has come to, at its time and not before: those that are claimed ahead of
    time are not there yet, but one that came before them may be, the `latest` of all."""
    if policy(view) != "cancel":
        return
    ours = [item for item in items if item in fires and _goes_on(view, item)]
    now = tuple(item for item in ours if latest is not None and latest > _came_to(view, item))
    if now:
        yield do(then=Supersede(now))
    for at in sorted({fires[item] for item in ours if item not in now}):
        yield Look(view.boot + (at - view.now).total_seconds(), "the next fire ends the run")


def _came_to(view: View, item: int) -> datetime:
    return claim.cursor(view, item).at or LONG_AGO


def _goes_on(view: View, item: int) -> bool:
    run = view.local.runs.get(item)
    return run is not None and run.outcome is None and not run.held and not run.superseded
