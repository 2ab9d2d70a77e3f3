"""The registry's nodes, to be looked at."""

from typing import Annotated

from fastapi import Query

from ...ops import browsing
from ..models import TreeNode
from ..roles import Role
from ..routing import Routes, Visit
from .given import Here, shown

routes = Routes("registry")


@routes.get("/r/{registry}/tree", needs=Role.VIEWER)
def show_node(
    visitor: Visit,
    here: Here,
    path: Annotated[str | None, Query(max_length=10_000, description="The namespace where none is.")] = None,
) -> TreeNode:
    """One node and the names of its children, secrets masked. The namespace and the recipes are for all; the
    rest of the registry, where other namespaces may be, is for admins of all registries."""
    with here.registry() as registry:
        return shown(
            TreeNode, browsing.look(registry, path or registry.namespace, everything=visitor.sees_all)
        )
