"""Which registry is meant, and the way in.

The first of these that says one: `--registry`, the environment's SHARDWRIGHT_REGISTRY, the nearest
`shardwright.toml` in this folder or above, which says `registry = "zookeeper://zk1,zk2/prod"`. Otherwise it
is the file that a `Scheduler()` started in this folder makes.
"""

import logging
import os
import tomllib
from pathlib import Path

import click

from ..errors import RegistryUrlError, Unreachable
from ..registry import Registry, connect
from ..registry.url import VARIABLE, found, parse

FILE = "shardwright.toml"

#: For how many seconds an answer is waited for.
PATIENCE = 10.0


def address(option: str | None) -> str:
    """The address of the registry that is meant."""
    return found(option or os.environ.get(VARIABLE) or _in_a_file(Path.cwd()))


def open_at(option: str | None, *, patience: float | None = None) -> Registry:
    """The registry that is meant, open. None is made by asking for it: a file that is not there is a place
    that somebody got wrong."""
    url = address(option)
    place = parse(url)
    if place.scheme == "memory":
        raise RegistryUrlError(f"{place}: what is kept in memory is known to its own process only")
    if place.scheme == "sqlite" and not Path(place.path).exists():
        raise Unreachable(
            f"there is no registry at {place.path}: name one by --registry or {VARIABLE}, "
            "or start a scheduler, which makes it"
        )
    # What goes wrong on the way is told by the error, once: not by the log of every try.
    for logger in ("kazoo", "shardwright.registry"):
        logging.getLogger(logger).addHandler(logging.NullHandler())
    return connect(url, patience=PATIENCE if patience is None else patience)


def _in_a_file(folder: Path) -> str | None:
    file = next((each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()), None)
    if file is None:
        return None
    owner = file.stat().st_uid
    if owner not in (os.getuid(), 0):  # in a folder that all may write to it would be anybody's word
        raise click.UsageError(
            f"{file} belongs to another user (uid {owner}): name the registry by --registry"
        )
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{file} cannot be read: {error}") from None
    unknown = sorted(said.keys() - {"registry"})
    if unknown:
        raise click.UsageError(f"{file}: there is no setting {unknown[0]!r}; there is: registry")
    registry = said.get("registry")
    if not isinstance(registry, str) or not registry:
        raise click.UsageError(f'{file}: say registry = "sqlite:///path.db" or "zookeeper://host/namespace"')
    return registry
