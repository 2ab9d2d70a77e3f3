"""What a handler's property may hold, and what is wrong with all else.

A fault goes on after the property's name ("must be true or false") and never repeats the value, which may be
a secret in the wrong place.
"""

import re
from collections.abc import Callable
from email.utils import getaddresses
from urllib.parse import urlsplit

FaultIn = Callable[[str], str | None]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ADDRESS = re.compile(r"[^\s@<>(),;:\\\"]+@[^\s@<>(),;:\\\"]+")
_LARGEST = 2**31 - 1


def line_fault(text: str) -> str | None:
    """Any text that is one line, and so can end no header."""
    return "must be one line without control characters" if _CONTROL.search(text) else None


def number_fault(text: str) -> str | None:
    is_one = re.fullmatch(r"\d{1,10}", text, re.ASCII) and 0 < int(text) <= _LARGEST
    return None if is_one else "must be a whole number above 0"


def port_fault(text: str) -> str | None:
    is_one = re.fullmatch(r"\d{1,5}", text, re.ASCII) and 0 < int(text) < 2**16
    return None if is_one else "must be a whole number from 1 to 65535"


def flag_fault(text: str) -> str | None:
    return None if text.lower() in ("true", "false") else "must be true or false"


def url_fault(text: str) -> str | None:
    """An address to post to. One with blanks or line ends in it could pass for a request of its own."""
    fault = "must be a URL that begins with http:// or https:// and names a host"
    if _CONTROL.search(text) or re.search(r"\s", text):
        return "must be a URL without blanks and control characters"
    try:
        parts = urlsplit(text)
        is_one = (
            parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return fault
    return None if is_one else fault


def host_fault(text: str) -> str | None:
    is_one = re.fullmatch(r"[\w.:-]{1,253}", text) is not None
    return None if is_one else "must be the name or the address of a host, nothing else"


def addresses_fault(text: str) -> str | None:
    if fault := line_fault(text):
        return fault
    found = [address for _, address in getaddresses([text])]
    is_some = found and all(_ADDRESS.fullmatch(address) for address in found)
    return None if is_some else "must be a list of mail addresses, with commas between them"


def address_fault(text: str) -> str | None:
    fault = "must be one mail address"
    return fault if addresses_fault(text) or len(getaddresses([text])) > 1 else None
