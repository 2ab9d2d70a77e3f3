"""What the scenarios share: a job of their own, on one server. At the end a table says how each went, and
with which version of ElasticJob."""

import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.zookeeper_server import Server

from . import job as jobs
from .job import Job


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes: dict[str, dict[str, str]] = defaultdict(dict)
    shared_out: set[tuple[str, str]] = set()
    for report in _reports(terminalreporter):
        scenario, version = _told_apart(report.nodeid)
        if not version:
            continue
        outcomes[scenario][version] = f"{report.outcome} {report.duration:.0f} s"
        shared_out.update((who, f"{told} ({version})") for who, told in report.user_properties)
    if not outcomes:
        return
    terminalreporter.section("scenarios, by version of ElasticJob")
    width = max(map(len, outcomes))
    terminalreporter.write_line("  ".join(["".ljust(width), *(each.ljust(12) for each in jobs.VERSIONS)]))
    for scenario, by_version in sorted(outcomes.items()):
        cells = [by_version.get(each, "-").ljust(12) for each in jobs.VERSIONS]
        terminalreporter.write_line("  ".join([scenario.ljust(width), *cells]))
    for who, told in sorted(shared_out):
        terminalreporter.write_line(f"{who}: {told}")


def _reports(terminal: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    for kind in ("passed", "failed", "error"):
        for report in terminal.stats.get(kind, []):
            if report.when == "call" or kind != "passed":
                yield report


def _told_apart(node: str) -> tuple[str, str]:
    """A scenario in words, and the version it was played with."""
    name, _, parameters = node.partition("::")[2].partition("[")
    told = parameters.rstrip("]").split("-")
    version = next((each for each in told if each in jobs.VERSIONS), "")
    words = re.sub("_", " ", name.removeprefix("test_"))
    more = ", ".join(each for each in told if each not in ("", version))
    return f"{words} ({more})" if more else words, version


@pytest.fixture(params=jobs.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Of ElasticJob; each scenario is played with all of them."""
    chosen = str(request.param)
    require(jobs.missing(chosen))
    return chosen


@pytest.fixture
def job(zookeeper: Server, tmp_path: Path, version: str, request: pytest.FixtureRequest) -> Iterator[Job]:
    """At its end it is asked what is asked of every scenario, unless the scenario went wrong already."""
    before = request.session.testsfailed
    with Job(zookeeper, tmp_path, f"interop-{uuid.uuid4().hex[:8]}", version) as shared:
        yield shared
        shared.failed = request.session.testsfailed > before
