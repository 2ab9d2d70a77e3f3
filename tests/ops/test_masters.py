"""Designating a master by hand."""

import pytest

from shardwright import ServiceMaster
from shardwright.errors import OperationError
from shardwright.ops import masters
from shardwright.registry import connect

SERVICE = "Account:1.0.0"


def test_a_candidate_that_is_designated_becomes_the_master() -> None:
    url = "memory://designated"
    first, second = (ServiceMaster("Account", address=f"host:{port}", registry=url) for port in (1, 2))
    with first, second, connect(url) as operator:
        assert first.wait(5)
        masters.designate(operator, SERVICE, "host:2")
        assert second.wait(5)
        assert first.token is None


def test_an_address_that_nobody_has_is_refused_and_changes_nothing() -> None:
    url = "memory://refused"
    with ServiceMaster("Account", address="host:1", registry=url) as master, connect(url) as operator:
        assert master.wait(5)
        with pytest.raises(OperationError, match=r"nobody is 'host:9' .* its candidates are: host:1"):
            masters.designate(operator, SERVICE, "host:9")
        assert master.is_master


def test_a_service_that_nobody_knows_is_refused() -> None:
    with connect("memory://unknown") as operator, pytest.raises(OperationError, match="candidates are: none"):
        masters.designate(operator, "Nothing:1", "host:1")
