"""Quartz expressions: what Quartz itself answers, what is refused and why, and the two clock-change rules."""

import pickle
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import islice, pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import tzlocal
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shardwright.cron import Cron, Dst
from shardwright.errors import CronError, ShardwrightError
from tests import calendar_brute as brute

FIXTURES = Path(__file__).parent / "fixtures"
NEW_YORK = "America/New_York"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def fires(cron: Cron, after: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < count and (fire := cron.next(found[-1] if found else after)):
        found.append(fire)
    return found


def walls(cron: Cron, after: str, count: int) -> list[str]:
    return [fire.isoformat(" ", "minutes") for fire in fires(cron, at(after), count)]


# What Quartz 2.3.2 answers


class Row:
    """One line of a fixture: an expression, where and when to begin, and Quartz's answers."""

    def __init__(self, line: str) -> None:
        self.group, self.text, self.zone, start, answers = line.split("\t")
        self.start = datetime.fromtimestamp(int(start), UTC)
        self.answers = answers.split()

    def ours(self) -> list[str]:
        try:
            cron = Cron(self.text, self.zone)
        except CronError:
            return ["ERR"]
        found = [str(int(fire.timestamp())) for fire in fires(cron, self.start, len(self.answers))]
        return found if len(found) == len(self.answers) else [*found, "END"]


def rows(file: str) -> list[Row]:
    lines = (FIXTURES / file).read_text(encoding="utf-8").splitlines()
    return [Row(line) for line in lines if not line.startswith("#")]


ROWS = {file: rows(file) for file in ("quartz-cron.tsv", "quartz-cron-more.tsv")}
GROUPS = [(file, group) for file, found in ROWS.items() for group in sorted({row.group for row in found})]


@pytest.mark.parametrize(("file", "group"), GROUPS)
def test_every_fire_is_the_one_quartz_answers(file: str, group: str) -> None:
    wrong = [
        (row.text, row.zone, row.start.isoformat(), row.answers, ours)
        for row in ROWS[file]
        if row.group == group and "HANG" not in row.answers and (ours := row.ours()) != row.answers
    ]
    assert wrong == []


@pytest.mark.parametrize("row", [row for found in ROWS.values() for row in found if "HANG" in row.answers])
def test_where_quartz_never_returns_ours_goes_on_to_a_later_fire(row: Row) -> None:
    *before, _ = row.answers
    *ours, last = row.ours()
    assert ours == before
    assert int(last) > max([row.start.timestamp(), *map(int, before)])


def test_the_fixtures_are_whole() -> None:
    assert {file: len(found) for file, found in ROWS.items()} == {
        "quartz-cron.tsv": 1031,
        "quartz-cron-more.tsv": 529,
    }


# What is refused, and why


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0 0 25 * * ?", "the hours field '25': hours go from 0 to 23"),
        ("0 5,61 * * * ?", "the minutes field '61': minutes go from 0 to 59"),
        ("0 0 0 ? * FOO", "the day-of-week field 'FOO': 'FOO' is none of SUN, MON, TUE, WED, THU, FRI, SAT"),
        ("*/60 * * * * ?", "the seconds field '*/60': a step of seconds is at most 59, not 60"),
        ("0 5/x * * * ?", "the minutes field '5/X': '/' is followed by a number"),
        ("0 5- * * * ?", "the minutes field '5-': a range ends in a number, such as 5-10"),
        ("0 0 0 L,15 * ?", "the day-of-month field 'L,15': 'L' must stand alone, not in a list"),
        ("0 0 0 L-31 * ?", "the day-of-month field 'L-31': at most 30 days before the last, not 31"),
        ("0 0 0 ? * 6#9", "the day-of-week field '6#9': '#' is followed by a number from 1 to 5"),
        ("0 0 0 ? * 6#1,2#2", "the day-of-week field '6#1,2#2': only one '#' is possible"),
        ("0 0 5W * * ?", "the hours field '5W': 'W' has no meaning for hours"),
        (
            "? 0 0 * * ?",
            "the seconds field '?': '?' is for day-of-month and day-of-week; seconds go from 0 to 59",
        ),
        ("0 , 0 * * ?", "the minutes field ',': it names nothing; minutes go from 0 to 59"),
        (
            "0 0 0 1 1 ? 2030-2026",
            "the year field '2030-2026': a range of years goes forward, and years end with 2126",
        ),
        ("0 0 0 15 * MON", "day-of-month and day-of-week are both given; one of them must be '?'"),
        ("0 0 0 ? * ?", "day-of-month and day-of-week are both '?'; give one of them"),
        ("0 0 12", "Quartz wants six or seven fields, seconds first, not 3"),
        ("", "Quartz wants six or seven fields, seconds first, not 0"),
        (
            "*/5 * * * *",
            "five fields; Quartz wants six or seven, seconds first. "
            "For a UNIX line: from shardwright.schedule import crontab; crontab('*/5 * * * *')",
        ),
    ],
)
def test_a_wrong_expression_names_the_field_and_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(CronError) as refusal:
        Cron(text)
    assert str(refusal.value) == f"cron {text!r}: {complaint}"


