"""Findings: what the doctor says about something that is not as it should be."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..registry import Write
from .values import Shown, plain


class Severity(Enum):
    """Whether something is wrong, or only worth knowing."""

    TROUBLE = "trouble"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Finding(Shown):
    """Something that is not as it should be."""

    kind: str
    severity: Severity
    job: str
    """Empty where it is the namespace's."""
    where: str
    """The node it is about, in the registry's words."""
    what: str
    why: str
    """Why it matters."""
    advice: str
    """What to do about it."""
    cure: tuple[Write, ...] = field(default=(), repr=False)
    """What `repair` would write, guarded by what was seen; empty where people must act."""

    @property
    def repairable(self) -> bool:
        return bool(self.cure)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "severity": plain(self.severity),
            "job": self.job,
            "where": self.where,
            "what": self.what,
            "why": self.why,
            "advice": self.advice,
            "repairable": self.repairable,
        }
