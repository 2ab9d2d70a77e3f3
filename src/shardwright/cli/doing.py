"""What was done, and how it is told."""

from collections.abc import Iterable

import click

from ..ops.operator import Done
from .blocks import Words
from .call import call


def show_done(context: click.Context, *done: Done) -> None:
    """A sentence for each thing that was changed."""
    document = {"done": [each.as_json() for each in done]}
    call(context).show(document, lambda: [Words("\n".join(_sentences(done)))])


def _sentences(done: Iterable[Done]) -> Iterable[str]:
    changed = [sentence for each in done for sentence in each.changed]
    return changed or ["Nothing had to be changed."]
