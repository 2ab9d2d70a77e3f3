"""What pydantic finds wrong, in plain words: a sentence for each fault.

A sentence begins with the setting's name; our own validators raise a `ValueError` that goes on from there
("must be at least 1, not 0"), or an error of ours, which is a sentence by itself. A text at fault is not
repeated, because it may be a secret that slipped into the wrong place; numbers are, and names of settings,
masked. An error of ours is passed on as it is: whoever raises one sees to it that it can be (`kinds` lets a
schedule and a zone be repeated if they hold nothing that looks like a secret).

`names` says what to call a setting: from every name it has anywhere (`shards`, `shardingTotalCount`) to
the one the reader uses.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from . import secrets
from .errors import ShardwrightError

_MANY = 40
_GOES_ON = {
    "missing": "is missing",
    "string_type": "must be text",
    "string_unicode": "holds half a character (a lone surrogate)",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}, not {given}",
    "less_than_equal": "must be at most {le}, not {given}",
    "string_too_short": "must not be empty",
    "string_too_long": "may be at most {max_length:,} characters long",
    "value_error": "{error}",
}


def of(error: ValidationError, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each setting at fault, with its sentence."""
    for fault in error.errors(include_url=False):
        if not fault["loc"]:
            yield "", "the name of a setting has bytes in it that are no text"
            continue
        setting = str(fault["loc"][0])
        is_unknown = fault["type"] == "extra_forbidden"
        yield setting, unknown(setting, names) if is_unknown else _sentence(fault, names)


def unknown(setting: str, names: Mapping[str, str]) -> str:
    """The sentence about a setting that does not exist, with the one that was probably meant."""
    by_lower = {name.lower(): name for name in names}
    likely = difflib.get_close_matches(setting[:100].lower(), by_lower, 1)
    hint = f" (did you mean {names[by_lower[likely[0]]]!r}?)" if likely else ""
    return f"there is no setting {secrets.masked(setting)[:100]!r}{hint}"


def together(sentences: Sequence[str]) -> str:
    """All of them as one, or as many as anybody would read."""
    more = len(sentences) - _MANY
    return "; ".join([*sentences[:_MANY], *([f"and {more:,} more faults"] if more > 0 else [])])


def _sentence(fault: ErrorDetails, names: Mapping[str, str]) -> str:
    setting, *within = fault["loc"]
    parts = (f"[{_shown(part)}]" for part in within if part != "[key]")
    subject = names.get(str(setting), str(setting)) + "".join(parts)
    context = fault.get("ctx", {})
    if isinstance(context.get("error"), ShardwrightError):
        whole = str(context["error"])
        return whole if whole.startswith(subject) else f"{subject}: {whole}"
    given = fault["input"] if isinstance(fault["input"], int | float) else "this"
    return f"{subject} {_GOES_ON.get(fault['type'], 'is not understood').format(**context, given=given)}"


def _shown(part: int | str) -> str:
    """A place in a list, or a key of a mapping, which may be a secret in the wrong place like any text."""
    return repr(secrets.masked(part)[:100] if isinstance(part, str) else part)
