"""Masters and slices: who acts, who would, and another one chosen by hand."""

import pytest
from playwright.sync_api import expect

from shardwright.ops import masters
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until

pytestmark = [pytest.mark.slow]
SERVICE = "AccountService:1.0.0"


def master(stage: Stage) -> str | None:
    with stage.registry() as registry:
        return masters.show(registry, SERVICE).master


def test_another_candidate_is_designated(desk: Desk, stage: Stage) -> None:
    wait_until(lambda: master(stage), "somebody is master")
    before = master(stage)
    other = ({"10.0.1.1:9090", "10.0.1.2:9090"} - {before}).pop()
    desk.go("recipes")
    desk.button(f"Designate {other} as the master of {SERVICE}").click()
    desk.confirm("Designate")
    expect(desk.page.get_by_role("row", name=SERVICE).locator(".badge")).to_have_text(other)
    assert master(stage) == other


def test_a_master_resigns(desk: Desk, stage: Stage) -> None:
    wait_until(lambda: master(stage), "somebody is master")
    before = master(stage)
    desk.go("recipes")
    desk.button(f"Resign: the master of {SERVICE}").click()
    desk.confirm("Resign")
    expect(desk.page.get_by_role("row", name=SERVICE).locator(".badge")).not_to_have_text(str(before))
    wait_until(lambda: master(stage) not in (None, before), "another one is master")


def test_slices_are_shown_with_their_holders_epoch_and_round(desk: Desk) -> None:
    desk.go("recipes")
    expect(desk.page.get_by_role("heading", name="feeds")).to_be_visible()
    expect(desk.page.get_by_text("Closed: everybody works")).to_be_visible()
    holders = desk.page.get_by_role("table").last.get_by_role("row")
    expect(holders).to_have_count(3)
    expect(holders.nth(1)).to_contain_text("10.0.1.")
    expect(holders.nth(2)).to_contain_text("10.0.1.")


def test_a_sharding_that_nobody_has_begun_is_said_to_be_none(desk: Desk) -> None:
    desk.go("recipes")
    desk.page.get_by_label("Name of a dynamic sharding").fill("nothing")
    desk.page.get_by_label("Name of a dynamic sharding").press("Enter")
    expect(desk.page.get_by_role("alert").filter(has_text="no dynamic sharding")).to_be_visible()
