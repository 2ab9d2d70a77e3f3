"""Every page there is, and what shows that it has come."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import expect

from tests.console.browser.desk import Desk


@dataclass(frozen=True)
class Place:
    """A page: its name, how one gets there, and a text that it has when it is complete, which is another in
    Chinese where it is no name."""

    name: str
    path: str
    text: str
    chinese: str = ""
    of_a_registry: bool = True
    act: Callable[[Desk], None] = lambda desk: None

    def open(self, desk: Desk) -> None:
        if self.of_a_registry:
            desk.go(self.path.replace("{namespace}", namespace(desk)))
        else:
            desk.go_to(self.path)
        self.act(desk)
        desk.page.mouse.move(0, 0)  # where it was left something may tell of itself instead
        text = self.chinese if desk.speaks_chinese and self.chinese else self.text
        desk.page.get_by_text(text).first.wait_for()
        settle(desk)


def namespace(desk: Desk) -> str:
    """Where the jobs are in the registry."""
    return str(desk.get("r/main/tree")["path"])


def settle(desk: Desk) -> None:
    """Until nothing turns any more that says that it is being waited for."""
    expect(desk.page.locator(".spinner")).to_have_count(0)


def _preview(desk: Desk) -> None:
    desk.button("预演" if desk.speaks_chinese else "Preview").click()


def _run(desk: Desk) -> None:
    desk.row("send-invoices").first.click()


PAGES = (
    Place("fleet", "jobs", "nightly-report"),
    Place("job-shards", "jobs/index-photos?shard=0", "Re-run last fire", "重跑上次触发"),
    Place("job-shards-many", "jobs/archive", "200 shards", "200 个分片"),
    Place("job-timeline", "jobs/index-photos/timeline", "each column spans", "每列为应触发时间起"),
    Place("job-settings", "jobs/nightly-report/settings", "Next fires (schedule", "接下来的触发（调度时区"),
    Place("job-members", "jobs/index-photos/members", "Servers of this job", "此作业的服务器"),
    Place("job-past", "jobs/nightly-report/past", "Nothing is waiting.", "没有等待的运行。"),
    Place("job-preview", "jobs/archive/preview", "shards would move", "个会转移", act=_preview),
    Place("servers", "servers", "10.0.0.3"),
    Place("server", "servers/10.0.0.1", "Instances on this server", "该服务器上的实例"),
    Place("history", "history", "Fires by day", "每日触发"),
    Place("run", "history?job=send-invoices&outcome=failed", "Attempt 1", "第 1 次尝试", act=_run),
    Place(
        "trace",
        "history?view=runs",
        "Nothing in ElasticJob's tables",
        "ElasticJob 的表中没有符合筛选条件的记录",
    ),
    Place("recipes", "recipes", "everybody works", "全体工作"),
    Place("registry", "tree?path={namespace}/nightly-report/config", "jobName: nightly-report"),
    Place("audit", "audit", "ann (console)"),
    Place("doctor", "doctor", "What jobs take of the registry", "各作业占用的注册中心资源"),
    Place("users", "users", "Sessions", "会话", of_a_registry=False),
    Place("help", "help", "What is where", "页面一览"),
)