def test_a_refusal_is_a_value_error_and_one_of_ours() -> None:
    assert issubclass(CronError, ValueError)
    assert issubclass(CronError, ShardwrightError)


cron_like = st.text(alphabet="0123456789*/?-,LW#CJANMOFRI \t\n+.", max_size=60)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=80), cron_like, st.lists(cron_like, min_size=6, max_size=7).map(" ".join)))
def test_whatever_is_written_it_is_read_or_refused(text: str) -> None:
    try:
        cron = Cron(text)
    except CronError:
        return
    fire = cron.next(at("2026-01-01T00:00:00Z"))
    assert fire is None or fire > at("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "text",
    [
        "0 0 0 31 2 ?",
        "0 0 0 29 2 ? 2101",
        "0 0 0 ? * 8#1",
        "* * * L-30W 2 ?",
        "0 30 2 ? 3 1#2",
        "0 0 0 1 1 ? " + "0-2147483647," * 70,
        "0-59/1," * 130 + " * * * * ?",
        "*" * 1_000_000,
        "1," * 500_000 + " * * * * ?",
        " " * 1_000_000,
    ],
)
@pytest.mark.parametrize("dst", ["quartz", "continuous"])
def test_no_text_takes_long_to_answer_or_to_refuse(text: str, dst: Dst) -> None:
    def once() -> float:
        begin = time.process_time()
        try:
            cron = Cron(text, NEW_YORK, dst=dst)
        except CronError:
            pass
        else:
            cron.next(at("2026-01-01T00:00:00Z"))
            cron.previous(at("2026-01-01T00:00:00Z"))
        return time.process_time() - begin

    assert min(once() for _ in range(3)) < 0.05


# Asking


def test_next_is_strictly_after_and_previous_strictly_before() -> None:
    cron = Cron("0 0 * * * ?")
    noon = at("2026-01-01T12:00:00Z")
    assert cron.next(noon) == at("2026-01-01T13:00:00Z")
    assert cron.previous(noon) == at("2026-01-01T11:00:00Z")
    assert cron.next(noon - timedelta(microseconds=1)) == noon
    assert cron.previous(noon + timedelta(microseconds=1)) == noon


def test_between_leaves_out_the_start_and_takes_in_the_end() -> None:
    found = Cron("0 0 * * * ?").between(at("2026-01-01T12:00:00Z"), at("2026-01-01T15:00:00Z"))
    assert [fire.hour for fire in found] == [13, 14, 15]


def test_the_answer_is_in_the_zone_of_the_schedule_whatever_zone_is_asked_in() -> None:
    cron = Cron("0 0 9 * * ?", NEW_YORK)
    asked = [at("2026-07-01T12:00:00Z"), at("2026-07-01T21:00:00+09:00"), at("2026-07-01T08:00:00-04:00")]
    for after in [*asked, asked[0].astimezone(ZoneInfo(NEW_YORK))]:
        fire = cron.next(after)
        assert fire == at("2026-07-01T09:00:00-04:00")
        assert fire.tzinfo == ZoneInfo(NEW_YORK)


def test_a_time_without_a_zone_is_refused() -> None:
    cron = Cron("0 0 9 * * ?")
    naive = datetime(2026, 1, 1)
    complaint = "2026-01-01T00:00:00 has no time zone; give an aware datetime"
    for ask in (cron.next, cron.previous, lambda when: list(cron.between(when, when))):
        with pytest.raises(CronError, match=complaint):
            ask(naive)


