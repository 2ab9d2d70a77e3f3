"""SnakeYAML's dialect of YAML 1.1, the one ElasticJob speaks: text to nodes and back.

Nothing is ever constructed from a document: it becomes nodes that hold text and a tag, and `beans` knows what
they would be to Java. A tag that nobody here knows is carried along and written back.

What a stranger could leave in the registry is bounded before it is looked at: size, depth, no aliases.
No message repeats what a document says: it may hold secrets.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import yaml

from . import secrets
from .errors import ConfigError

try:
    from yaml import CSafeDumper as _Dumper
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: slower, the same answers
    from yaml import SafeDumper as _Dumper  # type: ignore[assignment]
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

#: Bytes in the largest document that is read or written.
LARGEST = 64 * 1024

#: Collections within collections in the deepest one.
DEEPEST = 20

_STANDARD = "tag:yaml.org,2002:"
STR, SEQ, MAP = (_STANDARD + word for word in ("str", "seq", "map"))
NULL, BOOL, INT, FLOAT = (_STANDARD + word for word in ("null", "bool", "int", "float"))
BINARY, TIMESTAMP, MERGE, SIGN = (_STANDARD + word for word in ("binary", "timestamp", "merge", "yaml"))

#: What SnakeYAML 2.2 takes a plain scalar for, the first that matches. A text that matches is quoted.
_PLAIN = {
    NULL: r"~|null|Null|NULL|",
    BOOL: r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    INT: r"[-+]?(0b_*[01][01_]*|0_*[0-7][0-7_]*|0|[1-9][\d_]*(:[0-5]?\d)*|0x_*[\da-fA-F][\da-fA-F_]*)",
    FLOAT: r"[-+]?(\d[\d_]*\.[\d_]*([eE][-+]?\d+)?|\d[\d_]*[eE][-+]?\d+|\.[\d_]+([eE][-+]?\d+)?"
    r"|\d[\d_]*(:[0-5]?\d)+\.[\d_]*|\.(inf|Inf|INF))|\.(nan|NaN|NAN)",
    TIMESTAMP: r"\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?"
    r"([ \t]*(Z|[-+]\d\d?(:\d\d)?))?",
    MERGE: r"<<",
    SIGN: r"[!&*]",
}
_PATTERNS = {tag: re.compile(pattern, re.ASCII) for tag, pattern in _PLAIN.items()}

#: The tags a scalar has by itself; any other was put there by somebody who wants an object made of it.
SCALARS = {STR, BINARY, *_PLAIN}


@dataclass(frozen=True, slots=True, repr=False)
class Scalar:
    """A word or a text."""

    value: str
    tag: str = STR

    def __repr__(self) -> str:
        return f"Scalar({secrets.masked(self.value)!r}, {self.tag!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Items:
    """A list."""

    value: "tuple[Node, ...]"
    tag: str = SEQ

    def __repr__(self) -> str:
        return f"Items({self.value!r}, {self.tag!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Pairs:
    """A mapping, in the order it was written."""

    value: "tuple[tuple[Node, Node], ...]"
    tag: str = MAP

    def __repr__(self) -> str:
        shown = tuple((masked(key), masked(node, _key(key))) for key, node in self.value)
        return f"Pairs({shown!r}, {self.tag!r})"


Node = Scalar | Items | Pairs


def masked(node: Node, key: str = "") -> Node:
    """The node as people may see it: what stands under a secret key is hidden, however deep."""
    match node:
        case Scalar(value, tag):
            return Scalar(secrets.masked(value, key=key), tag)
        case Items(value, tag):
            return Items(tuple(masked(each, key) for each in value), tag)
        case Pairs(value, tag):
            return Pairs(tuple((masked(each), masked(inner, _key(each, key))) for each, inner in value), tag)


def _key(node: Node, above: str = "") -> str:
    """The key that says how secret a value is: its own, unless one above it says so already."""
    return node.value if isinstance(node, Scalar) and not secrets.looks_secret(above) else above


# Reading


def read(document: str | bytes) -> Node:
    """The one document in a text, as nodes; a `ConfigError` completes the sentence "the document …"."""
    text = _bounded(document)
    try:
        return _document(yaml.parse(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_unreadable(error)) from None
    except (yaml.YAMLError, UnicodeEncodeError, OverflowError):
        raise ConfigError("holds a character that YAML does not allow") from None


def _bounded(document: str | bytes) -> str:
    if not isinstance(document, str | bytes):
        raise ConfigError(f"must be text or bytes, not {type(document).__name__}")
    if len(document) > LARGEST:
        raise ConfigError(f"is longer than {LARGEST:,} bytes, the most that is read")
    try:
        data = document.encode() if isinstance(document, str) else document
        text = data.decode()
    except UnicodeError:
        raise ConfigError("is not UTF-8 text") from None
    if len(data) > LARGEST:
        raise ConfigError(f"is longer than {LARGEST:,} bytes, the most that is read")
    return text


def _unreadable(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    # PyYAML quotes the text at fault, which may be a secret.
    problem = re.sub(r"""'[^']*'|"[^"]*"|[^ -~]""", "…", error.problem or "not YAML")
    return f"is not YAML: {place}{problem}"


