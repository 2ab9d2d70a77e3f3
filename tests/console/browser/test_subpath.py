"""The console below a path of a larger site, behind a proxy: everything is asked for below that path."""

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browser.conftest import ADMIN
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage
from tests.console.browser.subpath import SubPath

pytestmark = [pytest.mark.slow]


def test_it_works_below_a_path_and_behind_a_proxy(stage: Stage, browser: Browser) -> None:
    console = stage.open_console("--proxy")
    with SubPath(console.url) as proxy, Desk(browser, console, url=proxy.url) as desk:
        desk.sign_in_first(*ADMIN)
        expect(desk.row("index-photos").first).to_be_visible()
        expect(desk.page.get_by_text("Live", exact=True)).to_be_visible()
        desk.page.get_by_role("link", name="Servers").click()
        desk.choose("Actions for 10.0.0.1", "Disable")
        desk.confirm("Disable")
        expect(desk.row("10.0.0.1")).to_contain_text("Disabled")
        desk.choose("Actions for 10.0.0.1", "Enable")
        expect(desk.row("10.0.0.1")).to_contain_text("Up")
        desk.page.reload()
        expect(desk.row("10.0.0.1")).to_contain_text("Up")
        desk.check()
