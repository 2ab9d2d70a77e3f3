"""The doctor: what is wrong, why that matters, and mending it."""

import pytest
from playwright.sync_api import expect

from shardwright.ops import doctor, looking
from shardwright.registry import Create, Landed
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage

pytestmark = [pytest.mark.slow]


def leave_over(stage: Stage) -> str:
    """Leave something of ours of a job that does not exist."""
    with stage.registry() as registry:
        path = f"{registry.namespace}{looking.OURS}/gone-for-good"
        if registry.wait(registry.read([path], fresh=True))[path] is None:
            assert isinstance(registry.wait(registry.commit(Create(f"{path}/watched"))), Landed)
        return path


def test_a_finding_is_told_with_its_reason_and_mended_when_confirmed(desk: Desk, stage: Stage) -> None:
    path = leave_over(stage)
    desk.go("doctor")
    finding = desk.page.get_by_role("listitem").filter(has_text="gone-for-good")
    expect(finding).to_contain_text("they take room")
    expect(finding).to_contain_text("take them away")
    finding.get_by_role("button").click()
    desk.confirm("Repair")
    expect(finding).to_have_count(0)
    with stage.registry() as registry:
        assert registry.wait(registry.read([path], fresh=True))[path] is None


def test_what_was_mended_meanwhile_is_said_to_be_overtaken(desk: Desk, stage: Stage) -> None:
    leave_over(stage)
    desk.go("doctor")
    finding = desk.page.get_by_role("listitem").filter(has_text="gone-for-good")
    finding.get_by_role("button").click()
    with stage.operator() as operator:
        found = next(
            each for each in doctor.examine(operator.registry).findings if each.job == "gone-for-good"
        )
        operator.repair(found)
    desk.confirm("Repair")
    desk.wait_said("the doctor does not find that any more")


def test_the_doctor_tells_what_jobs_cost(desk: Desk) -> None:
    desk.go("doctor")
    expect(desk.page.get_by_role("row", name="archive")).to_be_visible()
