"""The fleet: all jobs at a glance, found, filtered, sorted, and many changed at once."""

import re
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Route, expect

from shardwright.ops import jobs
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until

pytestmark = [pytest.mark.slow]


def shown(desk: Desk) -> list[str]:
    """The jobs in the order in which they stand there."""
    rows = desk.page.locator("tbody tr[data-key]")
    return list(rows.evaluate_all("rows => rows.map(row => row.dataset.key)"))


def status(stage: Stage, job: str) -> str:
    with stage.registry() as registry:
        return jobs.brief(registry, job).status.value


def known(desk: Desk) -> list[dict[str, Any]]:
    """What has come out well, as the history tells it."""
    found: list[dict[str, Any]] = desk.get("r/main/history?outcome=ok&limit=500")["fires"]
    return found


def choose(desk: Desk, *names: str) -> None:
    for name in names:
        desk.page.get_by_label(f"Select {name}", exact=True).check()


def expect_unchosen(desk: Desk, *names: str) -> None:
    """All was done: what is chosen before that is taken back with the rest. The stream tells of the first job
    while the others are still being changed."""
    for name in names:
        expect(desk.page.get_by_label(f"Select {name}", exact=True)).not_to_be_checked()


def test_every_job_is_shown_with_its_state_and_its_last_outcome(desk: Desk) -> None:
    desk.go("jobs")
    expect(desk.row("index-photos").first).to_contain_text("OK")
    expect(desk.row("send-invoices").first).to_contain_text("failed")
    expect(desk.row("on-request").first).to_contain_text("when asked")
    assert shown(desk) == ["archive", "index-photos", "nightly-report", "on-request", "send-invoices"]


def test_the_line_of_lateness_grows_while_one_looks_at_it(desk: Desk) -> None:
    def two_fires(route: Route) -> None:
        answer = route.fetch()
        page = answer.json()
        route.fulfill(
            response=answer, json=page | {"jobs": [job | {"late": job["late"][-2:]} for job in page["jobs"]]}
        )

    desk.page.route("**/api/r/main/jobs?*", two_fires)  # whatever is fetched: more comes by the stream alone
    desk.go("jobs")
    line = desk.row("index-photos").first.get_by_role(
        "img", name=re.compile(r"^last .+ late, worst of these ")
    )
    expect(line.locator("path").last).to_have_attribute("d", re.compile(r"^M[^L]+(L[^L]+){2,}$"))


def test_jobs_are_searched_and_the_search_is_kept_in_the_address(desk: Desk) -> None:
    desk.go("jobs")
    desk.page.get_by_label("Search jobs").fill("re")
    expect(desk.page).to_have_url(re.compile(r"search=re"))
    wait_until(lambda: shown(desk) == ["nightly-report", "on-request"], "only what fits is there")
    desk.page.reload()
    expect(desk.row("nightly-report").first).to_be_visible()
    assert shown(desk) == ["nightly-report", "on-request"]
    desk.page.get_by_label("Search jobs").fill("no such job")
    expect(desk.page.get_by_text("No job fits")).to_be_visible()


def test_jobs_are_filtered_by_their_last_outcome_and_by_status(desk: Desk, stage: Stage) -> None:
    desk.go("jobs")
    expect(desk.row("send-invoices").first).to_contain_text("failed")
    desk.page.get_by_label("Last outcome").select_option("failed")
    wait_until(lambda: shown(desk) == ["send-invoices"], "only what failed is there")
    desk.page.get_by_label("Last outcome").select_option("")
    with stage.operator() as operator:
        operator.disable("archive")
    desk.page.get_by_label("Status", exact=True).select_option("DISABLED")
    wait_until(lambda: shown(desk) == ["archive"], "only what is disabled is there")
    with stage.operator() as operator:
        operator.enable("archive")


def test_jobs_are_sorted_either_way(desk: Desk) -> None:
    desk.go("jobs")
    expect(desk.row("archive").first).to_be_visible()
    header = desk.page.get_by_role("columnheader", name="Shards")
    header.get_by_role("button").click()
    wait_until(lambda: shown(desk)[-1:] == ["archive"], "the largest is last")
    expect(header).to_have_attribute("aria-sort", "ascending")
    header.get_by_role("button").click()
    wait_until(lambda: shown(desk)[:1] == ["archive"], "the largest is first")
    expect(header).to_have_attribute("aria-sort", "descending")


