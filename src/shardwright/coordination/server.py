"""Servers: the machines, and whether operators let them work.

    servers/<address>    persistent    ENABLED or DISABLED, made by the first instance there, then an
                                       operator's

An operator's DISABLED stays until an operator takes it back: a starter writes the node only where there
is none.
"""

from collections.abc import Iterator

from . import instance
from .step import Create, Look, Say, Step, do
from .strategies import in_elasticjob_order
from .view import View, once

ROOT = "servers"
ENABLED, DISABLED = "ENABLED", "DISABLED"


def node(address: str) -> str:
    return f"{ROOT}/{address}"


def mine(view: View) -> str:
    return node(instance.address_of(view.me))


def enabled(view: View, who: str) -> bool:
    """Whether an instance's server may work. ElasticJob knows only DISABLED for no; blank means not yet."""
    return view.tree.get(node(instance.address_of(who))) not in (None, "", DISABLED)


@once
def workers(view: View) -> list[str]:
    """The instances that may lead and be given shards, in ElasticJob's order."""
    present = instance.live(view)
    view.tree.need(node(instance.address_of(who)) for who in present)
    return in_elasticjob_order([who for who in present if enabled(view, who)])


def may_work(view: View) -> bool:
    """Whether we are one of them."""
    return view.me in workers(view)


def decide(view: View) -> Iterator[Step | Look]:
    if view.local.stopped or view.local.draining or instance.ordered_to_stop(view):
        return
    if mine(view) not in view.tree:
        yield do(Create(mine(view), DISABLED if view.config.disabled else ENABLED))
    elif not instance.registered(view) and view.tree.get(mine(view)) == DISABLED:
        address = instance.address_of(view.me)
        yield do(
            then=Say(
                f"the server {address} is DISABLED for this job, so nothing of it will run here; "
                f"an operator enables it by writing ENABLED to {node(address)} below the job"
            )
        )
