"""Designating a master by hand."""

from concurrent.futures import Future

import pytest

from shardwright import ServiceMaster
from shardwright.errors import OperationError
from shardwright.ops import masters
from shardwright.registry import Create, Delete, Outcome, Write, connect
from tests.recipes.places import Place, until

ACCOUNT = "Account:1.0.0"


def candidate(place: Place, address: str) -> ServiceMaster:
    return ServiceMaster("Account", address=address, registry=place.door(), root=root(place))


def root(place: Place) -> str:
    return f"{place.root}/soa/master"


def test_a_candidate_that_is_designated_becomes_the_master(place: Place) -> None:
    first, second = candidate(place, "host:1"), candidate(place, "host:2")
    with first:
        assert first.wait(5)
        with second, connect(place.door()) as operator:
            masters.designate(operator, ACCOUNT, "host:2", root=root(place))
            assert second.wait(5)
            until(first, lambda: not first.is_master)


def test_an_address_that_nobody_has_is_refused_and_changes_nothing(place: Place) -> None:
    with candidate(place, "host:1") as master, connect(place.door()) as operator:
        assert master.wait(5)
        with pytest.raises(OperationError, match=r"nobody is 'host:9' .* its candidates are: host:1"):
            masters.designate(operator, ACCOUNT, "host:9", root=root(place))
        assert master.is_master


def test_a_service_that_nobody_knows_is_refused(place: Place) -> None:
    with connect(place.door()) as operator, pytest.raises(OperationError, match="candidates are: none"):
        masters.designate(operator, "Nothing:1", "host:1", root=root(place))


def test_a_service_without_a_master_is_refused(place: Place) -> None:
    place.write(Create(f"{root(place)}/candidates/{ACCOUNT}/host:1"))
    with (
        connect(place.door()) as operator,
        pytest.raises(OperationError, match="has no master at the moment"),
    ):
        masters.designate(operator, ACCOUNT, "host:1", root=root(place))


def test_a_candidate_that_goes_meanwhile_is_not_designated(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, chosen = f"{root(place)}/services/{ACCOUNT}", f"{root(place)}/candidates/{ACCOUNT}/host:1"
    place.write(Create(node, "host:2"), Create(chosen))
    with connect(place.door()) as operator:
        commit = operator.commit

        def too_late(*writes: Write) -> "Future[Outcome]":
            place.write(Delete(chosen))
            return commit(*writes)

        monkeypatch.setattr(operator, "commit", too_late)
        with pytest.raises(OperationError, match=r"'host:1' could not be designated: .* try again"):
            masters.designate(operator, ACCOUNT, "host:1", root=root(place))
    found = place.read(node)
    assert found is not None
    assert found.data == "host:2"


@pytest.mark.parametrize(
    ("service", "root", "why"),
    [
        ("Account", "/soa/master", "'Account' is a service without its version"),
        (ACCOUNT, "soa/master", "the path 'soa/master/services/Account:1.0.0' must begin with a slash"),
    ],
)
def test_what_cannot_be_a_master_is_refused_in_words(service: str, root: str, why: str) -> None:
    with connect("memory://") as operator, pytest.raises(OperationError, match=why):
        masters.designate(operator, service, "host:1", root=root)


def test_an_address_of_a_registry_is_none_that_is_open() -> None:
    with pytest.raises(OperationError, match=r"such as connect\(url\), not 'memory://'"):
        masters.designate("memory://", ACCOUNT, "host:1")  # type: ignore[arg-type]
