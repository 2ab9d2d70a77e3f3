"""What the registry's tests tell at the end of a run: how much was done to each driver.

A test says its sentence by `record_property(SAY, sentence)`. Properties travel with the reports: under xdist
too it is told, if `tests/conftest.py` names this module among its plugins.
"""

import pytest

SAY = "registry"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    said = [
        str(sentence)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, sentence in report.user_properties
        if name == SAY
    ]
    if said:
        terminalreporter.section("registry")
    for sentence in sorted(said):
        terminalreporter.line(sentence)
