"""The ledger's arithmetic: what several people tell, in any order, comes to the same."""

from functools import reduce
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shardwright.history import entries, events, ledger
from shardwright.history.ledger import Attempt, Disposition, Entry, Try, Verdict
from shardwright.outcomes import CUT_SHORT, FAILED, OK, TIMED_OUT
from tests.history.fires import FIRE, ME, OTHER, T, a_key, a_run, a_verdict, after, an_attempt, ended, started

LOST_BY_OTHER = an_attempt("a0", by=OTHER, ended=3, outcome=ledger.LOST_RUN)

moments = some.integers(0, 5).map(after)
tries = some.builds(
    Try, some.integers(1, 15), some.none() | moments, moments, some.sampled_from([FAILED, TIMED_OUT])
)
attempts = some.builds(
    Attempt,
    some.sampled_from(["a1", "a2", "a3"]),
    some.sampled_from([ME, OTHER]),
    some.sampled_from(["scheduled", "failover"]),
    some.integers(1, 3),
    some.none() | moments,
    some.none() | moments,
    some.sampled_from(["", ledger.LOST_RUN, CUT_SHORT, OK, FAILED, TIMED_OUT]),
    some.sampled_from(["", "ValueError"]),
    tries=some.lists(tries, max_size=1).map(tuple),
)
verdicts = some.builds(
    Verdict,
    some.sampled_from(list(Disposition)[2:6]),
    moments,
    some.sampled_from(["", "disabled"]),
)
told = some.builds(
    Entry, some.just(a_key()), moments, attempts.map(lambda one: (one,)), some.none() | verdicts
)


def together(*found: Entry) -> Entry:
    return reduce(Entry.joined, found, found[0])


@given(some.lists(told, min_size=1, max_size=6), some.randoms(use_true_random=False))
def test_what_is_told_twice_or_in_another_order_comes_to_the_same(found: list[Entry], chance: Random) -> None:
    again = [*found, chance.choice(found)]
    chance.shuffle(again)
    assert together(*again) == together(*found)


@given(told, told, told)
def test_it_does_not_matter_who_puts_together_what_first(one: Entry, two: Entry, three: Entry) -> None:
    assert one.joined(two).joined(three) == one.joined(two.joined(three))


@given(told, told)
def test_a_fire_that_ran_stays_one_that_ran(one: Entry, two: Entry) -> None:
    ran = {Disposition.RAN, Disposition.FAILED_OVER}
    if one.disposition in ran:
        assert one.joined(two).disposition in ran


def test_entries_about_different_fires_are_not_joined() -> None:
    with pytest.raises(ValueError, match="not about the same"):
        a_run(0).joined(a_run(1))


@pytest.mark.parametrize(
    ("entry", "disposition", "outcome"),
    [
        (Entry(a_key(), T, (an_attempt(),)), "RUNNING", ""),
        (a_run(), "RAN", OK),
        (a_run(outcome=FAILED), "RAN", FAILED),
        (Entry(a_key(), T, (LOST_BY_OTHER,)), "LOST", ""),
        (Entry(a_key(), T, (LOST_BY_OTHER, an_attempt(number=2))), "RUNNING", ""),
        (Entry(a_key(), T, (LOST_BY_OTHER, an_attempt(number=2, ended=9, outcome=OK))), "FAILED_OVER", OK),
        (a_verdict(Disposition.MADE_GOOD, later=after(60).isoformat()), "MADE_GOOD", ""),
        (a_verdict(Disposition.UNKNOWN).joined(a_verdict(Disposition.SKIPPED)), "SKIPPED", ""),
        (a_verdict(Disposition.UNKNOWN).joined(a_run()), "RAN", OK),
    ],
)
def test_what_is_known_gives_the_disposition(entry: Entry, disposition: str, outcome: str) -> None:
    assert (entry.disposition, entry.outcome) == (disposition, outcome)


def test_a_later_attempt_has_the_last_word() -> None:
    first = Entry(a_key(), T, (an_attempt("a1", ended=1, outcome=FAILED),))
    again = Entry(a_key(), T, (an_attempt("a2", number=2, began=60, ended=61, outcome=OK),))
    for entry in (first.joined(again), again.joined(first)):
        assert entry.outcome == OK
        assert [attempt.id for attempt in entry.attempts] == ["a1", "a2"]


