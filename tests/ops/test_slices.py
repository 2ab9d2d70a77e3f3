"""Who has which slice, looked at from outside."""

import pytest

from shardwright import DynamicSharding
from shardwright.errors import OperationError
from shardwright.ops import slices
from shardwright.recipes import slicing
from shardwright.registry import Create, connect
from tests.recipes.places import Place, until


def name(place: Place) -> str:
    return f"{place.root}/pages"


def taker(place: Place, address: str) -> DynamicSharding:
    return DynamicSharding(name(place), registry=place.door(), address=address)


def test_slices_are_told_with_their_holders_and_their_epoch(place: Place) -> None:
    with taker(place, "10.0.0.1") as first, taker(place, "10.0.0.2"), connect(place.door()) as operator:
        until(first, lambda: first.slice is not None and first.slice.total == 2)
        found = slices.show(operator, name(place))
        assert first.slice is not None
        assert (found.epoch, found.resharding, found.waiting) == (first.slice.epoch, False, ())
        assert sorted((who or "").partition("@-@")[0] for who in found.holders) == ["10.0.0.1", "10.0.0.2"]
        assert found.leader in found.holders


def test_who_has_come_and_has_no_slice_yet_waits(place: Place) -> None:
    root = f"/{name(place).strip('/')}"
    who = "10.0.0.1@-@someone"
    place.write(
        Create(f"{root}/{slicing.INSTANCES}/{who}", slicing.card(who)),
        Create(f"{root}/{slicing.NECESSARY}"),
        Create(f"{root}/{slicing.holder(0)}", "10.0.0.9@-@gone"),
    )
    with connect(place.door()) as operator:
        found = slices.show(operator, name(place))
    assert (found.resharding, found.waiting, found.holders) == (True, (who,), ("10.0.0.9@-@gone",))
    assert found.gone == found.holders


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pages", "there is no dynamic sharding 'pages'"),
        ("a//b", "'/a//b'"),
        ("", "name a dynamic sharding"),
        ("/", "name a dynamic sharding"),
    ],
)
def test_a_dynamic_sharding_that_is_none_is_refused(name: str, why: str) -> None:
    with connect("memory://") as operator, pytest.raises(OperationError, match=why):
        slices.show(operator, name)