def test_a_time_that_does_not_exist_is_the_instant_python_takes_it_for() -> None:
    skipped = datetime(2026, 3, 8, 2, 30, tzinfo=ZoneInfo(NEW_YORK))  # 03:30 summer time
    assert Cron("0 10 * * * ?", NEW_YORK).next(skipped) == at("2026-03-08T04:10:00-04:00")


@pytest.mark.parametrize("dst", ["quartz", "continuous"])
@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "GMT+14:00", "GMT-12:00"])
def test_the_ends_of_time_are_no_trouble(zone: str, dst: Dst) -> None:
    cron = Cron("0 0 0 1 1 ?", zone, dst=dst)
    for offset in (timezone(timedelta(hours=14)), timezone(timedelta(hours=-14)), UTC):
        first, last = datetime.min.replace(tzinfo=offset), datetime.max.replace(tzinfo=offset)
        assert cron.previous(first) is None
        assert cron.next(last) is None
        assert [fire.year for fire in (cron.next(first), cron.previous(last)) if fire] == [1970, 2126]


def test_a_schedule_is_a_value() -> None:
    cron = Cron("0 0 2 * * ?", NEW_YORK)
    assert cron == Cron("0 0 2 * * ?", ZoneInfo(NEW_YORK))
    assert hash(cron) == hash(Cron("0 0 2 * * ?", NEW_YORK))
    assert cron != Cron("0 0 2 * * ?")
    assert cron != Cron("0 0 2 * * ?", NEW_YORK, dst="continuous")
    assert cron != "0 0 2 * * ?"
    assert (cron.text, cron.zone, cron.dst, str(cron)) == ("0 0 2 * * ?", NEW_YORK, "quartz", "0 0 2 * * ?")
    assert repr(cron) == "Cron('0 0 2 * * ?', zone='America/New_York', dst='quartz')"
    assert pickle.loads(pickle.dumps(cron)) == cron
    with pytest.raises(AttributeError):
        cron.text = "0 0 3 * * ?"  # type: ignore[misc]


def test_an_unknown_clock_change_rule_is_refused() -> None:
    with pytest.raises(CronError, match="dst 'java': it is one of 'quartz', 'continuous'"):
        Cron("0 0 2 * * ?", dst="java")  # type: ignore[arg-type]


# Zones


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("UTC", 0),
        ("GMT", 0),
        ("Etc/GMT+5", -5),
        ("Asia/Shanghai", 8),
        ("GMT+08:00", 8),
        ("GMT+8:00", 8),
        ("GMT+0800", 8),
        ("GMT+800", 8),
        ("GMT+08", 8),
        ("GMT+8", 8),
        ("GMT-3", -3),
        ("GMT-03:30", -3.5),
        ("GMT+0", 0),
        (timezone(timedelta(hours=8)), 8),
        (ZoneInfo("Asia/Tokyo"), 9),
        (UTC, 0),
    ],
)
def test_a_zone_is_an_iana_name_or_what_java_reads_after_gmt(zone: str | tzinfo, hours: float) -> None:
    fire = Cron("0 0 0 * * ?", zone).next(at("2026-01-01T12:00:00Z"))
    assert fire is not None
    assert fire.utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (UTC, "UTC"),
        ("GMT+0", "UTC"),
        ("GMT+8", "GMT+08:00"),
        (timezone(timedelta(hours=-3.5)), "GMT-03:30"),
        (ZoneInfo("Asia/Tokyo"), "Asia/Tokyo"),
        ("Asia/Tokyo", "Asia/Tokyo"),
        (ZoneInfo("UTC"), "UTC"),
    ],
)
def test_a_zone_has_a_name_that_can_be_stored(zone: str | tzinfo, name: str) -> None:
    assert Cron("0 0 0 * * ?", zone).zone == name


@pytest.mark.parametrize(
    "zone",
    [
        "Mars/Olympus",
        "Europe",
        "",
        "../etc/passwd",
        "/etc/passwd",
        "UTC+8",
        "GMT+8:0",
        "GMT8",
        "\0",
        "x" * 10_000,
    ],
)
def test_an_unknown_zone_is_named(zone: str) -> None:
    with pytest.raises(CronError) as refusal:
        Cron("0 0 0 * * ?", zone)
    assert str(refusal.value) == (
        f"time zone {zone[:60]!r}: unknown; give an IANA name such as 'Europe/Berlin', "
        f"or an offset such as 'GMT+08:00'"
    )


