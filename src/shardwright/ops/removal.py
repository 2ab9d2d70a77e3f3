"""Removal: a job goes with all that is known of it, ElasticJob's tree and ours.

Nobody must be in it, or be ordered to stop. With the job's nodes go its instances, which is the order; a
Python process stops, and takes its sign of life away last. Ours is not touched before that: a process whose
sign of life is gone and that was not told to stop would begin the job anew.
"""

from ..coordination import instance, settings
from ..errors import OperationError
from ..registry import Delete, Forbid, Registry, Require, Write
from . import looking
from .looking import Sight
from .steering import Plan

#: For how many seconds those who were ordered to stop are waited for.
PATIENCE = 30.0


def remove(sight: Sight, *, force: bool) -> Plan:
    """Take the job away. What is ours goes with it where nobody is in it, else when all have gone."""
    members = sorted({*sight.members, *sight.own.children("alive")})
    if members and not force:
        raise OperationError(
            f"the job {sight.name!r} is not removed: {_some(members)} still in it; shut it down first, "
            "or force it, which orders them to stop"
        )
    said = tuple(f"{who} was ordered to stop the job {sight.name!r}" for who in sight.members)
    gone = f"the job {sight.name!r} is removed"
    if members:
        return Plan((Delete(sight.root, recursive=True),), (*said, gone))
    same = Require(sight.at(settings.NODE), sight.job.version(settings.NODE))
    return Plan((same, *_nobody(sight), Delete(sight.root, recursive=True), *_ours(sight)), (gone,))


def _nobody(sight: Sight) -> list[Write]:
    """Guards: whoever joins meanwhile keeps the job. A node with children is not taken away without them."""
    there = instance.ROOT in sight.job, "alive" in sight.own
    nodes = sight.at(instance.ROOT), sight.at(instance.ALIVE)
    return [Delete(node) if is_there else Forbid(node) for node, is_there in zip(nodes, there, strict=True)]


def _ours(sight: Sight) -> list[Write]:
    return [Delete(sight.own_root, recursive=True)] if "" in sight.own or sight.cursors else []


def rest(registry: Registry, sight: Sight, patience: float) -> Plan:
    """What is left of a job that was taken away while somebody was in it, once they have gone; a
    TimeoutError where that takes longer."""
    alive = sight.at(instance.ALIVE)
    what = f"those in the job {sight.name!r} to stop"
    looking.wait_until(
        registry, [sight.own_root], lambda: not looking.children(registry, alive), patience, what
    )
    return leftovers(looking.all_at(registry, [sight.name])[0])


def leftovers(sight: Sight) -> Plan:
    """What is ours of a job that is gone. Who begins it anew meanwhile keeps that."""
    if not _ours(sight):
        return Plan()
    lone = [Delete(sight.at(instance.ALIVE))] if "alive" in sight.own else []
    return Plan((Forbid(sight.root), *lone, *_ours(sight)), (f"what was left of {sight.name!r} is gone",))


def _some(members: list[str]) -> str:
    if len(members) == 1:
        return f"{members[0]} is"
    return f"{', '.join(members[:3])}{' and others' if len(members) > 3 else ''} are"
