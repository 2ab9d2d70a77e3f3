"""Every page there is, and what shows that it has come."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import expect

from tests.console.browser.desk import Desk


@dataclass(frozen=True)
class Place:
    """A page: its name, how one gets there, and a text that it has when it is complete."""

    name: str
    path: str
    text: str
    of_a_registry: bool = True
    act: Callable[[Desk], None] = lambda desk: None

    def open(self, desk: Desk) -> None:
        if self.of_a_registry:
            desk.go(self.path.replace("{namespace}", namespace(desk)))
        else:
            desk.go_to(self.path)
        self.act(desk)
        desk.page.mouse.move(0, 0)  # where it was left something may tell of itself instead
        desk.page.get_by_text(self.text).first.wait_for()
        settle(desk)


def namespace(desk: Desk) -> str:
    """Where the jobs are in the registry."""
    return str(desk.get("r/main/tree")["path"])


def settle(desk: Desk) -> None:
    """Until nothing turns any more that says that it is being waited for."""
    expect(desk.page.locator(".spinner")).to_have_count(0)


def _preview(desk: Desk) -> None:
    desk.button("Preview").click()


def _run(desk: Desk) -> None:
    desk.row("send-invoices").first.click()


PAGES = (
    Place("fleet", "jobs", "nightly-report"),
    Place("job-shards", "jobs/index-photos?shard=0", "Re-run last fire"),
    Place("job-shards-many", "jobs/archive", "200 shards"),
    Place("job-timeline", "jobs/index-photos/timeline", "each column spans"),
    Place("job-settings", "jobs/nightly-report/settings", "Next fires (schedule"),
    Place("job-members", "jobs/index-photos/members", "Servers of this job"),
    Place("job-past", "jobs/nightly-report/past", "Nothing is waiting."),
    Place("job-preview", "jobs/archive/preview", "would move", act=_preview),
    Place("servers", "servers", "10.0.0.3"),
    Place("server", "servers/10.0.0.1", "Instances on this server"),
    Place("history", "history", "Fires by day"),
    Place("run", "history?job=send-invoices&outcome=failed", "Attempt 1", act=_run),
    Place("trace", "history?view=runs", "Nothing in ElasticJob's tables"),
    Place("recipes", "recipes", "everybody works"),
    Place("registry", "tree?path={namespace}/nightly-report/config", "jobName: nightly-report"),
    Place("audit", "audit", "ann (console)"),
    Place("doctor", "doctor", "What jobs take of the registry"),
    Place("users", "users", "Sessions", of_a_registry=False),
)
