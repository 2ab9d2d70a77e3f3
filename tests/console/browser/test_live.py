"""What happens is seen as it happens: a process that was killed, on the map of shards."""

import time

import pytest
from playwright.sync_api import Browser, expect

from shardwright.ops import jobs
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Replica, Stage, wait_until

pytestmark = [pytest.mark.slow]

#: How long after the registry has noticed it the page may show it, in seconds.
SOON = 2.0

#: What the browser's clock leaves out of a moment, in seconds.
TICK = 0.002

#: Notes when a member is not among those who are there any more.
NOTE = """member => {
  const here = () => document.querySelector(`[data-member="${member}"]:not(.gone)`);
  const look = () => { if (!here() && !window.seenGone) window.seenGone = Date.now() / 1000; };
  if (!here()) throw new Error("it is not there to begin with");
  window.seenGone = 0;
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


def kill(stage: Stage, victim: Replica, job: str, member: str, within: float = 30.0) -> float:
    """Kill a process. Gives back the last moment at which the registry surely knew its member of a job: to a
    few milliseconds when it let go of it."""
    with stage.registry() as registry:
        path = f"{registry.namespace}/{job}/instances"

        def is_there() -> bool:
            return member in (registry.wait(registry.names([path], fresh=True))[path] or ())

        there = time.time()
        assert is_there()
        stage.kill(victim)
        over = time.monotonic() + within
        while True:
            asked = time.time()
            if not is_there():
                return there
            there = asked
            assert time.monotonic() < over, f"{member} is still there after {within} s"
            time.sleep(0.005)  # so that asking takes nothing from those who are to notice


def test_a_killed_process_is_seen_on_the_map_soon_after_it_is_noticed(desk: Desk, stage: Stage) -> None:
    (victim,) = stage.start()
    with stage.registry() as registry:
        members = jobs.detail(registry, "index-photos").members
    member = next(each.id for each in members if each.server == victim.address)
    desk.go("jobs/index-photos")
    here = desk.page.locator("[data-member]:not(.gone)")
    expect(here).to_have_count(4)
    desk.page.evaluate(NOTE, member)
    there = kill(stage, victim, "index-photos", member)
    wait_until(lambda: desk.page.evaluate("window.seenGone"), "it is seen on the page", within=30)
    seen = desk.page.evaluate("window.seenGone")
    print(f"seen {seen - there:+.3f} s after it was there for the last time")
    # Not before either: that would be a page that broke, and not one that shows what is.
    assert there - TICK <= seen <= there + SOON
    expect(here).to_have_count(3)
    expect(desk.page.locator(f'[data-member="{member}"]:not(.gone)')).to_have_count(0)


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


def test_a_console_that_is_gone_is_told_with_the_time_from_which_on_nothing_is_known(
    stage: Stage, browser: Browser
) -> None:
    console = stage.open_console()
    with Desk(browser, console) as other:
        other.sign_in_first("bob", "correct horse battery")
        other.go("jobs")
        expect(other.row("archive")).to_be_visible()
        console.kill()
        expect(other.page.get_by_role("alert").filter(has_text="has not answered since")).to_be_visible()
        expect(other.row("archive")).to_be_visible()
