"""Several registries before one console: switched between, and each only for those who may see it."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, expect

from shardwright.registry import connect
from tests.console.browser.conftest import ADMIN
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage

pytestmark = [pytest.mark.slow]
PASSWORD = "a password for tests"


@pytest.fixture(scope="module")
def admin(stage: Stage, browser: Browser) -> Iterator[Desk]:
    """A console that knows another registry too, where nothing is and no history is kept."""
    (stage.folder / "other").mkdir(mode=0o700)
    other = f"sqlite://{stage.folder / 'other' / 'registry.db'}"
    with connect(other) as registry:
        registry.wait(registry.names(["/"]))
    with Desk(browser, stage.open_console(registries={"other": other})) as desk:
        desk.sign_in_first(*ADMIN)
        yield desk


def switcher(desk: Desk) -> Locator:
    return desk.page.get_by_role("combobox", name="Registry")


def test_the_same_page_of_another_registry_is_shown(desk: Desk) -> None:
    desk.go("servers")
    expect(desk.row("10.0.0.1")).to_be_visible()
    switcher(desk).select_option("other")
    expect(desk.page.get_by_text("No server is known here yet.")).to_be_visible()
    switcher(desk).select_option("main")
    expect(desk.row("10.0.0.1")).to_be_visible()


def test_a_registry_without_a_history_says_so(desk: Desk) -> None:
    desk.go("history", registry="other")
    expect(desk.page.get_by_text("No history is kept for this registry.")).to_be_visible()
    desk.go("audit", registry="other")
    expect(desk.page.get_by_text("No history is kept for this registry.")).to_be_visible()


def test_the_tree_of_another_registry_is_another(desk: Desk, stage: Stage) -> None:
    with stage.registry() as registry:
        path = quote(f"{registry.namespace}/nightly-report/config", safe="")
    desk.go(f"tree?path={path}")
    expect(desk.page.get_by_text("jobName: nightly-report")).to_be_visible()
    desk.go(f"tree?path={path}", registry="other")
    expect(desk.page.get_by_text("This node is not there any more.")).to_be_visible()


def test_a_registry_that_is_not_there_is_said_to_be_so_and_no_other_is_shown_instead(desk: Desk) -> None:
    desk.go("servers")
    expect(desk.row("10.0.0.1")).to_be_visible()
    desk.go("servers", registry="nowhere")
    expect(desk.page.get_by_text("There is no registry “nowhere” here")).to_be_visible()
    expect(desk.row("10.0.0.1")).to_have_count(0)
    expect(desk.page.get_by_role("button")).to_have_count(0)
    expect(desk.page.get_by_role("link", name="other")).to_be_visible()
    desk.page.get_by_role("link", name="main").click()
    expect(desk.row("index-photos").first).to_be_visible()


def test_whoever_has_a_role_in_one_registry_sees_that_one_alone(desk: Desk, browser: Browser) -> None:
    desk.go_to("users")
    desk.button("New account").click()
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("gwen")
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_label("main", exact=True).select_option("viewer")
    desk.confirm("Create")
    expect(desk.button("Edit gwen")).to_be_visible()
    with Desk(browser, desk.console) as gwen:
        gwen.sign_in("gwen", PASSWORD)
        expect(gwen.row("index-photos").first).to_be_visible()
        expect(switcher(gwen)).to_have_count(0)
        assert [each["name"] for each in gwen.get("about")["session"]["registries"]] == ["main"]
        gwen.go("jobs", registry="other")
        expect(gwen.page.get_by_text("There is no registry “other” here")).to_be_visible()
        expect(gwen.page.get_by_role("link")).to_have_text(["main"])
        gwen.check()
    desk.go_to("users")
    desk.button("Delete gwen").click()
    desk.confirm("Delete")
    expect(desk.button("Delete gwen")).to_have_count(0)
