"""Where no ZooKeeper can be had, its tests are skipped with a line on how to get one; in CI they fail."""

import pytest

from tests import zookeeper_server as servers
from tests.conftest import require

HOW = "no ZooKeeper: run `make setup` as root, or have java and set ZOOKEEPER_CLASSPATH to ZooKeeper's jars"


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


def test_without_java_there_is_no_server() -> None:
    assert servers.missing() == HOW


def test_what_is_missing_skips_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=HOW):
        require(servers.missing())


def test_what_is_missing_in_ci_fails_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=HOW):
        require(servers.missing())


def test_what_is_there_lets_a_test_run() -> None:
    require(None)
