"""Lengths of time as people write them: `30s`, `5m`, `1h30m`, `2d`, `500ms`; a bare number counts seconds."""

import re
from datetime import timedelta

LONGEST = timedelta(days=3650)

_NUMBER = r"(\d{1,9}(?:\.\d{1,6})?)"
_PARTS = re.compile(
    rf"(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?", re.ASCII
)
_BARE = re.compile(_NUMBER, re.ASCII)


def read(value: object) -> timedelta:
    """The length that is meant, or a `ValueError` that completes the sentence "the timeout …"."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= LONGEST.total_seconds()
    ):
        value = timedelta(seconds=value)
    if isinstance(value, str) and _BARE.fullmatch(value.strip()):
        value = f"{value.strip()}s"
    if isinstance(value, str) and value.strip() and (found := _PARTS.fullmatch(value.replace(" ", ""))):
        days, hours, minutes, seconds, thousandths = (float(part or 0) for part in found.groups())
        value = _sum(days, hours, minutes, seconds, thousandths)
    if isinstance(value, timedelta) and timedelta() <= value <= LONGEST:
        return value
    raise ValueError("must be a length of time such as 30s, 5m, 1h30m or 2d, of ten years at most")


def _sum(days: float, hours: float, minutes: float, seconds: float, thousandths: float) -> timedelta | None:
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=thousandths)
    except OverflowError:
        return None


def text(length: timedelta) -> str:
    """The shortest way to write it.

    >>> text(timedelta(minutes=90))
    '1h30m'
    """
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{length.microseconds:06}".rstrip("0").rstrip(".")
    parts = [f"{count}{unit}" for count, unit in ((length.days, "d"), (hours, "h"), (minutes, "m")) if count]
    if seconds or fraction or not parts:
        parts.append(f"{seconds}{fraction}s")
    return "".join(parts)
