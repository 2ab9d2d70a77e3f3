"""The contract would notice: a driver that does not look at versions breaks it, in the places named here."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .clusters import DRIVERS, driver
from .summary import SAY

__all__ = ["driver"]

ROOT = Path(__file__).parents[2]

#: The promises asked for, by words in their names; some of them rely on versions and some do not.
SOME = "version or together or guards or in_order"

RELY_ON_VERSIONS = {
    "a put lands only at the version it names",
    "a delete lands only at the version it names",
    "writes land together or not at all",
    "many commits under way each end by themselves and in order",
}


def ask(driver: str, plant: str) -> "subprocess.Popen[str]":
    """Ask a driver to keep some promises, in a process of its own, with or without a fault planted in it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    quietly = ["-q", "-rfEp", "--tb=no", "--show-capture=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *quietly, "-k", SOME, f"tests/registry/test_{driver}.py"],
        cwd=ROOT,
        env={**environment, "SHARDWRIGHT_PLANT": plant},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def promises(output: str, verdict: str) -> set[str]:
    """The promises that ended so, as sentences."""
    found = re.findall(rf"^{verdict} \S+::test_(\w+)", output, re.MULTILINE)
    return {name.replace("_", " ") for name in found}


@pytest.mark.slow
@pytest.mark.parametrize("driver", DRIVERS, indirect=True)
def test_a_driver_that_ignores_versions_breaks_the_promises_that_rely_on_them(
    driver: str, record_property: Callable[[str, object], None]
) -> None:
    with ask(driver, plant="versions") as planted, ask(driver, plant="") as sound:
        broken, whole = planted.communicate(timeout=150)[0], sound.communicate(timeout=150)[0]
    assert sound.returncode == 0, whole
    assert promises(whole, "FAILED") == set()
    assert promises(whole, "PASSED") > RELY_ON_VERSIONS
    assert planted.returncode == 1, broken
    assert promises(broken, "FAILED") >= RELY_ON_VERSIONS
    assert promises(broken, "ERROR") == set()
    caught = "; ".join(sorted(promises(broken, "FAILED")))
    record_property(SAY, f"versions ignored on purpose, {driver}: caught by {caught}")