def test_several_jobs_are_disabled_and_enabled_at_once(desk: Desk, stage: Stage) -> None:
    desk.go("jobs")
    choose(desk, "archive", "on-request")
    desk.button("Disable").click()
    desk.confirm("Disable")
    expect_unchosen(desk, "archive", "on-request")
    expect(desk.row("archive").first).to_contain_text("Disabled")
    assert (status(stage, "archive"), status(stage, "on-request")) == ("DISABLED", "DISABLED")
    assert status(stage, "nightly-report") == "OK"
    choose(desk, "archive", "on-request")
    desk.button("Enable").click()
    desk.confirm("Enable")
    expect_unchosen(desk, "archive", "on-request")
    expect(desk.row("archive").first).to_contain_text("OK")
    assert status(stage, "on-request") == "OK"


def test_all_jobs_that_come_and_fit_are_triggered_and_shut_down_at_once_and_what_is_refused_is_told(
    desk: Desk, stage: Stage
) -> None:
    guests = ["guest-one", "guest-two"]
    desk.go("jobs?search=guest")
    expect(desk.page.get_by_text("No job fits")).to_be_visible()
    (visitor,) = stage.start(jobs=[{"name": name, "shards": 1} for name in guests])
    try:
        choose(desk, guests[0])
        desk.button("Select all 2").click()
        expect(desk.page.get_by_label(f"Select {guests[1]}", exact=True)).to_be_checked()
        desk.button("Trigger").click()
        desk.confirm("Trigger")
        wait_until(lambda: {each["job"] for each in known(desk)} >= set(guests), "both have run")
        expect_unchosen(desk, *guests)
        desk.page.get_by_label("Select all in sight").check()
        desk.button("Shut down").click()
        desk.confirm("Shut down")
        expect_unchosen(desk, *guests)
        assert [status(stage, name) for name in guests] == ["CRASHED", "CRASHED"]
        assert status(stage, "archive") == "OK"
        desk.page.get_by_label("Select all in sight").check()
        desk.button("Trigger").click()
        desk.confirm("Trigger")
        expect(desk.page.get_by_role("dialog")).to_contain_text("Refused for 2:")
        desk.page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
        desk.button("Clear selection").click()
        expect_unchosen(desk, *guests)
    finally:
        visitor.close()
        stage.replicas.remove(visitor)
        with stage.operator() as operator:
            for name in guests:
                operator.remove(name, force=True)


def test_while_something_is_done_to_many_jobs_no_others_can_be_chosen(desk: Desk) -> None:
    """What was chosen meanwhile would be forgotten with the rest."""
    held: list[Route] = []
    desk.go("jobs")
    choose(desk, "archive")
    desk.page.route("**/api/r/main/bulk", lambda route: held.append(route), times=1)
    desk.button("Enable").click()
    with desk.page.expect_request("**/api/r/main/bulk"):
        desk.confirm("Enable")
    other = desk.page.get_by_role("checkbox", name="Select on-request")
    expect(other).to_be_disabled()
    expect(desk.button("Enable")).to_be_disabled()
    held[0].continue_()
    expect(other).to_be_enabled()
    expect_unchosen(desk, "archive")


def test_a_change_made_elsewhere_is_seen_without_a_reload(desk: Desk, stage: Stage) -> None:
    desk.go("jobs")
    expect(desk.row("nightly-report").first).to_contain_text("OK")
    with stage.operator() as operator:
        operator.disable("nightly-report")
        expect(desk.row("nightly-report").first).to_contain_text("Disabled")
        operator.enable("nightly-report")
        expect(desk.row("nightly-report").first).to_contain_text("OK")


def test_an_answer_that_comes_after_a_change_and_was_read_before_it_does_not_stay(
    desk: Desk, stage: Stage
) -> None:
    late: list[tuple[Route, APIResponse]] = []
    desk.go("jobs")
    expect(desk.row("nightly-report").first).to_contain_text("OK")
    desk.page.route(
        "**/api/r/main/jobs?*search=*", lambda route: late.append((route, route.fetch())), times=1
    )
    desk.page.get_by_label("Search jobs").fill("nightly")
    disabled = desk.page.get_by_role("button", name="Disabled")
    wait_until(lambda: disabled.inner_text().startswith("0") and late, "the list is asked for")
    with stage.operator() as operator:
        operator.disable("nightly-report")
        expect(disabled).to_contain_text("1")
        for route, answer in late:
            route.fulfill(response=answer)
        expect(desk.row("nightly-report").first).to_contain_text("Disabled")
        operator.enable("nightly-report")
        expect(desk.row("nightly-report").first).to_contain_text("OK")
