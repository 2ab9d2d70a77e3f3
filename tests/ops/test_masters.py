"""Who is the master of what, looked at from outside, and another one chosen by hand."""

import pytest

from shardwright import ServiceMaster
from shardwright.errors import OperationError
from shardwright.ops import masters
from shardwright.ops.audit import Action
from shardwright.ops.masters import Mastery
from shardwright.ops.operator import Operator
from shardwright.recipes.candidacy import ROOT
from shardwright.registry import Create, Delete, Write, connect
from tests.recipes.places import Place, until

from .races import just_before

ACCOUNT = "Account:1.0.0"


def candidate(place: Place, address: str) -> ServiceMaster:
    return ServiceMaster("Account", address=address, registry=place.door(), root=root(place))


def root(place: Place) -> str:
    return f"{place.root}/soa/master"


# Who it is


def test_a_service_is_told_with_its_master_and_all_who_would_be(place: Place) -> None:
    with candidate(place, "host:1") as first, connect(place.door()) as operator:
        assert first.wait(10)
        with candidate(place, "host:2"):
            known = Mastery(ACCOUNT, "host:1", first.token, ("host:1", "host:2"))
            assert masters.listing(operator, root=root(place)) == (known,)
            assert masters.show(operator, ACCOUNT, root=root(place)) == known


def test_a_service_whose_members_have_all_gone_is_not_told(place: Place) -> None:
    with candidate(place, "host:1") as only:
        assert only.wait(10)
    with connect(place.door()) as operator:
        assert masters.listing(operator, root=root(place)) == ()
        with pytest.raises(OperationError, match=r"nobody offers 'Account:1.0.0' .*; there is none at all"):
            masters.show(operator, ACCOUNT, root=root(place))


def test_a_master_that_announces_no_candidacy_is_told_all_the_same(place: Place) -> None:
    """One in another language does not."""
    place.write(Create(f"{root(place)}/services/{ACCOUNT}", "host:1"))
    with connect(place.door()) as operator:
        (found,) = masters.listing(operator, root=root(place))
    assert (found.master, found.candidates) == ("host:1", ())


# Another one


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

        def meanwhile(*writes: Write) -> None:
            place.write(Delete(chosen))

        just_before(operator, meanwhile, monkeypatch)
        with pytest.raises(OperationError, match=r"'host:1' could not be designated: .* try again"):
            masters.designate(operator, ACCOUNT, "host:1", root=root(place))
    found = place.read(node)
    assert found is not None
    assert found.data == "host:2"


def test_who_is_sent_away_is_followed_by_the_next_of_all_candidates(place: Place) -> None:
    first, second = candidate(place, "host:1"), candidate(place, "host:2")
    with first, connect(place.door()) as operator:
        assert first.wait(10)
        with second:
            assert masters.resign(operator, ACCOUNT, root=root(place)) == "host:2"
            assert second.wait(10)
            until(first, lambda: not first.is_master)
            assert masters.resign(operator, ACCOUNT, root=root(place)) == "host:1"
            assert first.wait(10)


def test_the_only_candidate_is_not_sent_away(place: Place) -> None:
    with candidate(place, "host:1") as only, connect(place.door()) as operator:
        assert only.wait(10)
        with pytest.raises(OperationError, match="nobody but 'host:1' would be the master"):
            masters.resign(operator, ACCOUNT, root=root(place))
        assert only.is_master


def test_where_nobody_is_master_nobody_is_sent_away(place: Place) -> None:
    place.write(Create(f"{root(place)}/candidates/{ACCOUNT}/host:1"))
    with (
        connect(place.door()) as operator,
        pytest.raises(OperationError, match="has no master at the moment"),
    ):
        masters.resign(operator, ACCOUNT, root=root(place))


def test_masters_that_an_operator_changes_are_told_to_the_audit_also_where_that_is_refused(
    place: Place,
) -> None:
    told: list[Action] = []
    with candidate(place, "host:1") as first, connect(place.door()) as registry:
        operator = Operator(registry, who="ann", audit=told.append)
        assert first.wait(10)
        with candidate(place, "host:2") as second:
            done = operator.designate(ACCOUNT, "host:2", root=root(place))
            assert second.wait(10)
            until(first, lambda: not first.is_master)
            assert operator.resign(ACCOUNT, root=root(place)).changed == (
                f"host:1 was designated as the master of {ACCOUNT}",
            )
            assert first.wait(10)
        target = ACCOUNT if root(place) == ROOT else f"{root(place)}/{ACCOUNT}"
        assert (done.what, done.target) == ("designate", target)
        with pytest.raises(OperationError, match="nobody is 'host:9'"):
            operator.designate(ACCOUNT, "host:9", root=root(place))
    assert [(each.who, each.what, each.target, each.detail) for each in told] == [
        ("ann", "designate", target, f"host:2 was designated as the master of {ACCOUNT}"),
        ("ann", "resign", target, f"host:1 was designated as the master of {ACCOUNT}"),
        ("ann", "designate", target, ""),
    ]
    assert [each.outcome == "done" for each in told] == [True, True, False]


# What is refused


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


def test_a_root_that_is_no_path_is_refused_in_words() -> None:
    with connect("memory://") as operator, pytest.raises(OperationError, match="must begin with a slash"):
        masters.listing(operator, root="soa/master")
