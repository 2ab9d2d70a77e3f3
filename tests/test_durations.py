"""Lengths of time, read and written."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright import durations


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("2d", 172_800),
        ("90m", 5400),
        ("0.25s", 0.25),
        ("0s", 0),
        ("10", 10),
        ("1.5", 1.5),
        ("500ms", 0.5),
        ("1s 500ms", 1.5),
        ("1m500ms", 60.5),
        ("1.5m", 90),
        ("1.5h", 5400),
        (30, 30),
        (0.5, 0.5),
        (timedelta(hours=1), 3600),
    ],
)
def test_a_length_is_read_from_text_numbers_and_timedeltas(given: object, seconds: float) -> None:
    assert durations.read(given) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            " ",
            "s",
            "ms",
            "5x",
            "1 2",
            ".5",
            "999999999d",
            "5mss",
            "1ms1s",
            "-5s",
            "1m1h",
            "1e3s",
            "٣s",
            "3651d",
            "99999999999s",
            -1,
            1e99,
        ),
        *(float("nan"), float("inf"), True, None, [], timedelta(seconds=-1), timedelta.max),
    ],
)
def test_what_is_no_length_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="must be a length of time such as 30s, 5m, 1h30m or 2d"):
        durations.read(given)


@settings(deadline=None)
@given(st.timedeltas(min_value=timedelta(), max_value=durations.LONGEST))
def test_what_is_written_reads_back_as_the_same_length(length: timedelta) -> None:
    assert durations.read(durations.text(length)) == length


def test_a_length_is_written_in_few_letters() -> None:
    lengths = [timedelta(), timedelta(seconds=90), timedelta(days=1, microseconds=500), timedelta(hours=25)]
    assert [durations.text(length) for length in lengths] == ["0s", "1m30s", "1d0.0005s", "1d1h"]
