"""The API asked at random, by its own description: whatever it is sent, it answers as it says it does.

Everything is sent over a real socket by somebody who may do all. Streams are left out, which do not end; so
are the two routes of a sign-in by OpenID Connect, which are there only where a provider is named, are in no
description, and answer browsers with pages and not programs with documents: what they are sent is asked in
`test_oidc.py`, and who may call them in `test_matrix.py`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from shardwright.clock import HandClock
from shardwright.console.accounts import Accounts
from shardwright.console.app import build
from shardwright.console.desk import Desk
from shardwright.console.gate import Gate
from shardwright.console.guard import COOKIE
from tests.stories.telling import EVERY_SECOND, A, Story

from .visiting import House, house

#: How often each operation is asked.
EXAMPLES = 15

JOB = "reindex"
THERE = {"registry": "main", "job": JOB, "address": A}

pytestmark = pytest.mark.slow

CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


def description() -> dict[str, object]:
    """The description of an app that nobody has to serve for it."""
    return build(Gate(Accounts(Path("/nowhere"), HandClock()), {}), Desk(())).openapi()


#: Anything may be sent; and only what the description allows, which gets further.
anything = schemathesis.openapi.from_dict(description()).exclude(path_regex="/live$")
sensible = schemathesis.openapi.from_dict(description()).exclude(path_regex="/live$")
sensible.config.generation.update(modes=[GenerationMode.POSITIVE])

asked_at_random = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@dataclass(frozen=True)
class Live:
    """A console that is served."""

    house: House
    url: str


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("console")
    with house(folder) as opened, ended(Story(f"sqlite://{folder}/main/registry.db")) as story:
        story.two(JOB, cron=EVERY_SECOND, time_zone="UTC", failover=True)
        story.until(lambda: len(story.ran) > 8)
        config_of_server = uvicorn.Config(
            opened.console, port=0, http="h11", ws="none", log_config=None, access_log=False
        )
        server = uvicorn.Server(config_of_server)
        socket = config_of_server.bind_socket()
        socket.listen(100)  # from now on nobody is turned away, though the server begins a moment later
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        thread.start()
        yield Live(opened, f"http://127.0.0.1:{socket.getsockname()[1]}")
        server.should_exit = True
        thread.join()


@contextmanager
def ended(story: Story) -> Iterator[Story]:
    try:
        yield story
    finally:
        story.close()


@anything.parametrize()
@asked_at_random
def test_whatever_is_sent_is_answered_as_described(case: schemathesis.Case[Any], live: Live) -> None:
    ask(case, live)


@sensible.parametrize()
@asked_at_random
def test_what_makes_sense_is_answered_as_described(case: schemathesis.Case[Any], live: Live) -> None:
    # Most calls are about what is there, but none that would remove it.
    known = {"registry"} if case.method == "DELETE" else set(THERE)
    there = {name: THERE[name] for name in known & case.path_parameters.keys()}
    if len(repr([case.path_parameters, case.query, case.body])) % 5:
        case.path_parameters = {**case.path_parameters, **there}
        case.query = {**case.query, **({"job": JOB} if "job" in case.query else {})}
    ask(case, live)


def ask(case: schemathesis.Case[Any], live: Live) -> None:
    somebody = live.house.admin  # a new session for each: one of the calls ends its own
    answer = case.call(
        base_url=live.url,
        headers={"origin": live.url, "x-shardwright-csrf": somebody.csrf},
        cookies={COOKIE: somebody.cookie},
    )
    told = f"{case.method} {case.formatted_path} answered {answer.status_code}: {answer.text[:500]}"
    assert answer.status_code < 500 or answer.status_code == 503, told
    case.validate_response(answer, checks=CHECKS)
