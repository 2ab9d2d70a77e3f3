"""The registry's tree: opened as one goes, by mouse and by keyboard, and never written to."""

import pytest
from playwright.sync_api import expect

from tests.console.browser.desk import Desk

pytestmark = [pytest.mark.slow]


def test_the_tree_opens_at_the_namespace_and_shows_what_is_in_a_node(desk: Desk) -> None:
    desk.go("tree")
    chosen = desk.page.locator('[role="treeitem"][aria-selected="true"]')
    expect(chosen).to_be_visible()
    namespace = str(chosen.get_attribute("data-path"))
    desk.page.get_by_label("Go to a path").fill(f"{namespace}/nightly-report/config")
    desk.button("Open").click()
    expect(desk.page.get_by_text("jobName: nightly-report")).to_be_visible()
    expect(chosen).to_have_attribute("data-path", f"{namespace}/nightly-report/config")
    expect(chosen).to_have_attribute("aria-level", str(1 + namespace.count("/") + 2))


def test_the_tree_is_walked_by_keyboard(desk: Desk) -> None:
    desk.go("tree")
    chosen = desk.page.locator('[role="treeitem"][aria-selected="true"]')
    chosen.focus()
    press, focused = desk.page.keyboard.press, desk.page.locator("[role=treeitem]:focus")
    press("ArrowRight")
    expect(focused).to_have_attribute("aria-expanded", "true")
    expect(desk.page.get_by_role("treeitem", name="index-photos", exact=True)).to_be_visible()
    press("ArrowRight")
    expect(focused).to_have_text("▸archive")
    press("n")
    expect(focused).to_contain_text("nightly-report")
    press("ArrowRight")
    expect(desk.page.get_by_role("treeitem", name="config", exact=True)).to_be_visible()
    press("ArrowDown")
    expect(focused).to_contain_text("config")
    press("Enter")
    expect(desk.page.get_by_text("jobName: nightly-report")).to_be_visible()
    press("ArrowLeft")
    expect(focused).to_contain_text("nightly-report")
    press("ArrowLeft")
    expect(focused).to_have_attribute("aria-expanded", "false")
    press("Home")
    expect(focused).to_contain_text("/")


def test_only_one_node_is_a_tab_stop(desk: Desk) -> None:
    desk.go("tree")
    desk.page.locator('[role="treeitem"][aria-selected="true"]').wait_for()
    assert desk.page.locator('[role="treeitem"][tabindex="0"]').count() == 1


def test_a_node_that_is_not_there_is_said_to_be_gone(desk: Desk) -> None:
    desk.go("tree?path=%2Fnowhere%2Fat%2Fall")
    expect(desk.page.get_by_text("This node is not there any more.")).to_be_visible()
