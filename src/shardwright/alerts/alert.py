"""An alert: what somebody should hear about a job, and how it is told.

Whatever is shown of one is masked, and can do no harm where it is shown: its subject is one line, its text
has no control characters but line ends, and neither is longer than people read and mail servers take.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from .. import secrets

#: How long a subject and the details may be, in characters.
LONGEST_SUBJECT = 200
LONGEST_DETAILS = 16_000

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters steer terminals, marks of direction reorder what is read, half a character is not UTF-8.
_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Kind(StrEnum):
    """What may happen to a job that somebody should hear of."""

    FAILED = "failed"
    TIMED_OUT = "timed out"
    MISSED = "missed"
    FAILOVER = "failover"
    LOST = "lost"
    LEASE_LOST = "lease lost"
    NOBODY_ALIVE = "nobody alive"
    HOOK_FAILED = "hook failed"


@dataclass(frozen=True, repr=False)
class Alert:
    """One thing that happened, or several of the same kind of which this is the latest."""

    kind: Kind
    job: str
    what: str
    """The whole matter in a sentence: "ValueError: no such customer"."""
    item: int | None = None
    """The shard it happened to; None if to the job as a whole."""
    fire: datetime | None = None
    """When the run was scheduled for."""
    details: str = ""
    """What helps to find the cause, as a traceback does."""
    times: int = 1
    """How many alerts this one stands for, itself included."""

    def subject(self) -> str:
        """It in one line."""
        shard = f", shard {self.item}" if self.item is not None else ""
        more = f", and {self.times - 1:,} more" if self.times > 1 else ""
        start = f"{_line(self.job)}: {self.kind}{shard}"
        what = f": {_line(self.what)}" if self.what else ""
        return _shortened(start + what, LONGEST_SUBJECT - len(more)) + more

    def text(self, *, most: int | None = None) -> str:
        """All of it; in at most so many bytes of UTF-8, if there is a limit to what can be sent."""
        fire = f"scheduled for {self.fire.isoformat()}" if self.fire is not None else ""
        details = _shown(self.details)
        text = "\n".join(part for part in (self.subject(), fire, details) if part)
        return text if most is None else _in_bytes(text, most)

    def hiding(self, hide: Callable[[str], str]) -> "Alert":
        """The same without what somebody knows to be secret."""
        return replace(self, what=hide(self.what), details=hide(self.details))

    def __repr__(self) -> str:
        return f"<Alert {self.subject()!r}>"


def beginning(text: str) -> str:
    """As much of a text as is worth masking, which takes its time; it does not end within a word, as half a
    secret may not be known for one."""
    return text if len(text) <= LONGEST_DETAILS else text[:LONGEST_DETAILS].rsplit(None, 1)[0]


def _shown(text: str) -> str:
    return _HARMFUL.sub(_harmless, _LINE_ENDS.sub("\n", secrets.masked(beginning(text))))


def _harmless(found: re.Match[str]) -> str:
    return "    " if found[0] == "\t" else "\ufffd"


def _line(text: str) -> str:
    return " ".join(_shown(text).split())


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _in_bytes(text: str, most: int) -> str:
    """The beginning and the end of it, where the cause of a traceback stands."""
    whole, gap = text.encode(), "\n…\n"
    if len(whole) <= most:
        return text
    half = (most - len(gap.encode())) // 2
    return whole[:half].decode(errors="ignore") + gap + whole[-half:].decode(errors="ignore")
