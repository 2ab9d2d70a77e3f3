"""One job: its shards, its fires, its settings, its members, its past, and what can be done to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import expect

from shardwright.history.store import Store
from shardwright.ops import jobs, settings
from shardwright.registry import Create
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until
from tests.history.fires import a_run

pytestmark = [pytest.mark.slow]


def config(stage: Stage, job: str) -> Any:
    with stage.registry() as registry:
        return settings.get(registry, job)


def new_runs(desk: Desk, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What has come out well since; what is known of a job that runs when somebody asks."""
    known = {each["fire"] for each in before}
    return [each for each in runs(desk) if each["fire"] not in known and each["outcome"] == "ok"]


def runs(desk: Desk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.get("r/main/history?job=on-request&limit=500")["fires"]
    return found


def test_a_trigger_with_a_parameter_really_runs(desk: Desk) -> None:
    before = runs(desk)
    desk.go("jobs/on-request")
    desk.button("Trigger").click()
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Parameter").fill("a wish of ann's")
    desk.confirm("Trigger")
    expect(dialog).to_have_count(0)
    wait_until(lambda: len(new_runs(desk, before)) == 2, "both shards have run")
    fire = new_runs(desk, before)[0]["fire"].replace("#", "%23")
    desk.go(f"history?job=on-request&shard=0&fire={fire}")
    expect(dialog).to_contain_text("the job's parameter is a wish of ann's")
    expect(dialog).to_contain_text("somebody asked for it")


def test_one_shard_is_triggered_alone(desk: Desk) -> None:
    before = runs(desk)
    desk.go("jobs/on-request")
    desk.button("Trigger").click()
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Shards").fill("7")
    expect(dialog).to_contain_text("Name shards from 0 to 1")
    dialog.get_by_label("Shards").fill("1")
    desk.confirm("Trigger")
    wait_until(lambda: new_runs(desk, before), "it has run")
    assert [each["shard"] for each in new_runs(desk, before)] == [1]


def test_a_job_is_disabled_and_enabled(desk: Desk, stage: Stage) -> None:
    desk.go("jobs/archive")
    desk.button("Disable").click()
    desk.confirm("Disable")
    expect(desk.page.locator("h1 + .badge")).to_have_text("Disabled")
    with stage.registry() as registry:
        assert jobs.brief(registry, "archive").status.value == "DISABLED"
    desk.button("Enable").click()
    desk.confirm("Enable")
    expect(desk.page.locator("h1 + .badge")).to_have_text("OK")


def test_a_shard_is_chosen_by_its_number_disabled_and_enabled(desk: Desk, stage: Stage) -> None:
    desk.go("jobs/archive?shard=417")
    detail = desk.page.get_by_role("region", name="Shard 417")
    expect(detail).to_contain_text("10.0.0.")
    detail.get_by_role("button", name="Disable").click()
    desk.confirm("Disable")
    expect(detail).to_contain_text("Disabled")
    detail.get_by_role("button", name="Enable").click()
    expect(detail).to_contain_text("Pending")


def test_the_map_is_walked_by_arrow_keys(desk: Desk) -> None:
    desk.go("jobs/archive?shard=0")
    desk.page.get_by_role("application", name="Map of 600 shards").focus()
    desk.page.keyboard.press("ArrowRight")
    expect(desk.page.get_by_role("region", name="Shard 1", exact=True)).to_be_visible()
    desk.page.keyboard.press("End")
    expect(desk.page.get_by_role("region", name="Shard 599")).to_be_visible()


def test_a_fire_of_the_past_is_run_again_for_one_shard(desk: Desk) -> None:
    path = "r/main/history?job=send-invoices&shard=2&outcome=ok&limit=500"
    wait_until(lambda: desk.get(path)["fires"], "a fire")
    desk.go("jobs/send-invoices?shard=2")
    detail = desk.page.get_by_role("region", name="Shard 2")
    detail.get_by_role("button", name="Re-run last fire").click()
    desk.page.get_by_role("dialog").get_by_role("button").last.click()
    wait_until(lambda: [each for each in desk.get(path)["fires"] if len(each["attempts"]) > 1], "once more")


def test_the_timeline_shows_fires_by_shards(desk: Desk) -> None:
    wait_until(lambda: desk.get("r/main/history?job=index-photos&outcome=ok")["fires"], "a fire")
    desk.go("jobs/index-photos/timeline")
    expect(desk.page.get_by_role("application", name="Fires by shards")).to_be_visible()


def test_the_timeline_of_very_many_shards_is_paged_through(desk: Desk, stage: Stage) -> None:
    with Store(stage.history, trace=False) as store:
        at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
        store.write([a_run(item, job="archive", at=at) for item in range(600)])
    desk.go("jobs/archive/timeline")
    chart = desk.page.get_by_role("application", name="Fires by shards")
    expect(chart.get_by_text("199", exact=True)).to_be_visible()
    expect(desk.button("Shards before")).to_be_disabled()
    for first in (200, 400):
        desk.button("Shards after").click()
        expect(desk.page.get_by_text(f"Shards {first} to {first + 199}")).to_be_visible()
        expect(chart.get_by_text(str(first), exact=True)).to_be_visible()
        expect(chart.get_by_text(str(first - 1), exact=True)).to_have_count(0)
    expect(desk.button("Shards after")).to_be_disabled()
    desk.button("Shards before").click()
    expect(chart.get_by_text("399", exact=True)).to_be_visible()


def test_settings_that_make_no_sense_are_replaced(desk: Desk, stage: Stage) -> None:
    with stage.registry() as registry:
        registry.wait(registry.commit(Create(f"{registry.namespace}/broken/config", "nonsense")))
    try:
        desk.go("jobs/broken/settings")
        expect(desk.page.get_by_text("Give all of them anew here")).to_be_visible()
        desk.page.get_by_label("cron", exact=True).fill("0 0 4 * * ?")
        desk.page.get_by_label("shards", exact=True).fill("3")
        desk.button("Replace the settings").click()
        desk.confirm("Replace the settings")
        desk.wait_said("Settings replaced: broken")
        expect(desk.page.get_by_label("shards", exact=True)).to_have_value("3")
        expect(desk.page.get_by_text("Give all of them anew here")).to_have_count(0)
        found = config(stage, "broken").config
        assert (found.cron, found.shards) == ("0 0 4 * * ?", 3)
    finally:
        with stage.operator() as operator:
            operator.remove("broken")


def test_settings_are_changed_after_a_look_at_the_difference(desk: Desk, stage: Stage) -> None:
    desk.go("jobs/nightly-report/settings")
    desk.page.get_by_label("description", exact=True).fill("The report, as it should be")
    desk.button("Review").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("description")
    expect(dialog).to_contain_text("The report, as it should be")
    assert config(stage, "nightly-report").config.description != "The report, as it should be"
    desk.confirm("Save")
    desk.wait_said("The settings are saved.")
    assert config(stage, "nightly-report").config.description == "The report, as it should be"


def test_settings_that_somebody_else_saved_meanwhile_are_refused(desk: Desk, stage: Stage) -> None:
    desk.go("jobs/nightly-report/settings")
    desk.page.get_by_label("parameter", exact=True).fill("mine")
    desk.button("Review").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("mine")
    with stage.operator() as operator:
        operator.update("nightly-report", {"parameter": "theirs"})
    saving = dialog.get_by_role("button", name="Save")
    if saving.is_enabled():
        saving.click()
    expect(desk.page.get_by_role("alert").filter(has_text="meanwhile").first).to_be_visible()
    assert config(stage, "nightly-report").config.parameter == "theirs"


def test_a_schedule_is_told_in_words_with_its_fires_and_the_change_of_clocks(desk: Desk) -> None:
    desk.go("jobs/nightly-report/settings")
    expect(desk.page.get_by_text("Europe/Berlin").first).to_be_visible()
    expect(desk.page.get_by_text("02:30").first).to_be_visible()
    expect(desk.page.get_by_text("does not exist in Europe/Berlin").first).to_be_visible()


def test_a_schedule_that_makes_no_sense_is_refused_in_words(desk: Desk) -> None:
    desk.go("jobs/nightly-report/settings")
    desk.page.get_by_label("cron", exact=True).fill("every now and then")
    desk.button("Review").click()
    expect(desk.page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    expect(desk.page.get_by_role("dialog").get_by_role("button", name="Save")).to_be_disabled()


def test_an_instance_is_drained_and_let_work_again(desk: Desk) -> None:
    desk.go("jobs/archive/members")
    row = desk.page.get_by_role("row").filter(has_text="10.0.0.1@-@")
    row.get_by_role("button", name="Drain").click()
    desk.confirm("Drain")
    expect(row).to_contain_text("draining")
    row.get_by_role("button", name="Stop draining").click()
    expect(row).not_to_contain_text("draining")


def test_the_past_is_run_again_with_its_progress_told(desk: Desk) -> None:
    desk.go("jobs/nightly-report/past")
    form = desk.page.locator("form").filter(has_text="Backfill")
    form.get_by_label("From").fill("2026-10-01T00:00:00")
    form.get_by_label("To").fill("2026-10-04T00:00:00")
    form.get_by_role("button", name="Look what would run").click()
    expect(form.get_by_role("status")).to_contain_text("3 fires, 12 runs")
    form.get_by_role("button", name="Start 12 runs").click()
    desk.confirm("Start 12 runs")
    desk.wait_said("Backfill asked for: nightly-report, from ")
    path = "r/main/history?job=nightly-report&begin=2026-10-01T00:00:00Z&end=2026-10-04T00:00:00Z"
    wait_until(lambda: len(desk.get(path)["fires"]) == 12, "all of the past has run")
    expect(desk.page.get_by_text("Nothing is waiting.")).to_be_visible()


def test_what_would_move_is_shown_and_nothing_moves(desk: Desk, stage: Stage) -> None:
    with stage.registry() as registry:
        before = jobs.detail(registry, "archive").members
    desk.go("jobs/archive/preview")
    desk.page.get_by_label("Processes come").check()
    desk.button("Preview").click()
    expect(desk.page.get_by_text("of 600 shards would move").first).to_be_visible()
    with stage.registry() as registry:
        assert [each.owns for each in jobs.detail(registry, "archive").members] == [
            each.owns for each in before
        ]


def test_a_job_is_shut_down_and_removed(desk: Desk, stage: Stage) -> None:
    (lonely,) = stage.start(jobs=[{"name": "short-lived", "shards": 2}])
    desk.go("jobs/short-lived")
    desk.choose("More", "Shut down")
    desk.confirm("Shut down")
    expect(desk.page.locator("h1 + .badge")).to_have_text("Crashed")
    desk.choose("More", "Remove")
    desk.page.get_by_role("dialog").get_by_label("Type short-lived to confirm").fill("short-lived")
    desk.confirm("Remove")
    expect(desk.row("archive").first).to_be_visible()
    expect(desk.row("short-lived")).to_have_count(0)
    lonely.close()
    stage.replicas.remove(lonely)
