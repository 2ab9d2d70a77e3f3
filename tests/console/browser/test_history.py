"""History: the ledger and its filters, one run with its log and why, and running it again."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import expect

from shardwright.history.ledger import Entry, Try
from shardwright.history.store import Store
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until
from tests.history.fires import T, a_key, a_run, after, an_attempt
from tests.history.java import a_java_run, a_java_state

pytestmark = [pytest.mark.slow]


def fires(desk: Desk, **asked: object) -> list[dict[str, Any]]:
    query = "&".join(f"{key}={value}" for key, value in asked.items())
    found: list[dict[str, Any]] = desk.get(f"r/main/history?{query}")["fires"]
    return found


def wait_for_fires(desk: Desk, **asked: object) -> dict[str, Any]:
    wait_until(lambda: fires(desk, **asked), f"a fire with {asked}")
    return fires(desk, **asked)[0]


def test_the_ledger_shows_what_became_of_every_shard(desk: Desk) -> None:
    wait_for_fires(desk, job="send-invoices", outcome="failed")
    desk.go("history?job=send-invoices")
    expect(desk.row("send-invoices").filter(has_text="failed").first).to_be_visible()
    expect(desk.row("send-invoices").filter(has_text="ok").first).to_be_visible()
    expect(desk.row("index-photos")).to_have_count(0)


def test_filters_are_kept_in_the_address(desk: Desk) -> None:
    wait_for_fires(desk, job="send-invoices", outcome="failed")
    desk.go("history")
    desk.page.get_by_label("Outcome", exact=True).select_option("failed")
    desk.page.get_by_label("Shard", exact=True).fill("1")
    desk.page.get_by_label("Job", exact=True).fill("send-invoices")
    expect(desk.page).to_have_url(re.compile(r"job=send-invoices"))
    expect(desk.row("send-invoices").filter(has_text="failed").first).to_be_visible()
    expect(desk.row("index-photos")).to_have_count(0)
    desk.page.reload()
    expect(desk.page.get_by_label("Outcome", exact=True)).to_have_value("failed")
    expect(desk.page.get_by_label("Shard", exact=True)).to_have_value("1")
    expect(desk.row("send-invoices").filter(has_text="failed").first).to_be_visible()
    desk.button("Clear filters").click()
    expect(desk.row("index-photos").first).to_be_visible()


def test_what_one_server_or_process_ran_is_shown_alone(desk: Desk, stage: Stage) -> None:
    first, second = (replica.address for replica in stage.replicas[:2])
    one = wait_for_fires(desk, job="index-photos", server=first)
    wait_for_fires(desk, job="index-photos", server=second)
    desk.go("history?job=index-photos")
    expect(desk.row(f"{second}@-@").first).to_be_visible()
    field = desk.page.get_by_label("Server or process", exact=True)
    field.fill(first)
    expect(desk.row(f"{second}@-@")).to_have_count(0)
    expect(desk.row(f"{first}@-@").first).to_be_visible()
    desk.page.reload()
    expect(field).to_have_value(first)
    field.fill(one["process"])
    expect(desk.row(one["process"]).first).to_be_visible()
    desk.button("Clear filters").click()
    expect(field).to_have_value("")


def test_nothing_is_shown_where_nothing_was(desk: Desk) -> None:
    wait_for_fires(desk)
    desk.go("history?begin=2001-01-01T00:00:00.000Z&end=2001-02-01T00:00:00.000Z")
    expect(desk.page.get_by_text("Nothing is known of any fire")).to_be_visible()


def test_one_run_is_shown_with_its_attempts_its_log_and_why(desk: Desk) -> None:
    wait_for_fires(desk, job="send-invoices", outcome="failed")
    desk.go("history?job=send-invoices&outcome=failed")
    desk.row("send-invoices").filter(has_text="failed").first.click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 of 3 shards came out well")
    expect(dialog).to_contain_text("Attempt 1")
    expect(dialog).to_contain_text("RuntimeError: the batch is empty")
    expect(dialog).to_contain_text("no photograph in this batch")
    desk.page.reload()
    expect(dialog).to_contain_text("the batch is empty")
    desk.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_tries_that_another_followed_are_shown_with_why_each_failed(desk: Desk, stage: Stage) -> None:
    tries = tuple(
        Try(number, T, after(number), "failed", f"ConnectionError: no. {number}") for number in (1, 2)
    )
    attempt = replace(an_attempt(ended=5, outcome="ok"), tries=tries)
    with Store(stage.history) as store:
        store.write([Entry(a_key(job="flaky"), T, (attempt,))])
    desk.go("history?job=flaky")
    desk.row("flaky").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("failed (ConnectionError: no. 1) at try 1")
    expect(dialog.locator("pre.lines").filter(has_text="no. 2")).to_be_hidden()
    dialog.locator("summary").filter(has_text="Try 2").click()
    expect(dialog.locator("pre.lines").filter(has_text="no. 2")).to_be_visible()
    expect(dialog).to_contain_text("its time had come")


def test_one_shard_is_run_again(desk: Desk) -> None:
    past = wait_for_fires(desk, job="send-invoices", shard=0, outcome="ok")
    desk.go(f"history?job=send-invoices&shard=0&fire={past['fire'].replace('+', '%2B')}")
    desk.button("Run this shard again").click()
    desk.page.get_by_role("dialog", name="Run shard 0").get_by_role(
        "button", name="Run this shard again"
    ).click()

    def again() -> bool:
        one = next(
            each
            for each in fires(desk, job="send-invoices", shard=0, limit=500)
            if each["fire"] == past["fire"]
        )
        return len(one["attempts"]) > len(past["attempts"])

    wait_until(again, "the shard has run once more for that fire")
    expect(desk.page.get_by_role("dialog")).to_contain_text("Attempt 2")


def test_a_whole_fire_is_run_again(desk: Desk) -> None:
    past = wait_for_fires(desk, job="send-invoices", shard=0, outcome="ok")

    def attempts() -> dict[int, int]:
        known = fires(desk, job="send-invoices", limit=500)
        return {each["shard"]: len(each["attempts"]) for each in known if each["fire"] == past["fire"]}

    wait_until(lambda: len(attempts()) == 3, "all its shards are known")
    again = {shard: count + 1 for shard, count in attempts().items()}
    desk.go(f"history?job=send-invoices&shard=0&fire={past['fire'].replace('+', '%2B')}")
    desk.button("Run the whole fire again").click()
    desk.page.get_by_role("dialog", name="Run all shards").get_by_role(
        "button", name="Run the whole fire again"
    ).click()
    wait_until(lambda: attempts() == again, "each shard has run once more for it")


def test_what_java_members_wrote_into_elasticjobs_tables_is_shown(desk: Desk, stage: Stage) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    with Store(stage.history, trace=True) as store:
        a_java_run(store, 0, job="java-job", began=now)
        a_java_run(
            store,
            1,
            job="java-job",
            success=False,
            failure="java.lang.Error: <b>out of ink</b>, password=s3cret-s3cret\n\tat Printer.print",
            began=now - timedelta(minutes=1),
        )
        a_java_state(store, 2, "TASK_ERROR", job="java-job", message="{1=out of ink}")
        a_java_state(store, 3, "TASK_FINISHED", job="java-job")
    desk.go("history")
    desk.button("ElasticJob's trace").click()
    expect(desk.row("java-job")).to_have_count(2)
    expect(desk.row("java-job").first).to_contain_text("ok")
    desk.page.get_by_label("Outcome", exact=True).select_option("false")
    expect(desk.row("java-job")).to_have_count(1)
    desk.page.reload()
    desk.row("java-job").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("<b>out of ink</b>, password=***")
    expect(dialog).to_contain_text("at Printer.print")
    expect(dialog).to_contain_text("10.0.0.9")
    desk.page.keyboard.press("Escape")
    desk.page.get_by_label("Server", exact=True).fill("10.0.0.8")
    expect(desk.page.get_by_text("Nothing in ElasticJob's tables")).to_be_visible()
    desk.button("ElasticJob's states").click()
    expect(desk.row("java-job")).to_have_count(2)
    desk.page.get_by_label("State", exact=True).select_option("TASK_ERROR")
    expect(desk.row("java-job")).to_have_count(1)
    expect(desk.row("java-job")).to_contain_text("{1=out of ink}")
    desk.button("Fires").click()
    expect(desk.page.get_by_role("img", name="Fires by day")).to_be_visible()


def test_more_is_read_as_one_scrolls(desk: Desk, stage: Stage) -> None:
    before = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    with Store(stage.history, trace=True) as store:
        store.write([a_run(item, job="many-shards", at=before) for item in range(150)])
    desk.go("history?job=many-shards")
    expect(desk.page.get_by_text("100 shown")).to_be_visible()
    grid = desk.page.get_by_role("grid")
    grid.get_by_role("row").nth(1).focus()
    desk.page.keyboard.press("End")
    expect(desk.page.get_by_text("150 shown")).to_be_visible()


def test_days_are_counted_as_bars_and_as_a_table(desk: Desk) -> None:
    wait_for_fires(desk, outcome="ok")
    desk.go("history")
    expect(desk.page.get_by_role("img", name="Fires by day")).to_be_visible()
    desk.page.get_by_text("As a table").click()
    expect(desk.page.get_by_role("columnheader", name="Came out well")).to_be_visible()
