"""Texts that are kept: without secrets, without characters a database or a terminal minds, not too long."""

import re

from .. import secrets

#: How much of a failure is kept; ElasticJob's column holds as much.
LONGEST_FAILURE = 4000

# More than this is not worth masking, which takes its time.
_LONGEST_READ = 16_000

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# PostgreSQL takes no NUL, UTF-8 no half characters, and the rest steer terminals.
_HARMFUL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def kept(text: str, most: int = LONGEST_FAILURE) -> str:
    """The text as it may be kept and shown: masked, harmless, and its beginning and end if it is long."""
    return cut(harmless(secrets.masked(_beginning(text))), most)


def harmless(text: str) -> str:
    return _HARMFUL.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def cut(text: str, most: int) -> str:
    """What was masked before can be cut anywhere: of a traceback the end matters as much as the beginning."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def _beginning(text: str) -> str:
    """It does not end within a word, as half a secret may not be known for one."""
    return text if len(text) <= _LONGEST_READ else text[:_LONGEST_READ].rsplit(None, 1)[0]
