"""What is changed from here, told to the log, and to the history if there is one.

A history that cannot be told hinders no change: that is said on standard error.
"""

import click

from ..errors import ShardwrightError
from ..ops import audit
from ..ops.audit import Action, Audit
from ..ops.operator import Operator
from ..registry import Registry
from . import histories
from .blocks import sentence
from .call import Call


def operator(asked: Call, registry: Registry) -> Operator:
    """Somebody who changes things, and whose changes are told."""
    return Operator(registry, audit=_teller(asked))


def _teller(asked: Call) -> Audit:
    def tell(action: Action) -> None:
        audit.to_log(action)
        try:
            _write(asked, action)
        except (ShardwrightError, click.ClickException) as error:
            why = error.message if isinstance(error, click.ClickException) else str(error)
            click.echo(sentence(f"Note: this is not in the audit of the history: {why}"), err=True)

    return tell


def _write(asked: Call, action: Action) -> None:
    try:
        with histories.opened(asked) as store:
            audit.note(store, action)
    except histories.NoHistory:
        if isinstance(histories.place(asked), str):  # somebody named one, and relies on it
            raise
