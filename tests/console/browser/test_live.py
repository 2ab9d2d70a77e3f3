"""What happens is seen as it happens: a process that was killed, on the map of shards."""

import time

import pytest
from playwright.sync_api import expect

from shardwright.ops import jobs
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until

pytestmark = [pytest.mark.slow]

#: How long after the registry has noticed it the page may show it, in seconds.
SOON = 2.0

#: Notes when a member is not among those who are there any more.
NOTE = """member => {
  const here = () => document.querySelector(`[data-member="${member}"]:not(.gone)`);
  const look = () => { if (!here() && !window.seenGone) window.seenGone = Date.now() / 1000; };
  window.seenGone = 0;
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


def gone_at(stage: Stage, job: str, member: str, within: float = 30.0) -> float:
    """When the registry has noticed that a member is gone."""
    with stage.registry() as registry:
        path = f"{registry.namespace}/{job}/instances"
        over = time.monotonic() + within
        while member in (registry.wait(registry.names([path], fresh=True))[path] or ()):
            assert time.monotonic() < over, f"{member} is still there after {within} s"
    return time.time()


def test_a_killed_process_is_seen_on_the_map_soon_after_it_is_noticed(desk: Desk, stage: Stage) -> None:
    (victim,) = stage.start()
    with stage.registry() as registry:
        members = jobs.detail(registry, "index-photos").members
    member = next(each.id for each in members if each.server == victim.address)
    desk.go("jobs/index-photos")
    expect(desk.page.locator(f'[data-member="{member}"]:not(.gone)')).to_be_visible()
    desk.page.evaluate(NOTE, member)
    stage.kill(victim)
    noticed = gone_at(stage, "index-photos", member)
    wait_until(lambda: desk.page.evaluate("window.seenGone"), "it is seen on the page", within=30)
    seen = desk.page.evaluate("window.seenGone")
    print(f"seen {seen - noticed:+.2f} s after it was noticed")
    assert seen - noticed < SOON


def test_its_shards_are_soon_shown_as_somebody_elses(desk: Desk, stage: Stage) -> None:
    (victim,) = stage.start()
    desk.go("jobs/archive")
    theirs = desk.page.locator(f'[data-member^="{victim.address}@"]')
    expect(theirs).to_contain_text("150 shards")
    stage.kill(victim)
    expect(theirs).to_have_count(0)
    expect(desk.page.locator("[data-member]").first).to_contain_text("200 shards")


def test_a_newcomer_is_seen_without_a_reload(desk: Desk, stage: Stage) -> None:
    desk.go("jobs/archive")
    expect(desk.page.locator("[data-member]")).to_have_count(3)
    (newcomer,) = stage.start()
    expect(desk.page.locator("[data-member]")).to_have_count(4)
    stage.end(newcomer)
    expect(desk.page.locator("[data-member]")).to_have_count(3)
