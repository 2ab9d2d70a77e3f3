"""How an alert is told."""

import dataclasses
import logging
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwright.alerts import Alert, Kind
from shardwright.alerts.log import Log
from shardwright.alerts.throw import Throw
from tests.alerts.alarms import ALERT, TEXT, settings


def test_it_has_a_subject_and_a_text_that_begins_with_it() -> None:
    assert ALERT.subject() == "nightly: failed, shard 3: ValueError: no such customer"
    assert ALERT.text() == TEXT


def test_what_it_does_not_know_it_does_not_mention() -> None:
    alert = Alert(Kind.NOBODY_ALIVE, "nightly", "due 02:00, not started by 02:05")
    assert alert.text() == "nightly: nobody alive: due 02:00, not started by 02:05"
    assert Alert(Kind.MISSED, "nightly", "").text() == "nightly: missed"


def test_one_that_stands_for_several_says_how_many_more_there_were() -> None:
    assert replace(ALERT, times=1000).subject().endswith("no such customer, and 999 more")
    long = replace(ALERT, what="x" * 1000, times=38).subject()
    assert long.endswith("x…, and 37 more")
    assert len(long) == 200


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_subject_is_one_line_whatever_is_in_it(break_: str) -> None:
    alert = Alert(Kind.FAILED, f"a{break_}Bcc: b", f"c{break_}{break_}DATA")
    assert alert.subject() == "a Bcc: b: failed: c DATA"


@given(st.text(), st.text(), st.text())
def test_nothing_told_can_steer_a_terminal_or_be_no_text(job: str, what: str, details: str) -> None:
    alert = Alert(Kind.FAILED, job, what, details=details)
    assert len(alert.subject().splitlines()) == 1
    assert {unicodedata.category(char) for char in alert.text().replace("\n", "")}.isdisjoint({"Cc", "Cs"})


@given(st.text("aé错🔥 \n", max_size=400), st.integers(min_value=60, max_value=300))
def test_a_text_is_cut_to_the_bytes_there_are_and_keeps_both_its_ends(details: str, most: int) -> None:
    text = replace(ALERT, details=f"{details}\nthe cause").text(most=most)
    assert len(text.encode()) <= most
    assert text.startswith("nightly: failed")
    assert text.endswith("the cause")


def test_details_without_end_are_cut() -> None:
    assert len(replace(ALERT, details="x" * 10_000_000).text()) < 20_000


def test_secrets_in_it_are_masked_wherever_it_is_shown() -> None:
    alert = Alert(
        Kind.FAILED, "j", "login with password=hunter2", details="https://me:hunter2@host/\npw=hunter2"
    )
    assert alert.text() == "j: failed: login with password=***\nhttps://***@host/\npw=***"
    assert "hunter2" not in f"{alert} {alert!r} {[alert]}"


def test_it_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALERT.times = 2  # type: ignore[misc]


def test_log_tells_all_of_it_by_how_bad_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for kind in Kind:
        Log(settings()).send(replace(ALERT, kind=kind))
    mended = {
        record.getMessage().split(", ")[0] for record in caplog.records if record.levelname == "WARNING"
    }
    assert mended == {"nightly: missed", "nightly: failover"}
    assert caplog.records[0].levelname == "ERROR"
    assert caplog.records[0].getMessage() == TEXT


def test_throw_is_as_loud_as_can_be_about_every_kind(caplog: pytest.LogCaptureFixture) -> None:
    for kind in Kind:
        Throw(settings()).send(replace(ALERT, kind=kind))
    assert {record.levelname for record in caplog.records} == {"ERROR"}
    assert caplog.records[0].getMessage() == TEXT