def _document(events: Iterator[yaml.Event]) -> Node:
    root: Node | None = None
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            if root is not None:
                raise ConfigError("holds more than one document")
            root = _node(event, events, depth=1)
    if root is None:
        raise ConfigError("is empty")
    return root


def _node(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
    """The node that begins with this event; the events that belong to it are used up."""
    if depth > DEEPEST:
        raise ConfigError(f"is nested more than {DEEPEST} deep")
    match event:
        case yaml.ScalarEvent():
            return Scalar(event.value, _tag(event, _plain_tag(event.value) if event.implicit[0] else STR))
        case yaml.SequenceStartEvent():
            nodes = _nodes(events, depth)
            return Items(tuple(nodes), _tag(event, SEQ))
        case yaml.MappingStartEvent():
            nodes = _nodes(events, depth)
            return Pairs(tuple(zip(nodes, nodes, strict=True)), _tag(event, MAP))
    raise ConfigError("holds an alias (*name), which is not taken")


def _nodes(events: Iterator[yaml.Event], depth: int) -> Iterator[Node]:
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield _node(event, events, depth + 1)


def _tag(event: yaml.ScalarEvent | yaml.CollectionStartEvent, usual: str) -> str:
    return usual if event.tag is None or event.tag == "!" else str(event.tag)


def _plain_tag(value: str) -> str:
    return next((tag for tag, pattern in _PATTERNS.items() if pattern.fullmatch(value)), STR)


# Writing


def write(node: Node) -> str:
    """The document: block style, what SnakeYAML would misread in quotes."""
    events = [yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False)]
    _tell(node, events)
    events += [yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent()]
    try:
        written: str = yaml.emit(events, Dumper=_Dumper, allow_unicode=True)
    except UnicodeEncodeError:
        raise ConfigError("holds half a character (a lone surrogate)") from None
    return written


def _tell(node: Node, events: list[yaml.Event], depth: int = 1) -> None:
    """Add a node's events to those before it."""
    if depth > DEEPEST:
        raise ConfigError(f"is nested more than {DEEPEST} deep")
    match node:
        case Scalar(value, tag):
            events.append(_scalar_event(value, tag))
        case Items(value, tag):
            events.append(yaml.SequenceStartEvent(None, tag, tag == SEQ, flow_style=not value))
            for each in value:
                _tell(each, events, depth + 1)
            events.append(yaml.SequenceEndEvent())
        case Pairs(pairs, tag):
            events.append(yaml.MappingStartEvent(None, tag, tag == MAP, flow_style=not pairs))
            for pair in pairs:
                for each in pair:
                    _tell(each, events, depth + 1)
            events.append(yaml.MappingEndEvent())


@lru_cache(maxsize=1024)  # most documents have most of their words in common
def _scalar_event(value: str, tag: str) -> yaml.Event:
    if tag == NULL:
        value = value or "null"
    plain = _plain_tag(value)
    style = None
    if tag == STR and plain != STR:
        style = "'"
    elif "\n" in value and _is_neat(value):
        style = "|"
    return yaml.ScalarEvent(None, tag, (tag == plain, tag == STR), value, style=style)


def _is_neat(value: str) -> bool:
    """Whether a text of several lines can stand as a block and be read back to the letter."""
    lines = value.removesuffix("\n").split("\n")
    return all((lines[0], lines[-1])) and all(line.isprintable() and line == line.strip() for line in lines)
