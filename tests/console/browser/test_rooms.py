"""The smaller rooms: masters and slices, the registry's tree, the audit, the doctor. On one stage for all of
them, which takes a while to set up."""

import pytest
from playwright.sync_api import Locator, expect

from shardwright.ops import doctor, looking, masters, slices
from shardwright.recipes import slicing
from shardwright.registry import Create, Landed
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until

pytestmark = [pytest.mark.slow]
SERVICE = "AccountService:1.0.0"


# Masters and slices: who acts, who would, and another one chosen by hand


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


def fact(desk: Desk, name: str) -> Locator:
    """What is told under a heading."""
    return desk.page.locator("dl").last.locator(f"dt:text-is('{name}') + dd")


def test_slices_are_shown_with_their_holders_epoch_and_round(desk: Desk, stage: Stage) -> None:
    with stage.registry() as registry:
        epoch = slices.show(registry, "feeds").epoch
    desk.go("recipes")
    expect(desk.page.get_by_role("heading", name="feeds")).to_be_visible()
    expect(fact(desk, "Round")).to_have_text("Closed: everybody works")
    assert epoch > 0
    expect(fact(desk, "Epoch")).to_have_text(str(epoch))
    holders = desk.page.get_by_role("table").last.get_by_role("row")
    expect(holders).to_have_count(3)
    expect(holders.nth(1)).to_contain_text("10.0.1.")
    expect(holders.nth(2)).to_contain_text("10.0.1.")


def test_a_round_that_is_open_is_shown_as_it_is(desk: Desk, stage: Stage) -> None:
    """One that stays so: its nodes are there, and nobody to close it."""
    there, gone = "10.0.1.8@-@someone", "10.0.1.9@-@another"
    nodes = {
        f"{slicing.INSTANCES}/{there}": slicing.card(there),
        slicing.NECESSARY: "",
        slicing.holder(0): gone,
    }
    with stage.registry() as registry:
        writes = [Create(f"/paused/{path}", data) for path, data in nodes.items()]
        assert isinstance(registry.wait(registry.commit(*writes)), Landed)
        epoch = slices.show(registry, "paused").epoch
        desk.go("recipes?slices=paused")
        expect(fact(desk, "Round")).to_have_text("Open: everybody pauses")
        assert epoch > 0
        expect(fact(desk, "Epoch")).to_have_text(str(epoch))
        expect(fact(desk, "There without a slice")).to_have_text(there)
        expect(desk.page.get_by_role("row").filter(has_text=gone)).to_contain_text("is gone")


def test_a_sharding_that_nobody_has_begun_is_said_to_be_none(desk: Desk) -> None:
    desk.go("recipes")
    desk.page.get_by_label("Name of a dynamic sharding").fill("nothing")
    desk.page.get_by_label("Name of a dynamic sharding").press("Enter")
    expect(desk.page.get_by_role("alert").filter(has_text="no dynamic sharding")).to_be_visible()


# The registry's tree: opened as one goes, by mouse and by keyboard, and never written to


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


# The audit: what was done from the console, by whom, and what was refused


def test_a_change_made_here_is_in_the_audit_with_who_made_it(desk: Desk) -> None:
    desk.go("servers/10.0.0.1")
    desk.choose("Actions for archive", "Disable")
    desk.confirm("Disable")
    desk.wait_said("Disabled: archive, server 10.0.0.1")
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


# The doctor: what is wrong, why that matters, and mending it


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
