"""Audit: what was done from the console, by whom, and what was refused."""

import pytest
from playwright.sync_api import expect

from tests.console.browser.desk import Desk

pytestmark = [pytest.mark.slow]


def test_a_change_made_here_is_in_the_audit_with_who_made_it(desk: Desk) -> None:
    desk.go("servers/10.0.0.1")
    desk.choose("Actions for archive", "Disable")
    desk.confirm("Disable")
    desk.wait_said("disable")
    desk.choose("Actions for archive", "Enable")
    expect(desk.page.get_by_role("row", name="archive Enabled")).to_be_visible()
    desk.go("audit")
    row = desk.row("ann (console)").filter(has_text="archive")
    expect(row.filter(has_text="disable").first).to_be_visible()
    desk.page.get_by_label("Find in these").fill("enable")
    expect(row.first).to_be_visible()
    desk.page.get_by_label("Find in these").fill("nobody did this")
    expect(desk.page.get_by_text("No change is known that matches.")).to_be_visible()


def test_only_what_is_about_a_job_is_shown_when_asked(desk: Desk) -> None:
    desk.go("servers")
    desk.choose("Actions for 10.0.0.3", "Disable")
    desk.confirm("Disable")
    expect(desk.row("10.0.0.3")).to_contain_text("Disabled")
    desk.choose("Actions for 10.0.0.3", "Enable")
    expect(desk.row("10.0.0.3")).to_contain_text("Up")
    desk.go("audit?job=nightly-report")
    expect(desk.page.get_by_text("No change is known that matches.")).to_be_visible()