def test_of_runs_that_were_asked_for_again_the_last_claim_has_the_last_word() -> None:
    """Each time they count from the beginning, and a taker of theirs counts on: the number says little."""
    lost = an_attempt("3", outcome=ledger.LOST_RUN)
    taken = an_attempt("4", number=2, began=60, ended=61, outcome=OK, source="failover")
    after_all = an_attempt("10", number=1, began=120, ended=121, outcome=FAILED, source="trigger")
    entry = together(*(Entry(a_key(), T, (attempt,)) for attempt in (after_all, taken, lost)))
    assert entry.outcome == FAILED
    assert [attempt.id for attempt in entry.attempts] == ["3", "4", "10"]


def test_of_very_many_attempts_the_first_and_the_last_ones_are_listed() -> None:
    entry = together(
        *(Entry(a_key(), T, (an_attempt(f"a{n}", number=n, outcome=FAILED),)) for n in range(1, 200))
    )
    assert [attempt.number for attempt in entry.attempts] == [1, *range(151, 200)]


def test_of_very_many_tries_the_first_and_the_last_ones_are_listed() -> None:
    told = [Entry(a_key(), T, (an_attempt(),))]
    for number in range(1, 31):
        event = events.Retried(
            at=after(number), job="reindex", made=7, fire=FIRE, item=0, attempt="a1", by=ME, tried=number,
            outcome=FAILED, failure="password=hunter2",
        )  # fmt: skip
        told += [entry for entry in [entries.of(event)] if entry]
    (attempt,) = together(*told).attempts
    assert [each.number for each in attempt.tries] == [1, *range(22, 31)]
    assert {each.failure for each in attempt.tries} == {"password=***"}
    assert attempt.outcome == ""


def test_how_long_a_shard_took_is_told_of_its_last_run_alone() -> None:
    again = an_attempt("a2", number=2, began=3600, ended=3602, outcome=OK)
    assert Entry(a_key(), T, (an_attempt(ended=5, outcome=FAILED), again)).took == 2
    assert Entry(a_key(), T, (an_attempt(),)).took is None


def test_lateness_counts_from_the_scheduled_time_to_the_first_run() -> None:
    assert a_run(late=2.5).late == 2.5
    assert a_run(late=-0.5).late == 0.0


def test_a_fire_that_was_asked_for_is_never_late() -> None:
    entry = entries.of(started(fire="#12", at=after(30)))
    assert entry is not None
    assert entry.late is None
    assert entry.due == after(30)


def test_a_fire_has_one_name_however_it_is_told() -> None:
    assert ledger.named("2030-01-01T03:00:00+01:00") == ledger.named("2030-01-01T02:00:00") == FIRE
    assert ledger.named(T) == FIRE
    assert ledger.named("#5") == "#5"


def test_the_events_of_a_run_make_one_entry() -> None:
    entry = together(*filter(None, map(entries.of, [ended(), started()])))
    assert entry == Entry(a_key(), T, (an_attempt(ended=1, outcome=OK),))


def test_a_run_whose_member_died_is_a_lost_attempt() -> None:
    gone = events.FailedOver(at=after(3), job="reindex", made=7, fire=FIRE, item=0, attempt="a0", by=OTHER)
    assert entries.of(gone) == Entry(
        a_key(), T, (Attempt("a0", OTHER, ended=after(3), outcome=ledger.LOST_RUN),)
    )


def test_a_reason_is_masked_and_kept() -> None:
    skipped = events.Skipped(at=after(1), job="reindex", made=7, fire=FIRE, item=0, reason="token=abc")
    assert entries.of(skipped) == a_verdict(Disposition.SKIPPED, reason="token=***")


def test_what_is_not_about_a_fire_is_no_entry() -> None:
    assert entries.of(events.Moved(at=T, job="reindex", shards=3)) is None
    refused = events.StaleRefused(at=T, job="reindex", fire=FIRE, item=0)
    assert entries.of(refused) is None
