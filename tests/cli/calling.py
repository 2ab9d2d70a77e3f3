"""Calling the command line in this process, off a terminal."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from click.testing import CliRunner
from pydantic import BaseModel

from shardwright.cli import main

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Answer:
    """How a call ended, and what it said."""

    code: int
    out: str
    err: str


def shardwright(*arguments: str, env: dict[str, str | None] | None = None) -> Answer:
    """As from a shell, with nobody at the keyboard."""
    nowhere: dict[str, str | None] = {"SHARDWRIGHT_REGISTRY": None, "SHARDWRIGHT_HISTORY": None}
    result = CliRunner().invoke(main, arguments, env=nowhere | (env or {}))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


@dataclass(frozen=True)
class Calling:
    """Calls about one registry."""

    url: str

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What a call answers on standard output; on standard error nothing."""
        answer = shardwright("--registry", self.url, *arguments)
        assert (answer.code, answer.err) == (code, ""), answer
        return answer.out

    def refused(self, *arguments: str, code: int = 1) -> str:
        """What a call says on standard error that fails; on standard output nothing."""
        answer = shardwright("--registry", self.url, *arguments)
        assert (answer.code, answer.out) == (code, ""), answer
        return answer.err

    def document(self, schema: type[T], *arguments: str, code: int = 0) -> T:
        """The one JSON document that a call answers with, which is as it is promised to be."""
        return schema.model_validate_json(self(*arguments, "--json", code=code), strict=True)

    def plain(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))
