"""Browsing: the registry's nodes one by one, as people may see them. Secrets are masked; what is neither of
the namespace nor of a recipe is shown only to those who may see everything."""

from contextlib import suppress
from dataclasses import dataclass

from .. import secrets, snakeyaml
from ..errors import ConfigError, NotThere, NotValid
from ..recipes import candidacy
from ..registry import Registry
from ..registry.writes import check_path
from . import looking, slices
from .values import Shown

#: How much of a node is shown, in bytes, and how many of its children.
MOST_BYTES, MOST_CHILDREN = 64 * 1024, 1000


@dataclass(frozen=True, slots=True)
class Seen(Shown):
    """One node."""

    path: str
    data: str
    cut: bool
    """Whether there is more of it than is told here."""
    version: int
    made: int
    written: int
    ephemeral: bool
    owner: str
    """The session that it goes with; empty for a node that stays."""
    children: tuple[str, ...]
    total: int
    """How many children there are, told here or not."""


def look(registry: Registry, path: str, *, everything: bool = False) -> Seen:
    """One node, and the names of its children."""
    looking.check_open(registry)
    try:
        check_path(path)
    except ValueError as error:
        raise NotValid(str(error)) from None
    whole = everything or _is_ours(registry, path)
    if not whole and path != "/" and not _leads(registry, path):
        raise NotThere(
            f"{path} is not of {registry.namespace}: what is beside it is shown to admins of all registries"
        )
    found = looking.node(registry, path)
    if found is None:
        raise NotThere(f"there is no node {path} in the registry")
    names = looking.children(registry, path)
    if not whole:
        shardings = slices.names(registry) if path == "/" else ()
        names = tuple(each for each in names if each in shardings or _leads(registry, _below(path, each)))
    data, cut = _cut(shown(path, found.data))
    cut = cut or len(found.data) > MOST_BYTES
    return Seen(
        path,
        data,
        cut,
        found.version,
        found.made,
        found.written,
        bool(found.owner),
        found.owner,
        names[:MOST_CHILDREN],
        len(names),
    )


def shown(path: str, data: str) -> str:
    """What a node holds, secrets masked: by the key they stand under where it holds settings."""
    if path.endswith("/config"):
        with suppress(ValueError, ConfigError):
            return snakeyaml.write(snakeyaml.masked(snakeyaml.read(data)))
    # It does not end within a word, as half a secret may not be known for one.
    short = data if len(data) <= MOST_BYTES else data[: MOST_BYTES + 1].rsplit(None, 1)[0]
    return secrets.masked(short)


def _cut(text: str) -> tuple[str, bool]:
    told = text.encode("utf-8", "replace")
    return told[:MOST_BYTES].decode("utf-8", "ignore"), len(told) > MOST_BYTES


def _below(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"


def _leads(registry: Registry, path: str) -> bool:
    """Whether a node is one of the roots, or on the way to one."""
    return any(f"{root}/".startswith(f"{path}/") for root in _roots(registry))


def _is_ours(registry: Registry, path: str) -> bool:
    """Whether a node is of the namespace, of what is ours beside it, or of a recipe."""
    if any(f"{path}/".startswith(f"{root}/") for root in _roots(registry)):
        return True
    top = path.split("/")[1]
    return bool(top) and top in slices.names(registry)


def _roots(registry: Registry) -> tuple[str, ...]:
    return registry.namespace, f"{registry.namespace}{looking.OURS}", candidacy.ROOT
