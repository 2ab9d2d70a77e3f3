"""Every action there is was done by somebody before a page: what the API takes, against what was asked for.

An action is a route that changes something, and each thing that can be said to it: a job is disabled as a
whole, on a server, in a shard. Each test's report carries what its pages asked for, so that it is counted
under xdist too. Where all browser tests were run and none failed, what nobody has done fails the run: the
test of an action was forgotten, or the action itself. For that `tests/conftest.py` names this module among
its plugins.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.processes import ROOT

TOLD = "steered"

#: The description of the API, of which `scripts/ui check` sees that it is the app's.
DESCRIPTION = Path(ROOT, "console-ui/openapi.json")

#: The files of all browser tests, as reports name them.
ALL = {str(file.relative_to(ROOT)) for file in Path(__file__).parent.glob("test_*.py")}

Asked = tuple[str, str, str]


def wanted(description: dict[str, Any]) -> set[str]:
    """All actions by name: the route, and the route with each thing that can be said."""
    return {
        name
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
        if method != "get"
        for name in _names(f"{method.upper()} {path}", _body(description, operation))
    }


def _body(description: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """The fields of what is sent."""
    if "requestBody" not in operation:
        return {}
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    fields: dict[str, Any] = description["components"]["schemas"][name]["properties"]
    return fields


def _names(route: str, fields: dict[str, Any]) -> Iterator[str]:
    yield route
    for field, schema in fields.items():
        if "enum" in schema:
            yield from (f"{route} {field}={value}" for value in schema["enum"])
        else:
            yield f"{route} {field}"


def done(description: dict[str, Any], asked: Iterable[Asked]) -> set[str]:
    """The actions that were asked for."""
    routes = {re.compile(re.sub(r"{[^}]+}", "[^/]+", path)): path for path in description["paths"]}
    found = set()
    for method, path, text in asked:
        for pattern, route in routes.items():
            if pattern.fullmatch(path):
                name = f"{method} {route}"
                said = json.loads(text or "{}")
                found |= {
                    name,
                    *(f"{name} {field}" for field, value in said.items() if value not in ("", None)),
                }
                found |= {f"{name} {field}={value}" for field, value in said.items()}
    return found


class Actions:
    """What was done by now in this run."""

    def __init__(self) -> None:
        self.asked: set[Asked] = set()
        self.files: set[str] = set()
        self.missing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == TOLD and isinstance(value, list):
                self.files.add(report.nodeid.partition("::")[0])
                self.asked |= {(str(method), str(path), str(text)) for method, path, text in value}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        some = session.config.option.keyword or any("::" in each for each in session.config.args)
        if some or session.testsfailed or not self.files >= ALL:
            return
        description = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
        self.missing = sorted(wanted(description) - done(description, self.asked))
        if self.missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.missing:
            terminalreporter.section("actions that no browser test does")
        for name in self.missing:
            terminalreporter.line(name)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a worker of xdist has but a part of it
        config.pluginmanager.register(Actions(), "browser actions")
