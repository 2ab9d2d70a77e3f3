"""Texts that strangers wrote: shown as they are wherever they come up, never run, and breaking no page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browser.conftest import ADMIN, url_of
from tests.console.browser.desk import Desk
from tests.console.browser.pages import settle
from tests.console.browser.service import XSS
from tests.console.browser.stage import Stage, wait_until

pytestmark = [pytest.mark.slow]

#: As names of jobs, without what a name may not have in it.
NAMES = [text.translate(str.maketrans("", "", "/@()[]{}+*?^$|\\"))[:90].strip() for text in XSS]


def the_jobs() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "cron": "0/5 * * * * ?",
            "shards": 2,
            "fails": [1],
            "parameter": text,
            "description": text,
            "items": {"0": text.translate(str.maketrans("", "", ",=")).strip()},
        }
        for name, text in zip(NAMES, XSS, strict=True)
        if name.isprintable()
    ]


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("strangers")
    with Stage(url_of("sqlite", folder, request), folder, the_jobs()) as stage:
        stage.start(1)
        yield stage


@pytest.fixture(scope="module")
def admin(stage: Stage, browser: Browser) -> Iterator[Desk]:
    with Desk(browser, stage.open_console()) as desk:
        desk.sign_in_first(*ADMIN)
        wait_until(lambda: len(desk.get("r/main/history?outcome=failed&limit=500")["fires"]) >= 9, "failures")
        yield desk


def part(name: str) -> str:
    """A name as the page writes it into its address."""
    return "".join(c if c.isalnum() or c in "_.-" or ord(c) > 127 else f"~{ord(c):02X}" for c in name)


def fits(desk: Desk) -> None:
    settle(desk)
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= 1280, "the page is torn apart"
    desk.check()


@pytest.mark.parametrize(
    "path", ["jobs", "servers", "servers/10.0.0.1", "history", "tree", "audit", "doctor", "recipes"]
)
def test_a_page_shows_them_and_runs_none(desk: Desk, path: str) -> None:
    desk.go(path)
    desk.page.get_by_role("heading", level=1).wait_for(state="attached")
    fits(desk)


@pytest.mark.parametrize("job", [each["name"] for each in the_jobs()])
def test_a_job_of_such_a_name_is_shown(desk: Desk, job: str) -> None:
    for tab in ("shards", "timeline", "settings", "members", "past", "preview"):
        desk.go(f"jobs/{part(job)}/{tab}")
        expect(desk.page.get_by_role("heading", level=1).filter(has_text=job[:60])).to_be_visible()
        expect(desk.page.locator(f'[data-tab="{tab}"]')).to_have_attribute("aria-selected", "true")
        fits(desk)


@pytest.mark.parametrize("job", [each["name"] for each in the_jobs()])
def test_a_log_with_such_lines_is_shown(desk: Desk, job: str) -> None:
    # The oldest: somebody else may have sent another parameter since.
    fire = desk.context.request.get(
        f"{desk.url}/api/r/main/history", params={"job": job, "outcome": "failed", "limit": 200}
    ).json()["fires"][-1]
    text = next(each["parameter"] for each in the_jobs() if each["name"] == job)
    desk.page.goto("about:blank")
    desk.go("history")
    desk.page.evaluate(
        "([job, fire, shard]) => { location.hash = '/r/main/history?' + "
        "new URLSearchParams({ job, fire, shard }) }",
        [job, fire["fire"], str(fire["shard"])],
    )
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("the batch is empty")
    expect(dialog).to_contain_text(f"the job's parameter is {text}")
    fits(desk)


def test_such_a_parameter_can_be_sent(desk: Desk) -> None:
    """By whoever triggers the job, but for what cannot be printed: it comes back in the log, and is run
    nowhere."""
    job = next(each["name"] for each in the_jobs())
    said = {"X-Shardwright-CSRF": desk.get("about")["session"]["csrf"], "Origin": desk.url}
    for text in XSS:
        sent = {"parameter": text}
        path = f"{desk.url}/api/r/main/jobs/{quote(job, safe='')}/trigger"
        answer = desk.context.request.post(path, data=sent, headers=said)
        assert answer.ok is text.isprintable(), answer.text()
    desk.go("audit")
    fits(desk)
