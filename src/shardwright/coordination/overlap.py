"""Overlap: what a fire does that falls into the run before it.

    skip      nothing: it is passed over
    queue     it is made good right after that run; any number of them collapses to one
    cancel    it ends that run, and comes in its place
    allow     it runs beside it. Only the newest run of a shard is looked after: should its member die, the
              older ones are not run again

Where a job says nothing of it, ElasticJob's `misfire` does: queue, or skip.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from . import claim
from .step import Look, Step, Supersede, do
from .view import View


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


def supersede(view: View, items: Iterable[int], fires: Mapping[int, datetime]) -> Iterator[Step | Look]:
    """End the runs here that a fire has come to, at its time and not before."""
    if policy(view) != "cancel":
        return
    ours = [item for item in items if item in fires and _goes_on(view, item)]
    now = tuple(item for item in ours if fires[item] <= view.now)
    if now:
        yield do(then=Supersede(now))
    for at in sorted({fires[item] for item in ours if fires[item] > view.now}):
        yield Look(view.boot + (at - view.now).total_seconds(), "the next fire ends the run")


def _goes_on(view: View, item: int) -> bool:
    run = view.local.runs.get(item)
    return run is not None and run.outcome is None and not run.held and not run.superseded
