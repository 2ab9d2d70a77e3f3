"""Moments as people write them."""

from datetime import UTC, datetime

import click


def moment(text: str, hint: str, *, also: str = "") -> datetime:
    """The moment that a text names, which must say of which zone it speaks; `also` is what else there is."""
    try:
        found = datetime.fromisoformat(text)
        instant = found.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter: it is beyond the years there are in UTC
        raise click.BadParameter(f"write it as 2026-03-29T00:00:00+01:00{also}", param_hint=hint) from None
    if found.tzinfo is None:
        raise click.BadParameter(f"add an offset, such as {found.isoformat()}+00:00", param_hint=hint)
    return instant
