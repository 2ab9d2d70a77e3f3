"""The audit: who changed what, when, and how that went; refused changes are told too."""

import getpass
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from .values import Shown, printable

if TYPE_CHECKING:
    from ..history.store import Store

log = logging.getLogger("shardwright.audit")

DONE = "done"


@dataclass(frozen=True, slots=True)
class Action(Shown):
    """One change that somebody asked for. No secret is in it."""

    when: datetime
    """By the registry's clock."""
    who: str
    what: str
    """What was asked for: update, remove, trigger, enable, disable, shutdown …"""
    target: str
    detail: str
    """What has changed, in words; empty where nothing has."""
    outcome: str
    """`done`, or why not."""


Audit = Callable[[Action], None]


def to_log(action: Action) -> None:
    """One line to the logger `shardwright.audit`."""
    detail = f" ({action.detail})" if action.detail else ""
    said = f"{action.who}: {action.what} {action.target}{detail}: {action.outcome}"
    log.info("%s", printable(said))


def to_history(store: "Store") -> Audit:
    """A line in the audit of a history, besides the one to the log."""

    def tell(action: Action) -> None:
        to_log(action)
        note(store, action)

    return tell


def note(store: "Store", action: Action) -> None:
    """Write it into the audit of a history."""
    store.audit(
        at=action.when,
        who=action.who,
        what=action.what,
        target=action.target,
        detail=action.detail,
        outcome=action.outcome,
    )


def somebody() -> str:
    """Who this process works for, as well as that can be told: user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a number that has no name, as in many containers
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