def test_offsets_that_cannot_be_are_refused() -> None:
    with pytest.raises(CronError, match=r"time zone 'GMT\+24:00': hours go from 0 to 23"):
        Cron("0 0 0 * * ?", "GMT+24:00")
    with pytest.raises(CronError, match="an offset is a number of whole minutes"):
        Cron("0 0 0 * * ?", timezone(timedelta(seconds=1)))


def test_no_zone_at_all_means_the_zone_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tzlocal, "get_localzone_name", lambda: "Asia/Tokyo")
    assert Cron("0 0 0 * * ?", None).zone == "Asia/Tokyo"
    monkeypatch.setattr(tzlocal, "get_localzone_name", lambda: None)
    with pytest.raises(CronError, match="the time zone of this machine has no certain name"):
        Cron("0 0 0 * * ?", None)


# Clock changes: Quartz's rule


def test_quartz_skips_a_time_in_the_gap() -> None:
    assert walls(Cron("0 30 2 * * ?", NEW_YORK), "2026-03-07T00:00:00-05:00", 2) == [
        "2026-03-07 02:30-05:00",
        "2026-03-09 02:30-04:00",
    ]


def test_quartz_fires_the_second_time_in_an_overlap() -> None:
    fire = Cron("0 30 1 * * ?", NEW_YORK).next(at("2026-11-01T00:00:00-04:00"))
    assert fire is not None
    assert (fire.isoformat(), fire.fold) == ("2026-11-01T01:30:00-05:00", 1)


def test_quartz_is_silent_for_an_hour_in_an_overlap() -> None:
    assert walls(Cron("0 0/30 * * * ?", NEW_YORK), "2026-11-01T00:00:00-04:00", 3) == [
        "2026-11-01 00:30-04:00",
        "2026-11-01 01:00-05:00",
        "2026-11-01 01:30-05:00",
    ]


def test_quartz_passes_over_a_time_after_a_gap_of_half_an_hour() -> None:
    assert walls(Cron("0 10,35 * * * ?", "Australia/Lord_Howe"), "2026-10-04T01:00:00+10:30", 3) == [
        "2026-10-04 01:10+10:30",
        "2026-10-04 01:35+10:30",
        "2026-10-04 03:10+11:00",  # not 02:35
    ]


