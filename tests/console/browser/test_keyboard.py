"""The console without a mouse: in, to a page, a thing done, and out."""

import pytest
from playwright.sync_api import Browser, expect

from shardwright.ops import servers
from tests.console.browser.conftest import ADMIN
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage

pytestmark = [pytest.mark.slow]


def tab_to(desk: Desk, role: str, name: str) -> None:
    """Press Tab until something has the focus, which must be seen where it is."""
    wanted = desk.page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]
    wanted.wait_for()
    for _ in range(80):
        desk.page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            seen = (
                "e => getComputedStyle(e).outlineStyle !== 'none' || getComputedStyle(e).boxShadow !== 'none'"
            )
            assert wanted.evaluate(seen), f"{name} has the focus, and nobody sees it"
            return
    raise AssertionError(f"{role} {name} cannot be reached by Tab")


def test_a_server_is_disabled_without_a_mouse(admin: Desk, browser: Browser, stage: Stage) -> None:
    with Desk(browser, admin.console) as desk:
        desk.page.goto(f"{desk.url}/")
        desk.button("Sign in").wait_for()
        desk.page.keyboard.type(ADMIN[0])  # the field has the focus from the beginning
        desk.page.keyboard.press("Tab")
        desk.page.keyboard.type(ADMIN[1])
        desk.page.keyboard.press("Enter")
        tab_to(desk, "link", "Servers")
        desk.page.keyboard.press("Enter")
        tab_to(desk, "button", "Actions for 10.0.0.1")
        desk.page.keyboard.press("Enter")
        focused = desk.page.locator(":focus")
        while "Disable" not in focused.inner_text():
            desk.page.keyboard.press("ArrowDown")
        desk.page.keyboard.press("Enter")
        tab_to(desk, "button", "Disable")
        desk.page.keyboard.press("Enter")
        expect(desk.row("10.0.0.1")).to_contain_text("Disabled")
        with stage.operator() as operator:
            assert {s.address: s.disabled for s in servers.listing(operator.registry)}["10.0.0.1"] > 0
            operator.enable(server="10.0.0.1")
        desk.check()


def test_the_first_stop_leads_past_the_navigation(desk: Desk) -> None:
    desk.go("servers")
    expect(desk.row("10.0.0.1")).to_be_visible()
    desk.page.reload()
    expect(desk.row("10.0.0.1")).to_be_visible()
    desk.page.keyboard.press("Tab")
    expect(desk.page.locator(":focus")).to_have_text("Skip to the content")
    desk.page.keyboard.press("Enter")
    expect(desk.page.locator(":focus")).to_have_attribute("id", "main")


def test_jobs_are_walked_chosen_and_opened_by_keys(desk: Desk) -> None:
    desk.go("jobs")
    row = desk.page.get_by_role("row").filter(has_text="archive")
    row.focus()
    desk.page.keyboard.press("Space")
    expect(row.get_by_role("checkbox")).to_be_checked()
    desk.page.keyboard.press("Space")
    expect(row.get_by_role("checkbox")).not_to_be_checked()
    desk.page.keyboard.press("ArrowDown")
    expect(desk.page.locator(":focus")).to_contain_text("index-photos")
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_role("heading", level=1)).to_contain_text("index-photos")
