"""Counting what was done on the page against what can be done."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.console.browser import actions

DESCRIPTION = json.loads(actions.DESCRIPTION.read_text(encoding="utf-8"))
DISABLE = "POST /api/r/{registry}/jobs/{job}/disable"


def test_an_action_is_a_route_that_changes_something_and_each_thing_that_is_said_to_it() -> None:
    found = actions.wanted(DESCRIPTION)
    assert {DISABLE, f"{DISABLE} server", f"{DISABLE} shard"} <= found
    assert "POST /api/r/{registry}/bulk action=shutdown" in found
    assert not [name for name in found if name.startswith("GET")]


def test_what_was_asked_for_is_done_and_nothing_else() -> None:
    asked = [
        ("POST", "/api/r/main/jobs/j/disable", '{"server": "10.0.0.1", "shard": null}'),
        ("POST", "/api/r/main/bulk", '{"jobs": ["j"], "action": "trigger"}'),
    ]
    found = actions.done(DESCRIPTION, asked) & actions.wanted(DESCRIPTION)
    bulk = "POST /api/r/{registry}/bulk"
    assert found == {DISABLE, f"{DISABLE} server", bulk, f"{bulk} jobs", f"{bulk} action=trigger"}


@pytest.mark.parametrize(
    ("files", "keyword", "failed", "counts"),
    [
        (actions.ALL, "", 0, True),
        (actions.ALL, "some", 0, False),
        (actions.ALL, "", 1, False),
        (set(), "", 0, False),
    ],
)
def test_what_nobody_has_done_fails_a_run_of_all_browser_tests_and_no_other(
    files: set[str], keyword: str, failed: int, counts: bool
) -> None:
    config = SimpleNamespace(option=SimpleNamespace(keyword=keyword), args=["tests"])
    session: Any = SimpleNamespace(config=config, testsfailed=failed, exitstatus=pytest.ExitCode.OK)
    counted = actions.Actions()
    counted.files = set(files)
    counted.asked = {("POST", "/api/logout", "")}
    counted.pytest_sessionfinish(session)
    assert (session.exitstatus == pytest.ExitCode.TESTS_FAILED) == counts
    assert "POST /api/logout" not in counted.missing
    assert ("POST /api/r/{registry}/bulk action=shutdown" in counted.missing) == counts