# Clock changes: the continuous rule


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        ("0 30 2 * * ?", NEW_YORK, "2026-03-07T12:00:00-05:00", ["03-08 03:00-04:00", "03-09 02:30-04:00"]),
        (
            "0 0,30 2,3 8 * ?",
            NEW_YORK,
            "2026-03-08T00:00:00-05:00",
            ["03-08 03:00-04:00", "03-08 03:30-04:00"],
        ),
        ("0 0/10 2 * * ?", NEW_YORK, "2026-03-07T12:00:00-05:00", ["03-08 03:00-04:00", "03-09 02:00-04:00"]),
        ("0 30 * * * ?", NEW_YORK, "2026-03-08T01:00:00-05:00", ["03-08 01:30-05:00", "03-08 03:30-04:00"]),
        ("0 30 1 * * ?", NEW_YORK, "2026-10-31T12:00:00-04:00", ["11-01 01:30-04:00", "11-02 01:30-05:00"]),
        (
            "0 0/30 * * * ?",
            NEW_YORK,
            "2026-11-01T00:30:00-04:00",
            [
                "11-01 01:00-04:00",
                "11-01 01:30-04:00",
                "11-01 01:00-05:00",
                "11-01 01:30-05:00",
                "11-01 02:00-05:00",
            ],
        ),
        ("0 30 1 * * ?", "Europe/London", "2026-03-28T12:00:00Z", ["03-29 02:00+01:00", "03-30 01:30+01:00"]),
        ("0 30 1 * * ?", "Europe/London", "2026-10-24T12:00:00Z", ["10-25 01:30+01:00", "10-26 01:30+00:00"]),
        (
            "0 15 2 * * ?",
            "Australia/Lord_Howe",
            "2026-10-03T12:00:00+10:30",
            ["10-04 02:30+11:00", "10-05 02:15+11:00"],
        ),
        (
            "0 45 1 * * ?",
            "Australia/Lord_Howe",
            "2026-04-04T12:00:00+11:00",
            ["04-05 01:45+11:00", "04-06 01:45+10:30"],
        ),
        (
            "0 15,45 * * * ?",
            "Australia/Lord_Howe",
            "2026-04-05T01:20:00+11:00",
            ["04-05 01:45+11:00", "04-05 01:45+10:30", "04-05 02:15+10:30"],
        ),
        (
            "0 10,35 * * * ?",
            "Australia/Lord_Howe",
            "2026-10-04T01:30:00+10:30",
            ["10-04 01:35+10:30", "10-04 02:35+11:00", "10-04 03:10+11:00"],
        ),
        (
            "0 0 12 * * ?",
            "Pacific/Apia",
            "2011-12-28T23:00:00-10:00",
            ["12-29 12:00-10:00", "12-31 00:00+14:00", "12-31 12:00+14:00"],
        ),
        (
            "0 0 12 LW * ?",
            "Pacific/Apia",
            "2011-12-28T23:00:00-10:00",
            ["12-31 00:00+14:00", "01-31 12:00+14:00"],
        ),
        (
            "0 0 0 * * ?",
            "America/Sao_Paulo",
            "2018-11-03T12:00:00-03:00",
            ["11-04 01:00-02:00", "11-05 00:00-02:00"],
        ),
        (
            "0 30 23 * * ?",
            "America/Sao_Paulo",
            "2018-02-17T12:00:00-02:00",
            ["02-17 23:30-02:00", "02-18 23:30-03:00"],
        ),
        (
            "0 30 * * * ?",
            "America/Sao_Paulo",
            "2018-02-17T22:40:00-02:00",
            ["02-17 23:30-02:00", "02-17 23:30-03:00", "02-18 00:30-03:00"],
        ),
        ("0 0 2 * * ?", "GMT-05:00", "2026-03-07T12:00:00-05:00", ["03-08 02:00-05:00", "03-09 02:00-05:00"]),
    ],
)
def test_the_continuous_rule(text: str, zone: str, after: str, expected: list[str]) -> None:
    cron = Cron(text, zone, dst="continuous")
    assert [wall[5:] for wall in walls(cron, after, len(expected))] == expected
    found = fires(cron, at(after), len(expected))
    for earlier, later in pairwise(found):
        there = cron.previous(later)
        assert there is not None
        assert there.isoformat() == earlier.isoformat()


# Against the slow and obvious way


def some(low: int, high: int) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(low, high), min_size=1, max_size=4)


def every(low: int, high: int) -> st.SearchStrategy[frozenset[int]]:
    return st.just(frozenset(range(low, high + 1)))


specs = st.builds(
    brute.Spec,
    seconds=st.one_of(st.just(frozenset({0})), some(0, 59)),
    minutes=st.one_of(some(0, 59), every(0, 59)),
    hours=st.one_of(some(0, 4), every(0, 23)),
    weekdays=st.one_of(every(1, 7), some(1, 7)),
    months=every(1, 12),
)
EACH_MINUTE = brute.Spec(
    seconds=frozenset({0}),
    minutes=frozenset(range(60)),
    hours=frozenset(range(24)),
    weekdays=frozenset(range(1, 8)),
    months=frozenset(range(1, 13)),
)
# A few hours before and after a change of the clocks, or an ordinary day. Gaps of whole hours only: at others
# Quartz's search has its own ways, which the fixtures hold.
beginnings = st.builds(
    lambda moment, minutes: at(moment) + timedelta(minutes=minutes, seconds=minutes % 60),
    st.sampled_from(
        ["2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"]
    ),
    st.integers(-180, 120),
)
LOOK = timedelta(hours=4)


@settings(max_examples=60, deadline=None)
@example(EACH_MINUTE, at("2026-10-25T00:59:59Z"), "Europe/London", "quartz")  # the last second of the first
@given(
    specs,
    beginnings,
    st.sampled_from(["UTC", NEW_YORK, "Europe/London"]),
    st.sampled_from(["quartz", "continuous"]),
)
def test_next_is_the_first_second_that_matches(
    spec: brute.Spec, after: datetime, zone: str, dst: Dst
) -> None:
    cron, tz = Cron(spec.quartz, zone, dst=dst), ZoneInfo(zone)
    begin = after + brute.SECOND
    if dst == "quartz" and (here := begin.astimezone(tz)).utcoffset() != here.replace(fold=1).utcoffset():
        # Asked for what is in the first hour of two it answers as in the second.
        begin = here.replace(fold=1).astimezone(UTC)
    expected = next(brute.fires(spec, tz, begin, after + LOOK, dst), None)
    found = cron.next(after)
    if expected is None:
        assert found is None or found.astimezone(UTC) > after + LOOK
    else:
        assert found is not None
        assert found.astimezone(UTC) == expected.astimezone(UTC)
        assert (found.tzinfo, found.fold) == (cron.tz, expected.fold)


