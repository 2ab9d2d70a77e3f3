"""Races: something else happens between an operator's look and what the operator writes."""

from collections.abc import Callable
from concurrent.futures import Future

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
