"""Java beans: what SnakeYAML 2.2 hands to a bean's setter for a node of a document.

SnakeYAML goes by the type of the property: `label: 0123` is the text 0123, `failover: on` is true. What it
would refuse, or make nonsense of, is refused with a `ValueError` that goes on after the property's name.
"""

import base64
import math
import re
from decimal import Decimal

from . import secrets
from .snakeyaml import (
    BINARY,
    BOOL,
    FLOAT,
    INT,
    MAP,
    NULL,
    SCALARS,
    SEQ,
    STR,
    Items,
    Node,
    Pairs,
    Scalar,
)

_WHOLE = re.compile(r"([-+]?)(?:0b([01]+)|0x([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*(?::[0-9]+)*))")
_LONGEST = 1000
_TRUTHS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}


def text(node: Node) -> str | None:
    """A bean's String: the scalar as it is written, whatever it looks like."""
    if not isinstance(node, Scalar) or node.tag not in SCALARS:
        raise ValueError("must be text")
    if node.tag == NULL:
        return None
    return _unpacked(node.value) if node.tag == BINARY else node.value


def whole(node: Node) -> int:
    """A bean's int, in any of YAML 1.1's notations: 90, 0132, 0x5A, 0b1011010, 9_0, 1:30."""
    if isinstance(node, Scalar) and node.tag in SCALARS and node.tag != NULL:
        number = _number(node.value)
        if number is not None and -(2**31) <= number < 2**31:
            return number
    raise ValueError("must be a whole number of at most 32 bits")


def truth(node: Node) -> bool:
    """A bean's boolean: true, yes or on, false, no or off."""
    value = _TRUTHS.get(node.value.lower()) if isinstance(node, Scalar) and node.tag in SCALARS else None
    if value is None:
        raise ValueError("must be true or false")
    return value


def prop(node: Node) -> str:
    """A value of java.util.Properties: SnakeYAML makes of it what it looks like, ElasticJob text of that."""
    value = text(node)
    if not isinstance(node, Scalar) or value is None:
        raise ValueError("must have a value")
    if node.tag == BOOL:
        return str(truth(node)).lower()
    if node.tag == INT and (number := _number(value)) is not None:
        return str(number)
    if node.tag == FLOAT:
        return _double(value)
    if node.tag not in (STR, BINARY):
        raise ValueError("reads as a date, a number or a sign that Java makes no text of: put it in quotes")
    return value


def settings(node: Node) -> dict[str, Node]:
    """A mapping whose keys are texts, each there once."""
    if not isinstance(node, Pairs) or node.tag != MAP:
        raise ValueError("must be a mapping")
    found: dict[str, Node] = {}
    for key, value in node.value:
        if not isinstance(key, Scalar) or key.tag not in (STR, BINARY):
            raise ValueError("has a key that is not text: put it in quotes")
        name = text(key) or ""
        if name in found:
            raise ValueError(f"has the key {secrets.masked(name)[:100]!r} twice")
        found[name] = value
    return found


def items(node: Node) -> tuple[Node, ...]:
    """A list."""
    if not isinstance(node, Items) or node.tag != SEQ:
        raise ValueError("must be a list")
    return node.value


def _unpacked(value: str) -> str:
    """SnakeYAML packs a text with control characters this way."""
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode()
    except ValueError:
        raise ValueError("holds binary data that is not text") from None


def _number(value: str) -> int | None:
    found = _WHOLE.fullmatch(value.replace("_", ""))
    if not found or len(value) > _LONGEST:
        return None
    sign, binary, hexadecimal, octal, decimal = found.groups()
    if decimal is None:
        number = int(binary, 2) if binary else int(hexadecimal, 16) if hexadecimal else int(octal, 8)
    else:
        number = 0
        for part in decimal.split(":"):
            number = number * 60 + int(part)
    return -number if sign == "-" else number


def _double(value: str) -> str:
    """A double as Java's Double.toString writes it: 12.5 from a thousandth to ten millions, else 1.25E10."""
    sign = "-" if value.startswith("-") else ""
    digits = value.replace("_", "").lstrip("+-").lower()
    if digits in (".inf", ".nan"):
        return "NaN" if digits == ".nan" else f"{sign}Infinity"
    number = 0.0
    try:
        for part in digits.split(":"):
            number = number * 60 + float(part)
    except ValueError:
        raise ValueError("must be a number, or be put in quotes") from None
    if not math.isfinite(number):
        return f"{sign}Infinity"
    if number == 0 or 1e-3 <= number < 1e7:
        return f"{sign}{number!r}"
    _, (first, *rest), exponent = Decimal(repr(number)).normalize().as_tuple()
    return f"{sign}{first}.{''.join(map(str, rest)) or 0}E{len(rest) + int(exponent)}"
