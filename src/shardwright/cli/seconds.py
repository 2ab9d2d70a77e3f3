"""Lengths of time, as options take them."""

import math
from typing import Any

import click

#: Longer than anybody waits.
MOST = 10_000_000.0


class Seconds(click.FloatRange):
    """A number of seconds: neither endless nor no number at all, both of which Python takes for one."""

    def __init__(self, least: float = 0.0, most: float = MOST) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return found
