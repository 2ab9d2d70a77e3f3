"""Properties: which settings a handler has, and what is wrong with those that a job gives it."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .. import references, secrets
from . import values

_CLOSE = 0.75  # as near as a slip of the pen


@dataclass(frozen=True)
class Property:
    """One setting of a handler."""

    key: str
    needed: bool = False
    fault_in: values.FaultIn = lambda value: None
    place: bool = False
    """Whether it says where something is sent to, or how safely: see `trust`."""


def faults(properties: Sequence[Property], props: Mapping[str, str]) -> Iterator[str]:
    """All that is wrong, a sentence each. A reference is only looked at: others may resolve it than we."""
    known = [each.key for each in properties]
    unknown = [key for key in props if key not in known and _is_meant_for(known, key)]
    for each in properties:
        value = props.get(each.key, "")
        if not value:
            if each.needed:
                yield f"{each.key} is missing{_hint([key for key in props if key not in known], each.key)}"
        elif references.has_any(value):
            yield from references.faults(value, key=each.key)
        elif fault := each.fault_in(value):
            yield f"{each.key} {fault}"
    for key in unknown:
        meant = nearest(key, known)
        yield f"there is no property {_quoted(key)}" + (f" (did you mean {meant!r}?)" if meant else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one that was probably meant, however it was written."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word[:100].lower(), by_lower, 1)
    return by_lower[near[0]] if near else None


def _is_meant_for(known: Sequence[str], key: str) -> bool:
    """Whether a key begins as those of this handler do, so that nobody else can be meant."""
    return key.partition(".")[0].lower() in {name.partition(".")[0].lower() for name in known}


def _hint(others: Sequence[str], key: str) -> str:
    near = difflib.get_close_matches(key, [other for other in others if len(other) <= 100], 1, _CLOSE)
    return f" (is {_quoted(near[0])} meant for it?)" if near else ""


def _quoted(key: str) -> str:
    return repr(secrets.masked(key)[:100])