@settings(max_examples=40, deadline=None)
@given(
    specs, beginnings, st.sampled_from([NEW_YORK, "Europe/London"]), st.sampled_from(["quartz", "continuous"])
)
def test_previous_is_the_last_second_that_matches(
    spec: brute.Spec, before: datetime, zone: str, dst: Dst
) -> None:
    cron, tz = Cron(spec.quartz, zone, dst=dst), ZoneInfo(zone)
    expected = list(brute.fires(spec, tz, before - LOOK, before - brute.SECOND, dst))
    found = cron.previous(before)
    if expected:
        assert found is not None
        assert found.astimezone(UTC) == expected[-1].astimezone(UTC)
        assert found.fold == expected[-1].fold
    else:
        assert found is None or found.astimezone(UTC) < before - LOOK


rules = st.one_of(
    st.sampled_from(["L", "LW"]),
    st.integers(1, 27).map(lambda n: f"L-{n}"),
    st.integers(1, 27).map(lambda n: f"L-{n}W"),
    st.integers(1, 28).map(lambda n: f"{n}W"),
    st.integers(1, 7).map(lambda n: f"{n}L"),
    st.builds("{}#{}".format, st.integers(1, 7), st.integers(1, 5)),
)


@settings(max_examples=100, deadline=None)
@given(rules, st.integers(1971, 2125), st.integers(1, 12))
def test_a_special_day_is_the_one_on_the_calendar(rule: str, year: int, month: int) -> None:
    by_week = "#" in rule or (rule[0] != "L" and rule.endswith("L"))
    cron = Cron(f"0 0 12 ? {month} {rule} {year}" if by_week else f"0 0 12 {rule} {month} ? {year}")
    found = cron.between(datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, tzinfo=UTC))
    assert [fire.day for fire in found] == brute.days(rule, year, month)


expressions = st.sampled_from(
    [
        "0/7 * * * * ?",
        "0 0/15 9-17 ? * MON-FRI",
        "0 0 2 * * ?",
        "0 30 8 L * ?",
        "0 0 9 ? * 6#3",
        "0 0 9 31W * ?",
        "15 10 3,22-1 28-3 * ?",
        "0 0 0 29 2 ?",
        "0 59 23 ? 12-2 6L",
        "0 0 0 1 1 ? 2027/3",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    expressions,
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),
    st.sampled_from(["UTC", "Asia/Kolkata"]),
)
def test_previous_mirrors_next_and_between_repeats_it(text: str, moment: datetime, zone: str) -> None:
    cron, after = Cron(text, zone), moment.replace(tzinfo=UTC)
    found = fires(cron, after, 4)
    assert found[0] > after
    assert list(islice(cron.between(after, found[-1]), 5)) == found
    assert [cron.previous(later) for later in found[1:]] == found[:-1]
    before = cron.previous(found[0])
    if before is not None:
        assert before <= after
        assert cron.next(before) == found[0]


def crons() -> Iterator[Cron]:
    for text in ("0 30 2 * * ?", "0 0/20 * * * ?", "0 0 0/3 * * ?", "0 30 1 ? * SUN"):
        for zone in (NEW_YORK, "Europe/London", "America/Sao_Paulo", "Australia/Lord_Howe"):
            yield Cron(text, zone, dst="continuous")


@pytest.mark.parametrize("cron", list(crons()), ids=str)
def test_a_continuous_schedule_reads_the_same_forwards_and_backwards(cron: Cron) -> None:
    start, end = at("2026-03-01T00:00:00Z"), at("2026-03-31T00:00:00Z")
    forwards = [fire.astimezone(UTC) for fire in cron.between(start, end)]
    backwards, fire = [], cron.previous(end + brute.SECOND)
    while fire is not None and fire.astimezone(UTC) > start:
        backwards.append(fire.astimezone(UTC))
        fire = cron.previous(fire)
    assert forwards == backwards[::-1]
    assert forwards == sorted(set(forwards))
