"""Lengths of time as people write them: `30s`, `5m`, `1h30m`, `2d`; a bare number counts seconds."""

import re
from datetime import timedelta

LONGEST = timedelta(days=3650)

_PARTS = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,9}(?:\.\d{1,6})?)s)?", re.ASCII)


def read(value: object) -> timedelta:
    """The length that is meant, or a `ValueError` that completes the sentence "the timeout …"."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= LONGEST.total_seconds()
    ):
        value = timedelta(seconds=value)
    if isinstance(value, str) and value.strip() and (found := _PARTS.fullmatch(value.replace(" ", ""))):
        days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
        value = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if isinstance(value, timedelta) and timedelta() <= value <= LONGEST:
        return value
    raise ValueError("must be a length of time such as 30s, 5m, 1h30m or 2d, of ten years at most")


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
