"""The other schedules, their texts, the lint, and the words."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright import zones
from shardwright.cron import Cron, Timetable
from shardwright.errors import CronError, MissingExtra
from shardwright.schedule import Every, Once, Schedule, crontab, every, lint, once, parse, words

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
NEW_YORK = "America/New_York"


def first(schedule: Schedule, count: int, after: datetime = NEW_YEAR) -> list[str]:
    end = after + timedelta(days=4000)
    return [fire.isoformat(" ", "minutes")[:16] for fire in islice(schedule.between(after, end), count)]


# every


def test_every_fires_at_the_multiples_of_its_period_whoever_asks_and_whenever() -> None:
    ten = every("10s")
    assert ten.next(NEW_YEAR) == NEW_YEAR + timedelta(seconds=10)
    assert ten.next(NEW_YEAR + timedelta(seconds=3.7)) == NEW_YEAR + timedelta(seconds=10)
    assert ten.previous(NEW_YEAR) == NEW_YEAR - timedelta(seconds=10)
    assert ten.previous(NEW_YEAR + timedelta(seconds=3.7)) == NEW_YEAR


def test_every_is_counted_from_its_anchor() -> None:
    anchor = NEW_YEAR + timedelta(minutes=7)
    assert first(every("1h30m", anchor=anchor), 2) == ["2026-01-01 00:07", "2026-01-01 01:37"]
    assert first(every(timedelta(hours=24), anchor=anchor), 2) == ["2026-01-01 00:07", "2026-01-02 00:07"]


def test_every_does_not_notice_that_clocks_change() -> None:
    tz = zones.find(NEW_YORK)
    before = datetime(2026, 11, 1, 0, 30, tzinfo=tz)
    found = list(islice(every("30m").between(before, datetime(2026, 11, 1, 3, tzinfo=tz)), 9))
    assert len(found) == 7  # one o'clock comes twice
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=30)}


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 10**7), st.integers(0, 10**6), st.integers(-(10**9), 4 * 10**9), st.integers(0, 999_999)
)
def test_every_is_the_next_multiple(period: int, anchor: int, moment: int, microseconds: int) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    schedule = every(timedelta(seconds=period), anchor=epoch + timedelta(seconds=anchor))
    after = epoch + timedelta(seconds=moment, microseconds=microseconds)
    later, earlier = schedule.next(after), schedule.previous(after)
    assert later is not None
    assert earlier is not None
    assert earlier < after < later
    assert (later - epoch) // timedelta(seconds=1) % period == anchor % period
    assert later - earlier in (timedelta(seconds=period), timedelta(seconds=2 * period))
    assert schedule.previous(later + timedelta(microseconds=1)) == later


def test_every_ends_where_time_does() -> None:
    assert every("3650d").next(datetime.max.replace(tzinfo=UTC)) is None
    assert every("3650d").previous(datetime.min.replace(tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("period", "complaint"),
    [
        ("soon", "every 'soon': the period must be a length of time such as 30s"),
        ("0s", "every 0:00:00: a period is a whole number of seconds, at least one"),
        ("1.5s", "every 0:00:01.500000: a period is a whole number of seconds, at least one"),
        (timedelta(days=-1), "every '-1 day, 0:00:00': the period must be a length of time"),
    ],
)
def test_a_period_that_cannot_be_is_refused(period: str | timedelta, complaint: str) -> None:
    with pytest.raises(CronError) as refusal:
        every(period)
    assert str(refusal.value).startswith(complaint)


def test_an_anchor_is_an_instant_on_a_whole_second() -> None:
    with pytest.raises(CronError, match="has no time zone"):
        every("10s", anchor=datetime(2026, 1, 1))
    with pytest.raises(CronError, match="is not a whole second"):
        every("10s", anchor=NEW_YEAR + timedelta(microseconds=1))


# once


def test_once_fires_once() -> None:
    schedule = once(NEW_YEAR)
    assert schedule.next(NEW_YEAR - timedelta(seconds=1)) == NEW_YEAR
    assert schedule.next(NEW_YEAR) is None
    assert schedule.previous(NEW_YEAR) is None
    assert schedule.previous(NEW_YEAR + timedelta(seconds=1)) == NEW_YEAR
    assert list(schedule.between(NEW_YEAR - timedelta(days=1), NEW_YEAR)) == [NEW_YEAR]


def test_once_needs_a_zone() -> None:
    with pytest.raises(CronError, match="has no time zone"):
        once(datetime(2026, 1, 1))


# crontab


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("*/5 * * * *", ["2026-01-01 00:05", "2026-01-01 00:10"]),
        ("0 0 * * 0", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("0 0 * * 7", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("0 0 * * sun", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("0 0 * * 5-7", ["2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-09 00:00"]),
        ("0 0 * * fri-sun", ["2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-09 00:00"]),
        ("30 9 1,15 * 1", ["2026-01-01 09:30", "2026-01-05 09:30", "2026-01-12 09:30", "2026-01-15 09:30"]),
        ("0 0 */2 * 1", ["2026-01-05 00:00", "2026-01-19 00:00", "2026-02-09 00:00"]),
        ("0 0 1-7 * *", [f"2026-01-0{day} 00:00" for day in range(2, 8)]),
        ("0 0 1 jan,JUL *", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("10-50/20 8 * * mon-fri", ["2026-01-01 08:10", "2026-01-01 08:30", "2026-01-01 08:50"]),
        ("@hourly", ["2026-01-01 01:00"]),
        ("@daily", ["2026-01-02 00:00"]),
        ("@midnight", ["2026-01-02 00:00"]),
        ("@weekly", ["2026-01-04 00:00"]),
        ("@Monthly", ["2026-02-01 00:00"]),
        ("@yearly", ["2027-01-01 00:00"]),
        ("@annually", ["2027-01-01 00:00"]),
    ],
)
def test_a_unix_line_means_what_cron_makes_of_it(line: str, expected: list[str]) -> None:
    assert first(crontab(line), len(expected)) == expected


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("60 * * * *", "the minutes field '60': minutes go from 0 to 59"),
        ("* * * 13 *", "the month field '13': months go from 1 to 12, or JAN, FEB, MAR"),
        ("* * * * 8", "the day-of-week field '8': days of the week go from 0 to 7, or SUN"),
        ("*/0 * * * *", "the minutes field '*/0': a step of minutes goes from 1 to 59"),
        ("5/10 * * * *", "the minutes field '5/10': a step needs a range or a star before it"),
        ("30-10 * * * *", "the minutes field '30-10': a range goes upwards"),
        ("* * ? * *", "the day-of-month field '?': write *, a number, a range such as 1-5"),
        ("1,,2 * * * *", "the minutes field '': write *"),
        ("0 0 2 * * ?", "a UNIX line has five fields, minutes first, not 6"),
        ("@reboot", "a UNIX line has five fields, minutes first, not 1"),
    ],
)
def test_a_wrong_unix_line_names_the_field_and_the_reason(line: str, complaint: str) -> None:
    with pytest.raises(CronError) as refusal:
        crontab(line)
    assert str(refusal.value).startswith(f"crontab {line!r}: {complaint}")


def test_unix_cron_runs_a_missed_job_after_the_gap_and_no_job_twice() -> None:
    line = crontab("30 2 * * *", NEW_YORK)
    assert first(line, 2, datetime(2026, 3, 7, 12, tzinfo=UTC)) == ["2026-03-08 03:00", "2026-03-09 02:30"]
    line = crontab("30 1 * * *", NEW_YORK)
    assert first(line, 2, datetime(2026, 10, 31, 12, tzinfo=UTC)) == ["2026-11-01 01:30", "2026-11-02 01:30"]


# Texts


SCHEDULES: list[Schedule] = [
    Cron("0 0 2 * * ?", NEW_YORK),
    Cron("0 0 2 * * ?", NEW_YORK, dst="continuous"),
    crontab("*/5 * * * *", NEW_YORK),
    crontab("@daily", NEW_YORK, dst="quartz"),
    every("10s"),
    every("1h30m", anchor=datetime(2026, 1, 1, 9, tzinfo=zones.find(NEW_YORK))),
    once(NEW_YEAR),
    once(datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=zones.find(NEW_YORK))),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_schedule_is_found_again_in_its_text(schedule: Schedule) -> None:
    dst = schedule.dst if isinstance(schedule, Timetable) else None
    again = parse(schedule.text, NEW_YORK, dst=dst)
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert again.text == schedule.text == str(schedule)


def test_the_first_word_says_the_kind() -> None:
    assert parse("every 10s") == Every(timedelta(seconds=10))
    assert parse("  every   1h 30m ") == Every(timedelta(minutes=90))
    assert (
        parse("every 10s from 2026-01-01T00:00:05+00:00").text == "every 10s from 2026-01-01T00:00:05+00:00"
    )
    assert parse("once 2026-01-01T01:00:00+01:00") == Once(NEW_YEAR)
    assert parse("crontab */5 * * * *") == crontab("*/5 * * * *")
    assert parse("0 0 2 * * ?", "Asia/Tokyo") == Cron("0 0 2 * * ?", "Asia/Tokyo")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("*/5 * * * *", "five fields; Quartz wants six or seven"),
        ("crontab 0 0 2 * * ?", "a UNIX line has five fields"),
        ("once tomorrow", "'once tomorrow': write the instant as 2026-01-01T00:00:00+00:00"),
        ("once 2026-12-24", "'once 2026-12-24': add an offset, such as +00:00: 2026-12-24T00:00:00+00:00"),
        ("every 1h from 2026-12-24T01:00", "add an offset, such as +00:00: 2026-12-24T01:00:00+00:00"),
        ("every", "the period must be a length of time"),
        ("every 10s from noon", "write the instant as 2026-01-01T00:00:00+00:00"),
        ("daily", "Quartz wants six or seven fields, seconds first, not 1"),
    ],
)
def test_a_text_of_no_kind_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(CronError) as refusal:
        parse(text)
    assert complaint in str(refusal.value)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["", "every ", "once ", "crontab "]), st.text(max_size=60), st.text(max_size=20))
def test_whatever_is_written_it_is_parsed_or_refused(kind: str, text: str, zone: str) -> None:
    for written, where in ((kind + text, "UTC"), ("0 0 2 * * ?", zone)):
        try:
            schedule = parse(written, where)
        except CronError:
            continue
        assert parse(schedule.text, where) == schedule


ANYTHING: Any = None  # mypy would refuse each of these, too
NIGHTLY = Cron("0 0 2 * * ?")
INSTANT = "an instant is an aware datetime, datetime.now(UTC)"


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: Cron(ANYTHING), "a cron expression is text such as '0 0 2 * * ?', not NoneType"),
        (lambda: Cron(cast(Any, b"x")), "a cron expression is text such as '0 0 2 * * ?', not bytes"),
        (lambda: crontab(ANYTHING), "a UNIX line is text such as '*/5 * * * *', not NoneType"),
        (lambda: parse(ANYTHING), "a schedule is parsed from text such as 'every 10s', not NoneType"),
        (
            lambda: Cron("0 0 2 * * ?", cast(Any, 5)),
            "a time zone is a name such as 'Europe/Berlin', or a tzinfo, not int",
        ),
        (lambda: NIGHTLY.next(cast(Any, "x")), f"{INSTANT}, not str"),
        (
            lambda: NIGHTLY.previous(ANYTHING),
            f"{INSTANT}, not NoneType",
        ),
        (lambda: once(cast(Any, "x")), f"{INSTANT}, not str"),
        (
            lambda: every("9s", anchor=ANYTHING),
            f"{INSTANT}, not NoneType",
        ),
        (lambda: Every(cast(Any, "9s")), "a period is a timedelta here, not str; every() takes text"),
        (
            lambda: lint(cast(Any, "0 0 2 * * ?"), after=NEW_YEAR),
            "this wants a schedule, not str: make one of a text with parse()",
        ),
        (lambda: words(cast(Any, "x")), "this wants a schedule, not str: make one of a text with parse()"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_in_a_sentence(
    mistake: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(CronError) as refusal:
        mistake()
    assert str(refusal.value) == sentence


# Lint


def cautions(schedule: Schedule, years: int = 1) -> list[tuple[str, str]]:
    return [(caution.kind, str(caution)) for caution in lint(schedule, after=NEW_YEAR, years=years)]


ADVICE = "Choose dst='continuous', a zone whose clocks do not change, or another time"


def test_a_time_in_a_gap_is_warned_of() -> None:
    assert cautions(Cron("0 30 2 * * ?", NEW_YORK)) == [
        (
            "gap",
            "2026-03-08 02:30:00 does not exist in America/New_York, where the clocks go from 02:00 to "
            f"03:00: it does not fire. {ADVICE}",
        )
    ]


def test_an_hour_of_silence_is_warned_of() -> None:
    assert cautions(Cron("0 0/5 * * * ?", NEW_YORK)) == [
        (
            "overlap",
            "in America/New_York the time from 01:00 to 02:00 comes twice on 2026-11-01, and it fires the "
            f"second time only: nothing from 00:55:00 for 1:05:00, instead of 0:05:00. {ADVICE}",
        )
    ]


def test_a_time_that_quartz_oversleeps_is_warned_of() -> None:
    assert cautions(Cron("0 30 * * * ?", "America/Nuuk"))[0] == (
        "gap",
        "in America/Nuuk the clocks go from 23:00 to 00:00 on 2026-03-28: Quartz then passes over "
        f"2026-03-29 00:30:00 and next fires at 2026-03-30 00:30:00-01:00. {ADVICE}",
    )


@pytest.mark.parametrize(
    "schedule", [crontab("*/5 * * * *", NEW_YORK), Cron("0 0/5 * * * ?", NEW_YORK, dst="continuous")], ids=str
)
def test_wall_times_that_fire_twice_are_warned_of(schedule: Schedule) -> None:
    assert cautions(schedule) == [
        (
            "overlap",
            "in America/New_York 2026-11-01 01:00:00 comes twice, and it fires both times: "
            "tell the two apart by the instant, not by the time on the wall",
        )
    ]


def test_a_caution_tells_when_the_clocks_change() -> None:
    (gap,) = lint(Cron("0 30 2 * * ?", NEW_YORK), after=NEW_YEAR, years=1)
    assert gap.at is not None
    assert gap.at.isoformat() == "2026-03-08T03:00:00-04:00"


def test_each_year_looked_at_has_its_own_cautions() -> None:
    found = lint(Cron("0 30 2 * * ?", NEW_YORK), after=NEW_YEAR, years=3)
    assert [caution.at.year for caution in found if caution.at] == [2026, 2027, 2028]


@pytest.mark.parametrize(
    "schedule",
    [
        Cron("0 30 2 * * ?"),
        Cron("0 30 2 * * ?", "Asia/Shanghai"),
        Cron("0 30 2 * * ?", "GMT-05:00"),
        Cron("0 30 2 * * ?", NEW_YORK, dst="continuous"),
        Cron("0 30 1 * * ?", NEW_YORK),
        Cron("0 0 9 * * ?", NEW_YORK),
        crontab("30 2 * * *", NEW_YORK),
        every("5m"),
        once(NEW_YEAR + timedelta(days=1)),
    ],
    ids=str,
)
def test_nothing_is_said_where_nothing_surprises(schedule: Schedule) -> None:
    assert cautions(schedule, years=2) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 0 1 JAN/4 ?", "the month field 'JAN/4': Quartz drops a step after a name"),
        ("0 0 0 ? * MON-FRI/2", "the day-of-week field 'MON-FRI/2': Quartz drops a step after a name"),
        ("0 0 0 1-5W * ?", "the day-of-month field '1-5W': Quartz ignores 'W'"),
        ("0 0 0 1 1 ? 2027 x", "Quartz ignores everything after the year: 'X'"),
        (
            "0 0 0 1W,15W * ?",
            "the day-of-month field '1W,15W': with 'W' or '#' in a list Quartz keeps its smallest day only",
        ),
        ("99 0 0 * * ?", "the seconds field '99': Quartz takes 99 for '*'"),
    ],
)
def test_what_quartz_silently_ignores_is_said(text: str, expected: str) -> None:
    assert cautions(Cron(text)) == [("ignored", expected)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 0 31 2-4 ?", ["there is no such day in February, April: it does not fire then"]),
        (
            "0 0 0 31W * ?",
            [
                "there is no such day in February: it does not fire then",
                "in some years there is no such day in April, June, September, November",
            ],
        ),
        ("0 0 0 29 2 ?", ["in some years there is no such day in February"]),
        ("0 0 0 30 1,3 ?", []),
        ("0 0 0 L * ?", []),
    ],
)
def test_months_without_such_a_day_are_said(text: str, expected: list[str]) -> None:
    assert cautions(Cron(text)) == [("some months", sentence) for sentence in expected]


@pytest.mark.parametrize("text", ["0 0 0 30 2 ?", "0 0 0 1 1 ? 2020", "once 2020-01-01T00:00:00+00:00"])
def test_a_schedule_that_never_fires_again_is_said_to(text: str) -> None:
    assert cautions(parse(text)) == [("never", f"{text!r} does not fire after 2026-01-01T00:00:00+00:00")]


# Words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0/5 * * * * ?", "Every 5 seconds"),
        ("0 0/15 9-17 ? * MON-FRI", "Every 15 minutes, between 09:00 and 17:59, Monday through Friday"),
        ("0 0 2 * * ?", "At 02:00"),
        ("0 30 8 L * ?", "At 08:30, on the last day of the month"),
        ("0 0 9 ? * 6#3", "At 09:00, on the third Friday of the month"),
        ("0 0 9 ? * 6L", "At 09:00, on the last Friday of the month"),
        ("0 0 9 ? * L", "At 09:00, only on Saturday"),
        ("0 0 9 ? * 1", "At 09:00, only on Sunday"),
        ("0 0 9 LW * ?", "At 09:00, on the last weekday of the month"),
        ("0 0 9 L-3 * ?", "At 09:00, 3 days before the last day of the month"),
        ("0 0 9 L-3W * ?", "At 09:00, 3 days before the last day of the month (the weekday nearest to it)"),
        ("0 0 9 15W * ?", "At 09:00, on the weekday nearest day 15 of the month"),
        ("0 0 0 1 1 ? 2026-2030", "At 00:00, on day 1 of the month, only in January, 2026 through 2030"),
        ("0 0 22-2 * * ?", "At 0 minutes past the hour, between 22:00 and 02:59"),
        ("0 0 0 1 JAN/4 ?", "At 00:00, on day 1 of the month, only in January"),
        ("0 0 0 ? * FRI-MON", "At 00:00, Friday through Monday"),
        ("0 0 0 1W,15W * ?", "At 00:00, on the first weekday of the month"),
        ("*/0 * * * * ?", "Every second"),
        ("0 0 0 ? * 2,6#3", "At 00:00, on the third Monday of the month"),
        ("0 0 0 30 2 ?", "Never"),
        ("crontab 0 0 1,15 * 1", "At 00:00, on day 1 and 15 of the month, or on Monday"),
        ("crontab 0 0 */2 * 1", "At 00:00, every 2 days (if that is MON)"),
        ("crontab 0 0 * * 7", "At 00:00, only on Sunday"),
        ("every 10s", "Every 10 seconds"),
        ("every 1h", "Every hour"),
        ("every 1h30m", "Every 1 hour 30 minutes"),
        ("every 1d from 2026-01-01T00:00:00+00:00", "Every day, counted from 2026-01-01 00:00:00+00:00"),
        ("once 2026-01-01T00:00:00+00:00", "Once, at 2026-01-01 00:00:00+00:00"),
    ],
)
def test_a_schedule_in_words(text: str, expected: str) -> None:
    assert words(parse(text)) == expected


@pytest.mark.parametrize("locale", ["de_DE", "fr_FR", "ko_KR", "zh_CN"])
def test_what_a_language_has_no_phrase_for_is_said_in_english(locale: str) -> None:
    assert "3 days before the last day of the month" in words(Cron("0 0 2 L-3 * ?"), locale)
    assert words(Cron("0 0 2 ? 3-5 MON-FRI 2026-2030"), locale).count(",") == 3


def test_either_day_is_never_said_to_be_the_only_one() -> None:
    assert "or on" in words(crontab("0 0 1,15 * 1"), "sk_SK")


@pytest.mark.parametrize("locale", ["de", "xx_XX", "../de_DE"])
def test_a_language_without_words_is_refused(locale: str) -> None:
    with pytest.raises(CronError, match=r"there are no words for it; take one of cs_CZ, da_DK, de_DE, "):
        words(Cron("0 0 2 * * ?"), locale)


def test_words_come_in_other_languages() -> None:
    assert words(Cron("0 0/15 * L * ?"), "de_DE") == "Alle 15 Minuten, am letzten Tag des Monats"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 59), min_size=1), st.integers(1, 7), st.integers(2026, 2126), st.integers(1, 9)
)
def test_words_are_found_for_any_mixture(minutes: list[int], day: int, year: int, step: int) -> None:
    text = f"0 {','.join(map(str, minutes))} {day}/{step} ? * {day}-{8 - day} {year}/{step}"
    assert words(Cron(text))


def test_without_the_extra_one_sentence_tells_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cron_descriptor", None)
    with pytest.raises(MissingExtra) as missing:
        words(Cron("0 0 2 * * ?"))
    assert str(missing.value) == "cron in words needs an extra: pip install 'shardwright[words]'"
    assert words(every("10s")) == "Every 10 seconds"
