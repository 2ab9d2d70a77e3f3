"""Roles: what somebody may do in a registry, each one more than the one before."""

from collections.abc import Mapping
from enum import StrEnum

#: The name that stands for every registry in the roles of an account.
EVERYWHERE = "*"


class Role(StrEnum):
    """viewer looks; operator steers; author changes settings; admin, of all registries, keeps accounts."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    AUTHOR = "author"
    ADMIN = "admin"

    def allows(self, needed: "Role") -> bool:
        """Whether whoever has this role may do what needs that one."""
        return _RANKS[self] >= _RANKS[needed]


_RANKS = {role: rank for rank, role in enumerate(Role)}

#: The role of somebody by the name of a registry, or of all.
Roles = Mapping[str, Role]


def at(roles: Roles, registry: str) -> Role | None:
    """The role somebody has in a registry: the higher one of that there and that everywhere."""
    held = [roles[name] for name in (registry, EVERYWHERE) if name in roles]
    return max(held, key=_RANKS.__getitem__, default=None)


def everywhere(roles: Roles) -> Role | None:
    """The role somebody has in all registries, those to come included."""
    return roles.get(EVERYWHERE)
