"""One job: its shards, its fires, its settings, its members, its past, and what can be done to it."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from shardwright.history.store import Store
from shardwright.ops import jobs, settings
from shardwright.registry import Create, Delete
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until
from tests.history.fires import a_run
from tests.ops.bureau import JAVA, JAVA2, Bureau, address

pytestmark = [pytest.mark.slow]
BERLIN = ZoneInfo("Europe/Berlin")
OURS_NOT = "java-ledger"


#: A job as ElasticJob writes it, with something in it that is none of ours.
OF_JAVA = """cron: 0 0 4 * * ?
description: A job of the Java house
disabled: false
failover: true
jobExtraConfigurations: []
jobListenerTypes:
- theirListener
jobName: java-ledger
jobParameter: ''
label: theirs
maxTimeDiffSeconds: -1
misfire: true
monitorExecution: true
overwrite: false
reconcileIntervalMinutes: 10
shardingItemParameters: 0=Beijing,1=Shanghai
shardingTotalCount: 400
staticSharding: false
"""


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


def test_a_shard_is_run_now_from_its_details(desk: Desk) -> None:
    before = runs(desk)
    desk.go("jobs/on-request?shard=1")
    desk.page.get_by_role("region", name="Shard 1").get_by_role("button", name="Run now").click()
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
    preview = desk.page.get_by_role("region", name="When it fires")
    expect(preview).to_contain_text("At 02:30")
    expect(preview).to_contain_text("does not exist in Europe/Berlin")
    expect(preview.get_by_role("list").last.get_by_role("listitem")).to_have_count(10)
    desk.page.get_by_label("cron", exact=True).fill("0 0 9 ? * MON-FRI")
    expect(preview).to_contain_text("At 09:00, Monday through Friday")
    fires = preview.get_by_role("list").last.locator("time")
    moments = {datetime.fromisoformat(str(each.get_attribute("datetime"))) for each in fires.all()}
    assert len(moments) == 10
    assert {(at.astimezone(BERLIN).hour, at.astimezone(BERLIN).minute) for at in moments} == {(9, 0)}
    assert {at.astimezone(BERLIN).isoweekday() for at in moments} == {1, 2, 3, 4, 5}


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


def test_a_job_is_disabled_on_one_of_its_servers_and_enabled_there(desk: Desk, stage: Stage) -> None:
    def states() -> dict[str, str]:
        with stage.registry() as registry:
            return {each.address: each.state for each in jobs.detail(registry, "archive").servers}

    others = states()
    desk.go("jobs/archive/members")
    row = desk.page.get_by_role("row").filter(
        has=desk.page.get_by_role("rowheader", name="10.0.0.2", exact=True)
    )
    row.get_by_role("button", name="Disable").click()
    desk.confirm("Disable")
    expect(row).to_contain_text("disabled")
    assert states() == {**others, "10.0.0.2": "DISABLED"}
    row.get_by_role("button", name="Enable").click()
    expect(row).to_contain_text("enabled")
    assert states() == {**others, "10.0.0.2": "ENABLED"}


def test_one_fire_that_is_over_is_run_once_more_for_the_shards_that_are_named(desk: Desk) -> None:
    def told() -> dict[tuple[str, str], dict[int, int]]:
        """How often each shard of each fire was run, as far as that is over."""
        fires: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for each in desk.get("r/main/history?job=send-invoices&limit=500")["fires"]:
            if each["outcome"]:
                fires[each["fire"], each["due"]][each["shard"]] = len(each["attempts"])
        return fires

    def whole() -> list[tuple[str, str]]:
        return [fire for fire, shards in told().items() if len(shards) == 3]

    wait_until(whole, "a fire that is over")
    fire, due = whole()[0]

    def attempts() -> dict[int, int]:
        return told()[fire, due]

    before = attempts()
    desk.go("jobs/send-invoices/past")
    form = desk.page.locator("form").filter(has_text="Run one fire once more")
    form.get_by_label("Recent fires").select_option(due)
    form.get_by_label("Shards").fill("0")
    form.get_by_role("button", name="Run", exact=True).click()
    wait_until(lambda: attempts() != before, "once more")
    assert attempts() == {**before, 0: before[0] + 1}


def test_the_past_is_run_again_with_its_progress_told(desk: Desk) -> None:
    desk.go("jobs/nightly-report/past")
    form = desk.page.locator("form").filter(has_text="Backfill")
    form.get_by_label("From").fill("2026-10-01T00:00:00")
    form.get_by_label("To").fill("2026-10-04T00:00:00")
    form.get_by_role("button", name="Look what would run").click()
    expect(form.get_by_role("status")).to_contain_text("3 fires, 12 runs")
    form.get_by_label("Shards").fill("0-1,3")
    form.get_by_role("button", name="Look what would run").click()
    expect(form.get_by_role("status")).to_contain_text("3 fires, 9 runs")
    form.get_by_role("button", name="Start 9 runs").click()
    desk.confirm("Start 9 runs")
    desk.wait_said("Backfill asked for: nightly-report, from ")
    path = "r/main/history?job=nightly-report&begin=2026-10-01T00:00:00Z&end=2026-10-04T00:00:00Z"
    wait_until(lambda: len(desk.get(path)["fires"]) == 9, "all of the past has run")
    assert {each["shard"] for each in desk.get(path)["fires"]} == {0, 1, 3}
    expect(desk.page.get_by_text("Nothing is waiting.")).to_be_visible()


def would_be(desk: Desk) -> dict[str, tuple[str, str]]:
    """What everybody has now, and what they would have, as it is told."""
    rows = desk.page.get_by_role("table").first.get_by_role("row")
    cells = [row.get_by_role("cell").all_inner_texts() for row in rows.all()[1:]]
    names = desk.page.get_by_role("table").first.get_by_role("rowheader").all_inner_texts()
    return {name: (now, later) for name, (now, later, *_) in zip(names, cells, strict=True)}


def test_what_would_move_is_shown_and_nothing_moves(desk: Desk, stage: Stage) -> None:
    with stage.registry() as registry:
        before = jobs.detail(registry, "archive").members
    who = sorted(each.id for each in before)
    desk.go("jobs/archive/preview")
    told = desk.page.get_by_role("status").filter(has_text="would move")
    desk.page.get_by_label("Somebody leaves").check()
    desk.page.get_by_label("Process", exact=True).select_option(who[1])
    desk.button("Preview").click()
    expect(told).to_contain_text("of 600 shards would move")
    assert would_be(desk) == {who[0]: ("200", "300"), who[1]: ("200", "0"), who[2]: ("200", "300")}
    desk.page.get_by_label("Processes come").check()
    desk.page.get_by_label("How many").fill("3")
    desk.button("Preview").click()
    expect(desk.page.get_by_role("table").first.get_by_role("row")).to_have_count(7)
    assert sorted(would_be(desk).values()) == [("0", "100")] * 3 + [("200", "100")] * 3
    desk.page.get_by_label("Another number of shards").check()
    desk.page.get_by_role("spinbutton", name="Another number of shards").fill("900")
    desk.button("Preview").click()
    expect(told).to_contain_text("of 900 shards would move")
    assert would_be(desk) == dict.fromkeys(who, ("200", "300"))
    with stage.registry() as registry:
        assert [each.owns for each in jobs.detail(registry, "archive").members] == [
            each.owns for each in before
        ]


def test_one_process_of_a_job_is_shut_down_then_all_and_it_is_removed(desk: Desk, stage: Stage) -> None:
    first, second = stage.start(2, jobs=[{"name": "short-lived", "shards": 2}])

    def members() -> list[str]:
        with stage.registry() as registry:
            return [each.server for each in jobs.detail(registry, "short-lived").members]

    desk.go("jobs/short-lived/members")
    row = desk.page.get_by_role("row").filter(has_text=f"{first.address}@-@")
    row.get_by_role("button", name="Shut down").click()
    desk.confirm("Shut down")
    expect(row).to_have_count(0)
    assert members() == [second.address]
    desk.choose("More", "Shut down")
    desk.confirm("Shut down")
    expect(desk.page.locator("h1 + .badge")).to_have_text("Crashed")
    assert members() == []
    desk.choose("More", "Remove")
    desk.page.get_by_role("dialog").get_by_label("Type short-lived to confirm").fill("short-lived")
    desk.confirm("Remove")
    expect(desk.row("archive").first).to_be_visible()
    expect(desk.row("short-lived")).to_have_count(0)
    with stage.registry() as registry:
        assert "short-lived" not in [each.name for each in jobs.listing(registry)]
    for each in (first, second):
        each.close()
        stage.replicas.remove(each)


# ElasticJob's own jobs: nobody of ours is in them, and its nodes are all there is of them


@pytest.fixture
def java(stage: Stage) -> Iterator[Bureau]:
    """A registry in which two Java processes have a job, written by hand as they do it."""
    with Bureau(stage.url.partition("?")[0]) as bureau:
        bureau.job(OF_JAVA, JAVA, JAVA2, job=OURS_NOT)
        for first in range(0, 400, 100):
            items = range(first, first + 100)
            bureau.put({f"sharding/{item}/instance": JAVA for item in items}, OURS_NOT)
        yield bureau
        bureau.operator.remove(OURS_NOT, force=True)


def picture(desk: Desk) -> str:
    """The map of shards as it is painted."""
    return str(desk.page.locator("canvas").evaluate("canvas => canvas.toDataURL()"))


def test_the_map_marks_what_runs_what_was_failed_over_and_what_is_disabled(desk: Desk, java: Bureau) -> None:
    desk.go(f"jobs/{OURS_NOT}?shard=7")
    detail = desk.page.get_by_role("region", name="Shard 7")
    expect(detail).to_contain_text("Pending")
    desk.page.get_by_role("heading", name="Shard map").hover()
    seen = {"nothing": picture(desk)}
    for name, node, told in (
        ("runs", "running", f"on {JAVA2}"),
        ("failed over", "failover", "taken over from one that died"),
        ("disabled", "disabled", "Disabled"),
    ):
        java.put({f"sharding/7/{node}": "" if node == "disabled" else JAVA2}, OURS_NOT)
        expect(detail).to_contain_text(told)
        wait_until(lambda: picture(desk) not in seen.values(), f"the map shows that it {name}")
        seen[name] = picture(desk)
        java.land(Delete(java.path(f"sharding/7/{node}", OURS_NOT)))
        expect(detail).not_to_contain_text(told)
        wait_until(lambda: picture(desk) == seen["nothing"], "the map is as it was")


def test_a_job_of_elasticjobs_own_is_shown_and_steered(desk: Desk, java: Bureau) -> None:
    desk.go("jobs")
    row = desk.row(OURS_NOT).first
    expect(row.get_by_text("Java", exact=True)).to_be_visible()
    expect(row).to_contain_text("0 0 4 * * ?")
    row.get_by_role("link").click()
    expect(desk.page.get_by_text("Only Java processes are in this job").first).to_be_visible()
    desk.button("Trigger").click()
    desk.confirm("Trigger")
    wait_until(lambda: sorted(java.names("trigger", OURS_NOT)) == sorted([JAVA, JAVA2]), "both are told")
    desk.go(f"jobs/{OURS_NOT}?shard=1")
    detail = desk.page.get_by_role("region", name="Shard 1", exact=True)
    expect(detail).to_contain_text("Shanghai")
    detail.get_by_role("button", name="Disable").click()
    desk.confirm("Disable")
    expect(detail).to_contain_text("Disabled")
    assert java.read("sharding/1/disabled", OURS_NOT) == ""
    desk.button("Disable").first.click()
    desk.confirm("Disable")
    expect(desk.page.locator("h1 + .badge")).to_have_text("Disabled")
    assert {java.read(f"servers/{address(who)}", OURS_NOT) for who in (JAVA, JAVA2)} == {"DISABLED"}
    desk.go(f"jobs/{OURS_NOT}/settings")
    desk.page.get_by_label("shards", exact=True).fill("3")
    desk.button("Review").click()
    desk.confirm("Save")
    desk.wait_said("The settings are saved.")
    written = str(java.read("config", OURS_NOT))
    assert "shardingTotalCount: 3\n" in written
    assert "label: theirs\n" in written
    assert "- theirListener\n" in written
    desk.go(f"jobs/{OURS_NOT}/members")
    member = desk.page.get_by_role("row").filter(has_text=JAVA2)
    expect(member.get_by_role("button", name="Drain")).to_be_disabled()
    member.get_by_role("button", name="Shut down").click()
    desk.confirm("Shut down")
    expect(member).to_have_count(0)
    assert java.names("instances", OURS_NOT) == (JAVA,)
