"""Processes as people name them."""

from collections.abc import Iterator

import pytest

from shardwright.cli.members import member
from shardwright.errors import OperationError
from tests.ops.bureau import Bureau

TEN, OTHER = "10.0.0.10@-@123-ab12", "10.0.1.7@-@45-cd34"


@pytest.fixture
def bureau() -> Iterator[Bureau]:
    with Bureau.in_memory() as made:
        made.of(TEN, OTHER)
        yield made


@pytest.mark.parametrize(
    "text", [TEN, "10.0.0.10", "10.0.0", "10.0.0.", "10.0.0.10@-@123", "10.0.0.10@-@123-ab"]
)
def test_a_process_is_named_by_how_its_id_begins(bureau: Bureau, text: str) -> None:
    assert member(bureau.registry, "j", text) == TEN


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.10@-@12", "1", ""])
def test_an_address_or_a_pid_that_only_begins_alike_is_another_one(bureau: Bureau, text: str) -> None:
    with pytest.raises(OperationError):
        member(bureau.registry, "j", text)


def test_nothing_at_all_names_nobody_not_even_the_only_one() -> None:
    """As a shell says it whose variable is not set."""
    with Bureau.in_memory() as bureau:
        bureau.of(TEN)
        with pytest.raises(OperationError, match="is called ''"):
            member(bureau.registry, "j", "")
