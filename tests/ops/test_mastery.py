"""Who is the master of what, looked at from outside, and a master sent away by hand."""

import pytest

from shardwright import ServiceMaster
from shardwright.errors import OperationError
from shardwright.ops import mastery
from shardwright.ops.mastery import Mastery
from shardwright.registry import Create, connect
from tests.recipes.places import Place, until

ACCOUNT = "Account:1.0.0"


def candidate(place: Place, address: str) -> ServiceMaster:
    return ServiceMaster("Account", address=address, registry=place.door(), root=root(place))


def root(place: Place) -> str:
    return f"{place.root}/soa/master"


def test_a_service_is_told_with_its_master_and_all_who_would_be(place: Place) -> None:
    with candidate(place, "host:1") as first, connect(place.door()) as operator:
        assert first.wait(10)
        with candidate(place, "host:2"):
            known = Mastery(ACCOUNT, "host:1", first.token, ("host:1", "host:2"))
            assert mastery.listing(operator, root=root(place)) == (known,)
            assert mastery.show(operator, ACCOUNT, root=root(place)) == known


def test_a_service_whose_members_have_all_gone_is_not_told(place: Place) -> None:
    with candidate(place, "host:1") as only:
        assert only.wait(10)
    with connect(place.door()) as operator:
        assert mastery.listing(operator, root=root(place)) == ()
        with pytest.raises(OperationError, match=r"nobody offers 'Account:1.0.0' .*; there is none at all"):
            mastery.show(operator, ACCOUNT, root=root(place))


def test_a_master_that_announces_no_candidacy_is_told_all_the_same(place: Place) -> None:
    """One in another language does not."""
    place.write(Create(f"{root(place)}/services/{ACCOUNT}", "host:1"))
    with connect(place.door()) as operator:
        (found,) = mastery.listing(operator, root=root(place))
    assert (found.master, found.candidates) == ("host:1", ())


def test_who_is_sent_away_is_followed_by_the_next_of_all_candidates(place: Place) -> None:
    first, second = candidate(place, "host:1"), candidate(place, "host:2")
    with first, connect(place.door()) as operator:
        assert first.wait(10)
        with second:
            assert mastery.resign(operator, ACCOUNT, root=root(place)) == "host:2"
            assert second.wait(10)
            until(first, lambda: not first.is_master)
            assert mastery.resign(operator, ACCOUNT, root=root(place)) == "host:1"
            assert first.wait(10)


def test_the_only_candidate_is_not_sent_away(place: Place) -> None:
    with candidate(place, "host:1") as only, connect(place.door()) as operator:
        assert only.wait(10)
        with pytest.raises(OperationError, match="nobody but host:1 would be the master"):
            mastery.resign(operator, ACCOUNT, root=root(place))
        assert only.is_master


def test_where_nobody_is_master_nobody_is_sent_away(place: Place) -> None:
    place.write(Create(f"{root(place)}/candidates/{ACCOUNT}/host:1"))
    with (
        connect(place.door()) as operator,
        pytest.raises(OperationError, match="has no master at the moment"),
    ):
        mastery.resign(operator, ACCOUNT, root=root(place))


def test_a_root_that_is_no_path_is_refused_in_words() -> None:
    with connect("memory://") as operator, pytest.raises(OperationError, match="must begin with a slash"):
        mastery.listing(operator, root="soa/master")
