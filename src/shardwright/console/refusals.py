"""Refusals: what is not done for a visitor, as a status, a kind that programs tell apart, and a sentence."""

import logging
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel
from starlette.responses import JSONResponse

log = logging.getLogger("shardwright.console")

Kind = Literal[
    "invalid", "unknown", "refused", "conflict", "forbidden", "login", "unreachable", "no history", "busy"
]


class Problem(BaseModel):
    """Why something is not done, or not there."""

    error: str
    kind: Kind


class Refusal(Exception):
    """Somebody is turned away, and told why."""

    def __init__(
        self, status: int, kind: Kind, sentence: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.kind = kind
        self.sentence = sentence
        self.headers = dict(headers or {})

    def answer(self) -> JSONResponse:
        return JSONResponse({"error": self.sentence, "kind": self.kind}, self.status, self.headers)


def invalid(sentence: str, status: int = 400) -> Refusal:
    return Refusal(status, "invalid", sentence)


def not_signed_in(sentence: str = "sign in first") -> Refusal:
    return Refusal(401, "login", sentence)


def forbidden(sentence: str) -> Refusal:
    return Refusal(403, "forbidden", sentence)


def unknown(sentence: str) -> Refusal:
    return Refusal(404, "unknown", sentence)


def no_such_registry(name: str) -> Refusal:
    """Said alike of one that is not there and of one that the visitor may not see."""
    return unknown(f"there is no registry {name!r} here")


def no_accounts(error: Exception) -> Refusal:
    """Who may come in cannot be told. Where the file is, and what is wrong with it, is for the log."""
    log.error("%s", error)
    return Refusal(
        503, "unreachable", "the accounts cannot be read or written at the moment: the console's log says why"
    )


def too_early(seconds: int) -> Refusal:
    return Refusal(
        429,
        "busy",
        f"there were too many tries that failed: wait {seconds} s",
        headers={"Retry-After": str(seconds)},
    )
