"""Groups: jobs that share a limit. So many of their shards run at once in the whole cluster.

    +<group>/places/<number>             ephemeral    one of the group's places: whose run has it (the job,
                                                      the shard)
    +<group>/line/<id>~<job>~<i>-<n>     ephemeral    a shard that found no place, and waits for one

A shard of such a job is claimed together with a place, in one transaction, and gives it back with the end of
its run; a process that dies gives back all it has. There are as many places as the job's `concurrency` says,
which is to be the same for all jobs of a group. Where none is free the fire waits in line, and is late: who
came first is first, or those that end and begin again would never let others in. Only the rescue of what the
dead left takes whatever place is free; it stands in line, too, so that one becomes free for it.
"""

import zlib
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from .step import Create, Delete, Step, Write, do, portions
from .view import View, once

PLACES, LINE = "places", "line"


def node(place: str) -> str:
    """A place is told as `<group>/<number>`."""
    group, _, number = place.rpartition("/")
    return f"+{group}/{PLACES}/{number}"


def is_limited(view: View) -> bool:
    return view.config.group is not None


@once
def free(view: View) -> list[str]:
    """The places that nobody has. Each of us begins at another one, so that not all want the same."""
    group, most = view.config.group or "", view.config.concurrency or 0
    tree = view.groups.get(group)
    if tree is None or not most:
        return []
    first = zlib.crc32(view.me.encode()) % most
    numbers = [*range(first, most), *range(first)]
    return [f"{group}/{number}" for number in numbers if f"{PLACES}/{number}" not in tree]


@once
def line(view: View) -> list[str]:
    """Who waits, the first first."""
    tree = view.groups.get(view.config.group or "")
    names = tree.children(LINE) if tree is not None else ()
    return sorted(names, key=lambda name: name.rpartition("-")[2])


def _entry(view: View, item: int) -> str:
    """What our entry in the line is called, up to its number."""
    return f"{view.me}~{view.config.name}~{item}-"


@once
def _entries(view: View) -> dict[str, str]:
    """Those who wait, by what their entries are called up to the number; of several the first counts."""
    return {f"{name.rpartition('-')[0]}-": name for name in reversed(line(view))}


def _waits(view: View, item: int) -> str | None:
    return _entries(view).get(_entry(view, item))


def places(view: View, items: Sequence[int]) -> dict[int, str]:
    """Of these shards, as many as may begin, each with its place; without one where there is no limit."""
    if not is_limited(view):
        return dict.fromkeys(items, "")
    if not line(view):
        return dict(zip(items, free(view), strict=False))
    called = dict(zip(line(view), free(view), strict=False))
    waiting = {item: _waits(view, item) for item in items}
    return {item: called[name] for item, name in waiting.items() if name in called}


def out_of_turn(view: View) -> str:
    """A place for what waits for nobody; empty where there is no limit, or no place."""
    return next(iter(free(view)), "")


def left_out(view: View, items: Sequence[int]) -> list[int]:
    """Of these shards, those that find no place."""
    found = places(view, items)
    return [item for item in items if item not in found]


def stand_in_line(view: View, items: Sequence[int]) -> Iterator[Step]:
    """Wait, where we do not yet."""
    new = [item for item in left_out(view, items) if _waits(view, item) is None]
    folder = f"+{view.config.group}/{LINE}"
    entries = {
        item: [Create(f"{folder}/{_entry(view, item)}", ephemeral=True, sequential=True)] for item in new
    }
    for part in portions(view, entries):
        yield do(*chain.from_iterable(part.values()))


def leave_line(view: View, keep: Collection[int]) -> Iterator[Step]:
    """Take away our entries for shards that wait for nothing any more: others stand behind them. Also those
    in the line of a group that the job has left."""
    kept, ours = {_waits(view, item) for item in keep}, f"{view.me}~{view.config.name}~"
    for group, tree in view.groups.items():
        for name in tree.children(LINE):
            if name.startswith(ours) and not (group == view.config.group and name in kept):
                yield do(Delete(f"+{group}/{LINE}/{name}"))


def take(view: View, place: str, item: int) -> Iterator[Write]:
    if not place:
        return
    yield Create(node(place), f"{view.config.name} {item}", ephemeral=True)
    if (name := _waits(view, item)) is not None:
        yield Delete(f"+{view.config.group}/{LINE}/{name}")


def give_back(view: View, place: str, by: str, item: int) -> Iterator[Write]:
    """Leave the place of a run; the dead have left theirs."""
    group, _, number = place.rpartition("/")
    tree, path = view.groups.get(group), f"{PLACES}/{number}"
    if not place or by != view.me or tree is None or path not in tree:
        return
    if tree.get(path) == f"{view.config.name} {item}" and tree.node(path).owner == view.session:
        yield Delete(node(place))
