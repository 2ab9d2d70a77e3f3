"""Races: something else happens in the midst of an operator's look, or between that and what the operator
writes."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

import pytest

from shardwright.registry import Outcome, Registry, Write


def just_before(registry: Registry, meanwhile: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this done right before the registry's next commit is made."""
    commit = registry.commit

    def too_late(*writes: Write) -> "Future[Outcome]":
        monkeypatch.setattr(registry, "commit", commit)
        meanwhile(*writes)
        return commit(*writes)

    monkeypatch.setattr(registry, "commit", too_late)


def just_before_asking(
    registry: Registry,
    question: str,
    path: str,
    meanwhile: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    *,
    times: int = 1,
) -> None:
    """Have this done right before the registry is asked for the n-th time about a node: for what it holds, by
    `read`, or what is below it, by `names`."""
    ask, left = getattr(registry, question), [None] * (times - 1)

    def too_late(paths: Iterable[str], *, fresh: bool = False) -> "Future[dict[str, Any]]":
        wanted = list(paths)
        if path in wanted:
            if left:
                left.pop()
            else:
                monkeypatch.setattr(registry, question, ask)
                meanwhile()
        answer: Future[dict[str, Any]] = ask(wanted, fresh=fresh)
        return answer

    monkeypatch.setattr(registry, question, too_late)
