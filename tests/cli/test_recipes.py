"""`shardwright master` and `shardwright slices`."""

from collections.abc import Callable

import click
import pytest

from shardwright import DynamicSharding, ServiceMaster
from shardwright.errors import OperationError, Unreachable
from shardwright.ops import masters
from shardwright.recipes import candidacy
from shardwright.registry import Create, Landed, connect

from . import schemas
from .calling import Calling, shardwright
from .terminal import Terminal

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
        assert "nobody but 'host:1' would be" in alone.refused("master", "resign", ACCOUNT, "--yes")
        assert "Nobody is here to ask" in alone.refused("master", "resign", ACCOUNT, code=2)
        assert only.is_master


@pytest.fixture
def shouting(alone: Calling) -> Calling:
    """A registry in which somebody has written orders to a terminal."""
    with connect(alone.url) as registry:
        node = f"{candidacy.ROOT}/{candidacy.node(ACCOUNT)}"
        outcome = registry.wait(registry.commit(Create(node, "host:1\x1b]0;owned\x07\x1b[2J\r")))
        assert isinstance(outcome, Landed)
    return alone


@pytest.mark.parametrize("sure", [True, False])
def test_neither_an_error_nor_a_question_gives_the_terminal_orders_that_others_wrote(
    shouting: Calling, sure: bool
) -> None:
    asked = ["master", "resign", ACCOUNT, *(["--yes"] if sure else [])]
    refused = shouting.refused(*asked, code=1 if sure else 2)
    assert "'host:1\\x1b]0;owned\\x07\\x1b[2J\\r'" in refused
    with Terminal(*asked, "--registry", shouting.url) as terminal:
        if not sure:
            terminal.expect("be the master of")
            terminal.press("n\n")
        assert terminal.end() == 1
    assert "\x1b" not in terminal.raw
    assert "\x07" not in terminal.raw


def test_no_error_of_the_command_line_gives_the_terminal_orders(
    alone: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (OperationError, Unreachable, click.ClickException, click.UsageError, TimeoutError):
        monkeypatch.setattr(masters, "listing", _raising(error("told\x1b]0;owned\x07:\nmore")))
        answer = shardwright("--registry", alone.url, "master", "list")
        assert answer.err.endswith("Error: told\\x1b]0;owned\\x07:\nmore\n")


def _raising(error: Exception) -> Callable[..., None]:
    def fail(*given: object, **more: object) -> None:
        raise error

    return fail


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
