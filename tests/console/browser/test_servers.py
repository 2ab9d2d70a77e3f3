"""Servers: who is there, with how much, and what can be done to them."""

import pytest
from playwright.sync_api import expect

from shardwright.ops import jobs, servers
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until

pytestmark = [pytest.mark.slow]


def test_every_server_is_shown_with_its_instances_jobs_and_load(desk: Desk) -> None:
    desk.go("servers")
    row = desk.row("10.0.0.1")
    expect(row).to_contain_text("Up")
    expect(row.get_by_role("cell").nth(2)).to_have_text("5")  # jobs; an instance in each of them
    expect(row).to_contain_text("shards")


def test_a_server_is_found_by_its_address_or_by_a_job(desk: Desk) -> None:
    desk.go("servers")
    expect(desk.row("10.0.0.3")).to_be_visible()
    desk.page.get_by_label("Find a server").fill("0.0.3")
    expect(desk.row("10.0.0.1")).to_have_count(0)
    desk.page.get_by_label("Find a server").fill("nightly")
    expect(desk.row("10.0.0.1")).to_be_visible()
    desk.page.get_by_label("Find a server").fill("nowhere")
    expect(desk.page.get_by_text("No server matches")).to_be_visible()


def test_a_server_is_disabled_and_enabled_again(desk: Desk, stage: Stage) -> None:
    desk.go("servers")
    desk.choose("Actions for 10.0.0.2", "Disable")
    desk.confirm("Disable")
    expect(desk.row("10.0.0.2")).to_contain_text("Disabled")
    with stage.registry() as registry:
        assert {each.address: each.disabled for each in servers.listing(registry)}["10.0.0.2"] == 5
    desk.choose("Actions for 10.0.0.2", "Enable")
    expect(desk.row("10.0.0.2")).to_contain_text("Up")


def test_what_is_not_confirmed_is_not_done(desk: Desk, stage: Stage) -> None:
    desk.go("servers")
    desk.choose("Actions for 10.0.0.1", "Disable")
    desk.confirm("Cancel")
    with stage.registry() as registry:
        assert {each.address: each.disabled for each in servers.listing(registry)}["10.0.0.1"] == 0


def test_one_job_is_disabled_on_one_server(desk: Desk, stage: Stage) -> None:
    desk.go("servers/10.0.0.1")
    desk.choose("Actions for on-request", "Disable")
    desk.confirm("Disable")
    expect(desk.page.get_by_role("row", name="on-request Disabled")).to_be_visible()
    with stage.registry() as registry:
        on = {each.job: each.status for each in servers.jobs_of(registry, "10.0.0.1")}
        assert (on["on-request"], on["archive"]) == ("DISABLED", "OK")
    desk.choose("Actions for on-request", "Enable")
    expect(desk.page.get_by_role("row", name="on-request Enabled")).to_be_visible()


def test_a_dump_shows_the_nodes_of_a_job(desk: Desk) -> None:
    desk.go("servers/10.0.0.1")
    desk.page.get_by_role("row", name="on-request").first.get_by_role("button", name="Dump").click()
    expect(desk.page.get_by_role("dialog")).to_contain_text("on-request/config")
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("dialog")).to_have_count(0)


def test_a_server_is_drained_shut_down_and_removed(desk: Desk, stage: Stage) -> None:
    (newcomer,) = stage.start()
    desk.go(f"servers/{newcomer.address}")
    desk.button("Drain").click()
    desk.confirm("Drain")
    expect(desk.page.get_by_text("draining").first).to_be_visible()

    def owned() -> int:
        with stage.registry() as registry:
            members = [each for job in stage.jobs for each in jobs.detail(registry, job["name"]).members]
        return sum(each.owns for each in members if each.server == newcomer.address)

    wait_until(lambda: owned() == 0, "the drained instances own nothing")
    desk.button("Shut down").click()
    desk.confirm("Shut down")
    expect(desk.page.get_by_text("No instance is on this server.")).to_be_visible()
    desk.button("Remove").click()
    desk.confirm("Remove")
    expect(desk.row("10.0.0.1")).to_be_visible()
    expect(desk.row(newcomer.address)).to_have_count(0)
    stage.end(newcomer)


def test_one_job_and_one_instance_are_shut_down_on_one_server(desk: Desk, stage: Stage) -> None:
    names = ["guest-one", "guest-two", "guest-three"]
    (visitor,) = stage.start(jobs=[{"name": name, "shards": 1} for name in names])

    def here() -> list[str]:
        with stage.registry() as registry:
            found = {name: jobs.detail(registry, name).members for name in names}
        return [name for name, members in found.items() if members]

    desk.go(f"servers/{visitor.address}")
    instances = desk.page.get_by_role("row").filter(has_text=f"{visitor.address}@-@")
    expect(instances).to_have_count(3)
    desk.choose("Actions for guest-one", "Shut down")
    desk.confirm("Shut down")
    expect(instances).to_have_count(2)
    assert here() == ["guest-two", "guest-three"]
    instances.filter(has_text="guest-two").get_by_role("button").click()
    desk.page.get_by_role("menuitem", name="Shut down").click()
    desk.confirm("Shut down")
    expect(instances).to_have_count(1)
    assert here() == ["guest-three"]
    stage.end(visitor)
    with stage.operator() as operator:
        for name in names:
            operator.remove(name)


def test_a_server_is_drained_and_let_work_again(desk: Desk, stage: Stage) -> None:
    def draining() -> list[bool]:
        with stage.registry() as registry:
            members = [each for job in stage.jobs for each in jobs.detail(registry, job["name"]).members]
        return [each.draining for each in members if each.server == "10.0.0.2"]

    desk.go("servers")
    desk.choose("Actions for 10.0.0.2", "Drain")
    desk.confirm("Drain")
    wait_until(lambda: draining() == [True] * 5, "it is drained of every job")
    desk.go("servers/10.0.0.2")
    expect(desk.page.get_by_text("draining").first).to_be_visible()
    desk.button("Let work again").click()
    expect(desk.page.get_by_text("draining")).to_have_count(0)
    assert draining() == [False] * 5
    expect(desk.button("Let work again")).to_have_count(0)


def test_one_instance_is_drained_and_let_work_again(desk: Desk) -> None:
    desk.go("servers/10.0.0.3")
    row = desk.page.get_by_role("row").filter(has_text="10.0.0.3@-@").filter(has_text="archive")
    row.get_by_role("button").click()
    desk.page.get_by_role("menuitem", name="Drain").click()
    expect(row).to_contain_text("draining")
    row.get_by_role("button").click()
    desk.page.get_by_role("menuitem", name="Let work again").click()
    expect(row).not_to_contain_text("draining")
