"""`shardwright master` and `shardwright slices`."""

import pytest

from shardwright import DynamicSharding, ServiceMaster

from . import schemas
from .calling import Calling

ACCOUNT = "Account:1.0.0"


def door(url: str, number: int) -> str:
    """The same registry by another address: recipes that are given the same one share a session."""
    return f"{url}?namespace=door{number}"


def candidate(url: str, number: int) -> ServiceMaster:
    return ServiceMaster("Account", address=f"host:{number}", registry=door(url, number))


def test_masters_are_listed_shown_designated_and_sent_away(alone: Calling) -> None:
    first, second = candidate(alone.url, 1), candidate(alone.url, 2)
    with first, second:
        assert first.wait(10)
        (service,) = alone.document(schemas.Services, "master", "list").services
        assert (service.service, service.master, service.candidates) == (
            ACCOUNT,
            "host:1",
            ["host:1", "host:2"],
        )
        assert service.token == first.token
        assert alone.document(schemas.Mastery, "master", "show", ACCOUNT) == service
        assert alone("master", "list").splitlines()[1].split()[:2] == [ACCOUNT, "host:1"]
        said = alone("master", "designate", ACCOUNT, "host:2")
        assert said == f"host:2 was designated as the master of {ACCOUNT}\n"
        assert second.wait(10)
        (done,) = alone.document(schemas.AllDone, "master", "resign", ACCOUNT, "--yes").done
        assert done.changed == [f"host:1 was designated as the master of {ACCOUNT}"]
        assert first.wait(10)


def test_what_cannot_be_a_master_is_refused(alone: Calling) -> None:
    assert alone("master", "list") == "Nobody offers any service.\n"
    assert "nobody offers 'Nothing:1'" in alone.refused("master", "show", "Nothing:1")
    assert "must begin with a slash" in alone.refused("master", "list", "--root", "soa")
    assert "without its version" in alone.refused("master", "designate", "Account", "host:1")
    assert "Missing argument 'ADDRESS'" in alone.refused("master", "designate", ACCOUNT, code=2)
    with candidate(alone.url, 1) as only:
        assert only.wait(10)
        assert "nobody is 'host:9'" in alone.refused("master", "designate", ACCOUNT, "host:9")
        assert "nobody but host:1 would be" in alone.refused("master", "resign", ACCOUNT, "--yes")
        assert "Nobody is here to ask" in alone.refused("master", "resign", ACCOUNT, code=2)
        assert only.is_master


def test_slices_are_shown_with_who_has_them(alone: Calling) -> None:
    first = DynamicSharding("pages", registry=door(alone.url, 1), address="10.0.0.1")
    second = DynamicSharding("pages", registry=door(alone.url, 2), address="10.0.0.2")
    with first, second:
        assert first._until(lambda: first.slice is not None and first.slice.total == 2, 20)
        found = alone.document(schemas.Slices, "slices", "pages")
        assert first.slice is not None
        assert (found.name, found.epoch, found.resharding, found.waiting) == (
            "pages",
            first.slice.epoch,
            False,
            [],
        )
        assert sorted((who or "").partition("@-@")[0] for who in found.holders) == ["10.0.0.1", "10.0.0.2"]
        assert found.leader in found.holders
        assert alone("slices", "pages").splitlines()[0] == f"epoch:       {found.epoch}"
        assert found.gone == []
    left = alone.document(schemas.Slices, "slices", "pages")
    assert sorted(left.gone) == sorted(who for who in left.holders if who)
    assert alone("slices", "pages").splitlines()[-1].endswith("  gone")


@pytest.mark.parametrize(
    ("name", "why"),
    [("pages", "there is no dynamic sharding 'pages'"), ("a//b", "'/a//b'")],
)
def test_slices_that_nobody_has_are_refused(alone: Calling, name: str, why: str) -> None:
    assert why in alone.refused("slices", name)
