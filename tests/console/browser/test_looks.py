"""How every page looks: nothing that the content security policy forbids, nothing that keeps anybody out, in
both themes; and in the language that was chosen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browser.conftest import url_of
from tests.console.browser.desk import Desk
from tests.console.browser.pages import PAGES, Place
from tests.console.browser.stage import Stage, wait_until
from tests.faults.processes import ROOT

pytestmark = [pytest.mark.slow]
AXE = Path(ROOT, "console-ui/node_modules/axe-core/axe.min.js")


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """On SQLite alone: how a page looks is no matter of the registry."""
    folder = tmp_path_factory.mktemp("stage")
    with Stage(url_of("sqlite", folder, request), folder) as stage:
        stage.start(3)
        stage.take_part(2)
        yield stage


@pytest.fixture(scope="module")
def lively(admin: Desk) -> Desk:
    """The same, once there is something to see on every page."""
    wait_until(lambda: admin.get("r/main/history?job=send-invoices&outcome=failed")["fires"], "a failure")
    admin.go("servers/10.0.0.1")
    admin.choose("Actions for archive", "Disable")
    admin.confirm("Disable")
    expect(admin.page.get_by_role("row", name="archive Disabled")).to_be_visible()
    admin.choose("Actions for archive", "Enable")
    expect(admin.page.get_by_role("row", name="archive Enabled")).to_be_visible()
    return admin


@pytest.fixture(scope="module")
def chinese(lively: Desk, browser: Browser) -> Iterator[Desk]:
    """The same person before a browser that speaks Chinese."""
    kept = lively.context.storage_state()
    with Desk(browser, lively.console, locale="zh-CN", storage_state=kept) as desk:
        yield desk


def violations(desk: Desk) -> list[str]:
    """What axe finds that is serious or worse. It comes by way of the debugger, which no policy forbids."""
    if not desk.page.evaluate("typeof axe !== 'undefined'"):
        session = desk.context.new_cdp_session(desk.page)
        session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        session.detach()
    found: dict[str, Any] = desk.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("place", PAGES, ids=lambda place: place.name)
def test_nobody_is_kept_out_and_nothing_is_forbidden(lively: Desk, place: Place) -> None:
    keeps_nobody_out(lively, place, "light")


@pytest.mark.parametrize("place", PAGES, ids=lambda place: place.name)
def test_nobody_is_kept_out_in_chinese_and_in_the_dark(chinese: Desk, place: Place) -> None:
    keeps_nobody_out(chinese, place, "dark")
    assert chinese.page.evaluate("document.documentElement.lang") == "zh-CN"


def keeps_nobody_out(desk: Desk, place: Place, theme: Literal["light", "dark"]) -> None:
    desk.begin()
    desk.page.emulate_media(color_scheme=theme)
    place.open(desk)
    assert violations(desk) == []
    desk.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_way_in_keeps_nobody_out(admin: Desk, browser: Browser, theme: str) -> None:
    with Desk(browser, admin.console, color_scheme=theme) as desk:
        desk.page.goto(f"{desk.url}/")
        expect(desk.button("Sign in")).to_be_visible()
        assert violations(desk) == []
        desk.check()


@pytest.mark.parametrize("place", PAGES, ids=lambda place: place.name)
def test_no_page_is_wider_than_the_window(lively: Desk, place: Place) -> None:
    try:
        for width in (1920, 768, 390):
            lively.page.set_viewport_size({"width": width, "height": 800})
            if width == 1920:
                place.open(lively)
            # The page has heard of its new size when it has drawn itself once more.
            lively.page.evaluate("new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")
            assert lively.page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        lively.page.set_viewport_size({"width": 1280, "height": 800})


def test_help_is_a_click_away_and_leads_to_what_it_tells_of(desk: Desk) -> None:
    desk.go("servers")
    desk.page.get_by_role("navigation").get_by_role("link", name="Help").click()
    expect(desk.page.get_by_role("heading", name="What is where")).to_be_visible()
    desk.page.get_by_role("main").get_by_role("link", name="Doctor").click()
    expect(desk.page.get_by_role("heading", name="Doctor", level=1)).to_be_visible()


def test_the_language_is_chosen_and_kept(desk: Desk) -> None:
    desk.go("servers")
    desk.button("Language").click()
    desk.page.get_by_role("menuitemradio", name="中文").click()
    expect(desk.page.get_by_role("heading", name="服务器")).to_be_visible()
    assert desk.page.evaluate("document.documentElement.lang") == "zh-CN"
    desk.page.reload()
    expect(desk.page.get_by_role("heading", name="服务器")).to_be_visible()
    desk.button("语言").click()
    desk.page.get_by_role("menuitemradio", name="English").click()
    expect(desk.page.get_by_role("heading", name="Servers")).to_be_visible()


def test_whoever_speaks_chinese_is_spoken_to_in_chinese(admin: Desk, browser: Browser) -> None:
    with Desk(browser, admin.console, locale="zh-CN") as desk:
        desk.page.goto(f"{desk.url}/")
        expect(desk.button("登录")).to_be_visible()


def test_the_theme_is_chosen_and_kept(desk: Desk, stage: Stage) -> None:
    desk.page.emulate_media(color_scheme="light")
    desk.go("servers")
    back = "getComputedStyle(document.documentElement).backgroundColor"
    expect(desk.row("10.0.0.1")).to_be_visible()
    light = desk.page.evaluate(back)
    desk.button("Theme").click()
    desk.page.get_by_role("menuitemradio", name="Dark").click()
    assert desk.page.evaluate(back) != light
    desk.page.reload()
    expect(desk.row("10.0.0.1")).to_be_visible()
    assert desk.page.evaluate(back) != light
    desk.button("Theme").click()
    desk.page.get_by_role("menuitemradio", name="As the system").click()
    assert desk.page.evaluate(back) == light
