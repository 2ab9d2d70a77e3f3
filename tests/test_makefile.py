"""What `make` says it can do is what it can do."""

import re
import subprocess
from pathlib import Path

MAKEFILE = Path(__file__).parents[1] / "Makefile"


def test_make_alone_lists_every_target_with_a_line_about_it() -> None:
    told = subprocess.run(
        ["make", "--no-print-directory", "-f", MAKEFILE], capture_output=True, check=True, text=True
    ).stdout
    targets = re.findall(r"^([a-z][a-z-]*):", MAKEFILE.read_text(), re.MULTILINE)
    lines = [line.split(maxsplit=1) for line in told.splitlines()]
    assert [line[0] for line in lines] == targets
    assert all(len(line) == 2 for line in lines)


def test_every_target_is_phony() -> None:
    text = MAKEFILE.read_text()
    targets = re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE)
    assert re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE) == [" ".join(targets)]


def test_soak_sets_up_every_server_that_acceptance_tests_need() -> None:
    (parts,) = re.findall(r"^soak:.*\n\t@scripts/setup (.*)$", MAKEFILE.read_text(), re.MULTILINE)
    acceptance = "".join(path.read_text() for path in (MAKEFILE.parent / "tests/acceptance").glob("*.py"))
    needed = set(re.findall(r"pytest\.mark\.(zookeeper|postgresql|mariadb)\b", acceptance))
    assert needed == {"zookeeper", "postgresql", "mariadb"}
    assert needed <= set(parts.split())


def test_the_console_is_measured_with_its_page_and_others_need_no_node() -> None:
    for only, built in (("", True), ("console", True), ("cron", False)):
        would = f"make --no-print-directory -n -f {MAKEFILE} bench ONLY={only}".split()
        told = subprocess.run(would, capture_output=True, check=True, text=True).stdout.split()
        assert ("scripts/ui" in told, "node" in told) == (built, built), only
