"""What of a call may not be shown, and what is shown instead."""

import html
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, unquote_plus

from ... import secrets

#: How much is shown of what a server says, in characters.
BEGINNING = 200

_LONGEST_URL = 500


@dataclass(frozen=True, slots=True)
class Hidden:
    """The texts that may not be shown, longest first."""

    texts: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Hidden":
        words = {word for text in texts for word in (text, *text.split()) if len(word) >= 4 or word == text}
        spelt = {form for word in words if word for form in _spellings(word)}
        return cls(tuple(sorted(spelt, key=len, reverse=True)))

    def taken_from(self, text: str) -> str:
        for each in self.texts:
            text = text.replace(each, secrets.MASK)
        return text

    def masked(self, text: str, *, is_whole: bool = True) -> str:
        """What somebody else said, as people may see it, on one line."""
        text = self.taken_from(text)
        if not is_whole and self.texts:
            text = text[: -len(self.texts[0])]  # the beginning of a secret may be the end of what we have
        text = secrets.masked(text[: 20 * BEGINNING])
        return "".join(each if each.isprintable() else " " for each in text).strip()


def of_query(url: str) -> Iterator[str]:
    """What is worth hiding of a query: all of it, and each value but the shortest."""
    query = url.partition("#")[0].partition("?")[2]
    values = [query, *(part.partition("=")[2] for part in query.split("&"))]
    yield from (value for value in (*values, *map(unquote_plus, values)) if len(value) >= 4)


def of_secret_url(url: str) -> Iterator[str]:
    """What is worth hiding of a URL that is a secret by itself: all but its host."""
    target = "/" + url.partition("//")[2].partition("/")[2]
    path = target.partition("?")[0]
    yield from (each for each in (url, target, path) if each != "/")
    yield from (segment for segment in path.split("/") if len(segment) >= 8)


def shown_url(url: str) -> str:
    """A URL without login and query."""
    before, mark, _ = url.partition("#")[0].partition("?")
    return secrets.masked(before)[:_LONGEST_URL] + (f"?{secrets.MASK}" if mark else "")


def _spellings(word: str) -> Iterator[str]:
    """A text as a server may give it back."""
    yield from (word, quote(word), quote(word, safe=""), quote_plus(word), html.escape(word))
    yield from (json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1])
