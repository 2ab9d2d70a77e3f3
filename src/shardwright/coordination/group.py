"""Groups: jobs that share a limit. So many of their shards run at once in the whole cluster.

    +<group>/<number>    ephemeral    one of the group's places: whose run has it (the job, the shard)

A shard of such a job is claimed together with a place, in one transaction, and gives it back with the end of
its run; a process that dies gives back all it has. There are as many places as the job's `concurrency` says,
which is to be the same for all jobs of a group. Where none is free the fire waits, and is late.
"""

import zlib
from collections.abc import Iterator, Sequence

from .step import Create, Delete, Write
from .view import View


def node(place: str) -> str:
    return f"+{place}"


def is_limited(view: View) -> bool:
    return view.config.group is not None


def free(view: View) -> list[str]:
    """The places that nobody has. Each of us begins at another one, so that not all want the same."""
    group, most = view.config.group, view.config.concurrency or 0
    taken = view.groups.get(group or "")
    if taken is None or not most:
        return []
    first = zlib.crc32(view.me.encode()) % most
    numbers = [*range(first, most), *range(first)]
    return [f"{group}/{number}" for number in numbers if str(number) not in taken]


def places(view: View, items: Sequence[int]) -> dict[int, str]:
    """Of these shards, as many as may begin, each with its place; without one where there is no limit."""
    if not is_limited(view):
        return dict.fromkeys(items, "")
    return dict(zip(items, free(view), strict=False))


def left_out(view: View, items: Sequence[int]) -> list[int]:
    """Of these shards, those that find no place."""
    return list(items[len(places(view, items)) :])


def take(view: View, place: str, item: int) -> Iterator[Write]:
    if place:
        yield Create(node(place), f"{view.config.name} {item}", ephemeral=True)


def give_back(view: View, place: str) -> Iterator[Write]:
    """Leave a place, unless somebody took it from us: then it is not ours to leave."""
    group, _, number = place.rpartition("/")
    tree = view.groups.get(group)
    if place and tree is not None and number in tree and tree.node(number).owner == view.session:
        yield Delete(node(place))
