"""The page before 10,000 jobs, and before a job of 10,000 shards: all of them are there to be reached, and no
more of them are in the page than one can see."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from shardwright import elasticjob
from shardwright.jobs import JobConfig
from shardwright.registry import Create, Landed, Registry, Write
from tests.console.browser.conftest import ADMIN, url_of
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage, wait_until
from tests.ops.bureau import PY, address, card

pytestmark = [pytest.mark.slow]

JOBS = SHARDS = 10_000

#: How many nodes are written at once.
AT_ONCE = 1000

#: More rows than a window of this height can show, with those beside it that are kept for scrolling.
ROWS = 80

#: For how many seconds it may read all of that before it tells of any.
READING = 120.0

#: More than a page of such rows is made of.
ELEMENTS = 3000


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """On SQLite alone, and without a process: what there is of jobs is written by hand."""
    folder: Path = tmp_path_factory.mktemp("many")
    with Stage(url_of("sqlite", folder, request), folder) as stage, stage.registry() as registry:
        fill(registry)
        yield stage


def fill(registry: Registry) -> None:
    where = registry.namespace
    large = f"{where}/all-shards"
    nodes: list[Write] = [
        Create(f"{large}/config", elasticjob.write_config(JobConfig(name="all-shards", shards=SHARDS))),
        Create(f"{large}/servers/{address(PY)}", "ENABLED"),
        Create(f"{large}/instances/{PY}", card(PY), ephemeral=True),
        *(Create(f"{large}/sharding/{item}/instance", PY) for item in range(SHARDS)),
    ]
    config = elasticjob.write_config(JobConfig(name="job-00000", cron="0 0 2 * * ?"))
    for name in (f"job-{number:05}" for number in range(JOBS)):
        nodes.append(Create(f"{where}/{name}/config", config.replace("job-00000", name)))
    for first in range(0, len(nodes), AT_ONCE):
        outcome = registry.wait(registry.commit(*nodes[first : first + AT_ONCE]), 60)
        assert isinstance(outcome, Landed), outcome


@pytest.fixture(scope="module")
def admin(stage: Stage, browser: Browser) -> Iterator[Desk]:
    with Desk(browser, stage.open_console()) as desk:
        desk.sign_in_first(*ADMIN)
        asked = f"{desk.url}/api/r/main/jobs?limit=1"
        wait_until(lambda: desk.context.request.get(asked, timeout=0).ok, "it has read all", READING)
        assert desk.get("r/main/jobs?limit=1")["total"] == JOBS + 1
        yield desk


def expect_little(desk: Desk) -> None:
    """Only what is in sight is in the page."""
    assert 0 < desk.page.locator("tbody tr").count() < ROWS
    assert desk.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS


def test_ten_thousand_jobs_are_walked_through_searched_and_opened(desk: Desk) -> None:
    desk.go("jobs")
    expect(desk.row("all-shards")).to_be_visible()
    expect(desk.page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(JOBS + 2))
    expect_little(desk)
    desk.row("all-shards").focus()
    desk.page.keyboard.press("End")
    expect(desk.row(f"job-{JOBS - 1:05}")).to_be_focused()
    expect_little(desk)
    scrolled = desk.page.locator(".vtable .scroll")
    scrolled.evaluate("element => { element.scrollTop = element.scrollHeight / 2 }")
    expect(desk.row(f"job-{JOBS // 2:05}")).to_be_visible()
    expect_little(desk)
    desk.page.get_by_label("Search jobs").fill("07777")
    expect(desk.page.locator("tbody tr")).to_have_count(1)
    desk.row("job-07777").get_by_role("link").click()
    expect(desk.page.get_by_role("heading", level=1)).to_contain_text("job-07777")


def test_ten_thousand_shards_are_mapped_and_walked_through(desk: Desk) -> None:
    last = SHARDS - 1
    desk.go("jobs/all-shards")
    chart = desk.page.get_by_role("application", name=f"Map of {SHARDS} shards")
    expect(chart.locator("canvas")).to_have_attribute("data-shards", str(SHARDS))
    expect(desk.page.locator("[data-member]")).to_contain_text("10,000 shards")
    table = desk.page.get_by_role("grid", name="All shards")
    expect(table.locator('tr[data-key="0"]')).to_contain_text(PY)
    expect_little(desk)
    chart.focus()
    desk.page.keyboard.press("ArrowRight")
    desk.page.keyboard.press("End")
    expect(desk.page.get_by_role("region", name=f"Shard {last}")).to_contain_text(PY)
    expect(table).to_have_attribute("aria-rowcount", str(SHARDS + 1))
    desk.page.locator(".vtable .scroll").evaluate("element => { element.scrollTop = element.scrollHeight }")
    expect(table.locator(f'tr[data-key="{last}"]')).to_contain_text(PY)
    expect_little(desk)
