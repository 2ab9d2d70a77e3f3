"""`shardwright next`."""

import pytest

from . import schemas
from .calling import Calling, shardwright

nowhere = Calling("memory://nobody")  # no registry is asked

WINTER = ("--after", "2026-03-28T00:00:00+01:00")


def test_the_next_fires_are_told_in_the_zone_that_is_asked_for() -> None:
    found = nowhere.document(
        schemas.Next, "next", "0 0 2 * * ?", "--tz", "Europe/Berlin", "--count", "3", "--after",
        "2026-06-01T00:00:00+02:00",
    )  # fmt: skip
    assert [fire.isoformat() for fire in found.fires] == [
        "2026-06-01T02:00:00+02:00",
        "2026-06-02T02:00:00+02:00",
        "2026-06-03T02:00:00+02:00",
    ]
    assert (found.schedule, found.zone, found.words) == ("0 0 2 * * ?", "Europe/Berlin", "At 02:00")


def test_people_read_it_in_words_and_are_warned_of_clock_changes() -> None:
    told = nowhere("next", "0 30 2 * * ?", "--tz", "Europe/Berlin", "--count", "2", *WINTER)
    assert told.splitlines()[:5] == [
        "At 02:30 (Europe/Berlin)",
        "",
        "DAY  FIRES",
        "Sat  2026-03-28 02:30:00+01:00",
        "Mon  2026-03-30 02:30:00+02:00",
    ]
    assert "Note: 2026-03-29 02:30:00 does not exist in Europe/Berlin" in told


def test_clock_changes_do_what_is_asked_for() -> None:
    found = nowhere.document(
        schemas.Next, "next", "0 30 2 * * ?", "--tz", "Europe/Berlin", "--count", "2", *WINTER,
        "--dst", "continuous",
    )  # fmt: skip
    assert found.fires[1].isoformat() == "2026-03-29T03:00:00+02:00"
    assert found.cautions == []


@pytest.mark.parametrize(
    ("expression", "second"),
    [("crontab */5 * * * *", "2026-01-01T00:10:00+00:00"), ("every 90s", "2026-01-01T00:03:00+00:00")],
)
def test_every_kind_of_schedule_is_read(expression: str, second: str) -> None:
    found = nowhere.document(
        schemas.Next, "next", expression, "--tz", "UTC", "--after", "2026-01-01T00:00:00+00:00"
    )
    assert len(found.fires) == 10
    assert found.fires[1].isoformat() == second


def test_a_schedule_that_never_fires_again_is_trouble() -> None:
    found = nowhere.document(schemas.Next, "next", "0 0 0 1 1 ? 2001", "--tz", "UTC", code=1)
    assert found.fires == []
    assert [each.kind for each in found.cautions] == ["never"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["0 0 25 * * ?"], "hours go from 0 to 23"),
        (["*/5 * * * *"], "For a UNIX line: shardwright next 'crontab */5 * * * *'"),
        (["0 0 2 * * ?", "--tz", "Europe/Atlantis"], "time zone 'Europe/Atlantis'"),
        (["0 0 2 * * ?", "--count", "0"], "Invalid value for '--count'"),
        (["0 0 2 * * ?", "--after", "soon"], "write it as 2026-03-29T00:00:00+01:00"),
        (["0 0 2 * * ?", "--after", "2026-03-29"], "add an offset, such as 2026-03-29"),
        (
            ["0", "0", "2", "*", "*", "?"],
            "0 0 2 * * ? are 6 arguments: put the expression in quotes, such as",
        ),
        (["every", "90s", "--count", "3"], "every 90s are 2 arguments: put the expression in quotes"),
        ([], "Missing argument 'EXPRESSION'"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(arguments: list[str], why: str) -> None:
    assert why in nowhere.refused("next", *arguments, code=2)


def test_no_registry_is_needed() -> None:
    assert shardwright("next", "every 1m").code == 0


@pytest.mark.parametrize("time", ["9991-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_what_comes_after_all_calendars_is_wrong_usage(time: str) -> None:
    answer = shardwright("next", "0 0 2 * * ?", "--tz", "Europe/Berlin", "--after", time)
    assert answer.code == 2
    assert "there is no calendar after 9990" in answer.err
