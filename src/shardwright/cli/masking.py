"""What is read of jobs, as people may see it: texts that their owners wrote may hold a secret."""

from collections.abc import Iterable
from dataclasses import replace

from ..ops.jobs import Brief, Detail
from ..ops.shards import Item
from ..secrets import masked


def briefs(found: Iterable[Brief]) -> tuple[Brief, ...]:
    return tuple(replace(each, description=masked(each.description)) for each in found)


def items(found: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(replace(each, parameter=masked(each.parameter)) for each in found)


def detail(found: Detail) -> Detail:
    (brief,) = briefs([found.brief])
    return replace(found, brief=brief, shards=items(found.shards))
