"""Which registry is meant, and the way in.

The first of these that says one: `--registry`, the environment's SHARDWRIGHT_REGISTRY, the nearest
`shardwright.toml` in this folder or above, which says `registry = "zookeeper://zk1,zk2/prod"`. Otherwise it
is the file that a `Scheduler()` started in this folder makes. That file may also say where the history is.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

import click

from ..errors import RegistryUrlError
from ..ops import opening
from ..registry import Registry
from ..registry.url import VARIABLE, found, parse

FILE = "shardwright.toml"

#: What that file may say, and how.
SETTINGS = {
    "registry": '"sqlite:///path.db" or "zookeeper://host/namespace"',
    "history": '"sqlite:////folder/history.db" or "postgresql://user@host/database"',
}

#: The tables that it may have, which whoever they are for looks into.
TABLES = ("console",)

#: For how many seconds an answer is waited for.
PATIENCE = 10.0


def address(option: str | None) -> str:
    """The address of the registry that is meant."""
    try:
        return found(option or os.environ.get(VARIABLE) or in_a_file("registry"))
    except FileNotFoundError:
        raise click.UsageError("the folder that this is called in is gone: name the registry") from None


def open_at(option: str | None, *, patience: float | None = None) -> Registry:
    """The registry that is meant, open. None is made by asking for it: a file that is not there is a place
    that somebody got wrong."""
    return opening.registry(address(option), patience=PATIENCE if patience is None else patience)


def check_file(url: str) -> None:
    """Refuse an address that is to name a file, and names none."""
    place = parse(url)
    if place.scheme == "sqlite" and (place.hosts or not place.path.strip("/")):
        raise RegistryUrlError(
            f"{place}: name a file by its whole path after three slashes, sqlite:///var/lib/app/registry.db"
        )


def in_a_file(setting: str) -> str | None:
    """What the nearest file says about this, if there is one and it does."""
    said = _said().get(setting)
    return said if isinstance(said, str) else None


def table_in_a_file(name: str) -> dict[str, Any]:
    """A table of the nearest file; empty where there is none."""
    said = _said().get(name)
    return said if isinstance(said, dict) else {}


def _said() -> dict[str, Any]:
    """All that the nearest file says."""
    try:
        folder = Path.cwd()
    except FileNotFoundError:  # it was removed meanwhile
        return {}
    file = next((each / FILE for each in (folder, *folder.parents) if _is_file(each / FILE)), None)
    return {} if file is None else _read(file)


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except PermissionError:  # as in a folder that one came to as another user
        return False


def _read(file: Path) -> dict[str, Any]:
    """All that a file says, which must make sense as a whole."""
    owner = file.stat().st_uid
    if owner not in (os.getuid(), 0):  # in a folder that all may write to it would be anybody's word
        raise click.UsageError(
            f"{file} belongs to another user (uid {owner}): name the registry by --registry"
        )
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{file} cannot be read: {error}") from None
    unknown = sorted(said.keys() - SETTINGS.keys() - set(TABLES))
    if unknown:
        raise click.UsageError(
            f"{file}: there is no setting {unknown[0]!r}; there are: {', '.join([*SETTINGS, *TABLES])}"
        )
    for table in said.keys() & set(TABLES):
        if not isinstance(said[table], dict):
            raise click.UsageError(f"{file}: {table} is a table: [{table}]")
    for setting in [each for each in said if each not in TABLES] or ([] if said else ["registry"]):
        if not isinstance(said.get(setting), str) or not said[setting]:
            raise click.UsageError(f"{file}: say {setting} = {SETTINGS[setting]}")
    return said
