"""Dump: a job's tree as ElasticJob's dump port tells it, for people who look for a fault.

A line for each node below the job, `path | data`, children in descending order, each followed by what is
below it. IPv4 addresses are told as ip1, ip2 … in the order in which they appear; secrets not at all.
"""

import re
from collections.abc import Iterable, Iterator

from .. import secrets, snakeyaml
from ..coordination import settings
from ..errors import ConfigError
from ..registry import Registry, Tree
from ..registry.tree import below
from . import looking

_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)", re.ASCII)


def of(registry: Registry, job: str) -> tuple[str, ...]:
    """The dump of a job, read now."""
    return tuple(lines(looking.at(registry, job).job))


def lines(tree: Tree) -> Iterator[str]:
    """The dump of a job's tree."""
    name = tree.root.rpartition("/")[2]
    return without_addresses(f"/{name}/{path} | {_shown(path, tree)}" for path in _down(tree, ""))


def without_addresses(texts: Iterable[str]) -> Iterator[str]:
    """The texts with another name for each address, the same one wherever that is."""
    names: dict[str, str] = {}
    for text in texts:
        yield _ADDRESS.sub(lambda found: names.setdefault(found[0], f"ip{len(names) + 1}"), text)


def _down(tree: Tree, path: str) -> Iterator[str]:
    for name in reversed(tree.children(path)):
        inner = below(path, name)
        yield inner
        yield from _down(tree, inner)


def _shown(path: str, tree: Tree) -> str:
    data = tree.get(path) or ""
    if path != settings.NODE:
        return secrets.masked(data)
    try:
        return snakeyaml.write(snakeyaml.masked(snakeyaml.read(data)))
    except (ValueError, ConfigError):
        return secrets.masked(data)
