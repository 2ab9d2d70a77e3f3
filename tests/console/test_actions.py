"""Counting what was done on the page against what can be done."""

import json

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
