"""Why: the words for what became of a fire."""

from dataclasses import replace

import pytest

from shardwright.history import ledger
from shardwright.history.ledger import Disposition, Entry, Try
from shardwright.history.store import Store
from shardwright.history.why import ask, before, why
from shardwright.outcomes import CUT_SHORT, FAILED, OK, TIMED_OUT
from tests.history.fires import FIRE, ME, OTHER, T, a_key, a_run, a_verdict, after, an_attempt


def told(*found: Entry, before: Entry | None = None) -> str:
    earlier = {before.key.item: before} if before else None
    return why(found, job="reindex", at=FIRE, before=earlier)


def test_a_fire_on_time_needs_one_line() -> None:
    assert told(a_run()) == f"reindex at {FIRE}: it ran on time and came out well."
    assert told(a_run(0), a_run(1)) == f"reindex at {FIRE}: 2 shards ran on time and came out well."


def test_a_fire_nobody_knows_of_says_what_that_may_mean() -> None:
    assert told().startswith(f"reindex at {FIRE}: nothing is known. Either it was not due then")


def test_a_fire_that_was_asked_for_is_called_that() -> None:
    entry = Entry(ledger.Key("reindex", 7, "#12", 0), T, (an_attempt(ended=1, outcome=OK),))
    assert why([entry], job="reindex", at="#12") == "reindex, asked for as #12: it came out well."


def test_a_shard_that_ran_late_after_a_long_run_says_which() -> None:
    earlier = Entry(
        a_key(at=after(-60)), after(-60), (an_attempt(began=0, ended=150, outcome=OK, at=after(-60)),)
    )
    assert told(a_run(late=95), before=earlier).splitlines() == [
        f"reindex at {FIRE}: 1 shard came out well, 1 late.",
        f"  shard 0: it began 1m35s late, on {ME}, because the run before, of {after(-60).isoformat()}, "
        f"went on until {after(90).isoformat()}.",
    ]


@pytest.mark.parametrize(
    ("source", "because"),
    [
        ("catch-up", "because no member was there to run it in time: it was caught up."),
        ("misfire", "because the run before was still going on: it was made good right after."),
        ("failover", "because the member that was to run it had died."),
        ("trigger", "because somebody asked for it then, by a rerun or a backfill."),
        (
            "scheduled",
            "and the ledger does not say why: its member was busy, or the registry slow to answer.",
        ),
    ],
)
def test_a_shard_that_ran_late_says_why_if_that_is_known(source: str, because: str) -> None:
    entry = Entry(a_key(), T, (an_attempt(began=30, ended=31, outcome=OK, source=source),))
    assert because in told(entry)


def test_a_shard_that_ran_elsewhere_lists_the_attempts() -> None:
    lost = an_attempt("a0", by=OTHER, ended=3, outcome=ledger.LOST_RUN)
    again = an_attempt("a1", number=2, began=4, ended=5, outcome=OK, source="failover")
    assert told(Entry(a_key(), T, (lost, again))).splitlines() == [
        f"reindex at {FIRE}: 1 shard came out well, 1 taken over by another member.",
        f"  shard 0: attempt 1 began at {T.isoformat()} on {OTHER} and was lost with its member at "
        f"{after(3).isoformat()}. attempt 2 began at {after(4).isoformat()} on {ME} and came out well at "
        f"{after(5).isoformat()}.",
    ]


@pytest.mark.parametrize(
    ("outcome", "what"), [(ledger.LOST_RUN, "was lost with its member"), (CUT_SHORT, "was cut short")]
)
def test_what_ended_before_its_time_is_not_said_to_have_begun(outcome: str, what: str) -> None:
    claimed = an_attempt(ended=-0.5, outcome=outcome)
    assert told(Entry(a_key(), T, (claimed,))).splitlines()[1] == (
        f"  shard 0: it was claimed for {FIRE} by {ME}, and {what} at {after(-0.5).isoformat()}, "
        "before it began. It was not run again."
    )


def test_what_was_lost_right_at_its_time_is_said_to_have_begun() -> None:
    lost = an_attempt(ended=0, outcome=ledger.LOST_RUN)
    assert f"it began at {FIRE} on {ME} and was lost" in told(Entry(a_key(), T, (lost,)))


def test_a_run_that_ended_before_it_began_because_the_clock_was_set_back_did_begin() -> None:
    entry = Entry(a_key(), T, (an_attempt(ended=-5, outcome=FAILED),))
    assert f"it began at {FIRE} on {ME} and failed" in told(entry)


def test_a_shard_that_failed_says_the_last_line_of_why() -> None:
    failed = an_attempt(ended=1, outcome=FAILED, failure="Traceback\n  file\nValueError: no customer 7")
    text = told(Entry(a_key(), T, (failed,)))
    assert "0 of 1 shard came out well." in text
    assert f"and failed at {after(1).isoformat()} (ValueError: no customer 7)." in text


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            a_verdict(Disposition.SKIPPED, reason="the job was disabled"),
            "it was skipped: the job was disabled.",
        ),
        (
            a_verdict(Disposition.MADE_GOOD, later=after(60).isoformat()),
            f"it could not run in time, and was made good by the run of {after(60).isoformat()}.",
        ),
        (
            a_verdict(Disposition.UNKNOWN, reason="the history was away"),
            "What became of it is unknown: the history was away.",
        ),
        (a_verdict(Disposition.LOST, reason="failover is off"), "It was not run again: failover is off."),
        (
            Entry(a_key(), T, (an_attempt(),)),
            f"it began at {FIRE} on {ME} and no end of it is known yet.",
        ),
    ],
)
def test_a_shard_that_did_not_run_through_says_why(entry: Entry, words: str) -> None:
    assert told(entry).endswith(f"  shard 0: {words}")


def test_shards_that_are_not_over_yet_are_counted_apart() -> None:
    assert told(a_run(0), Entry(a_key(1), T, (an_attempt(),)), a_run(2)).startswith(
        f"reindex at {FIRE}: 2 of 3 shards came out well so far, and 1 not over yet.\n"
    )


def test_shards_of_which_the_same_is_told_share_a_line() -> None:
    verdict = a_verdict(Disposition.SKIPPED, reason="disabled").verdict
    skipped = [Entry(a_key(item), T, (), verdict) for item in (1, 2, 3, 7)]
    assert told(a_run(0), *skipped).splitlines() == [
        f"reindex at {FIRE}: 1 of 5 shards came out well.",
        "  shards 1, 2, 3 and 7: it was skipped: disabled.",
    ]
    assert "shards 1 to 3: it was" in told(a_run(0), *skipped[:3])


def test_of_a_job_made_anew_the_newest_is_told() -> None:
    old = Entry(a_key(made=3), T, (an_attempt(ended=1, outcome=FAILED),))
    assert told(old, a_run()) == told(a_run())


def test_the_store_is_asked_for_what_was_in_the_way(store: Store) -> None:
    long = an_attempt("x", began=0, ended=100, outcome=OK, at=after(-60))
    store.write([Entry(a_key(at=after(-60)), after(-60), (long,)), a_run(late=40), a_run(1)])
    answer = ask(store, "reindex", T)
    assert "2 shards came out well, 1 late." in answer
    assert f"because the run before, of {after(-60).isoformat()}, went on until" in answer
    assert "nothing is known" in ask(store, "reindex", after(999))


def test_the_run_in_the_way_of_one_shard_is_found_among_those_of_many(store: Store) -> None:
    long = Entry(
        a_key(99, at=after(-60)), after(-60), (an_attempt("x", ended=100, outcome=OK, at=after(-60)),)
    )
    others = [a_run(item, at=after(ago)) for item in range(99) for ago in (-40, -20)]
    late = a_run(99, late=40)
    store.write([long, *others, late])
    assert before(store, [late]) == {99: long}
    assert before(store, [a_run(99)]) == {}


def test_a_shard_that_came_out_well_in_the_end_says_what_went_wrong_before() -> None:
    tries = (
        Try(1, T, after(1), FAILED, "Traceback …\nConnectionError: the other side is down"),
        Try(2, after(2), after(3), TIMED_OUT),
    )
    attempt = replace(an_attempt(ended=4, outcome=OK), tries=tries)
    down = "failed (ConnectionError: the other side is down)"
    assert told(Entry(a_key(), T, (attempt,))).splitlines()[1] == (
        f"  shard 0: it began at {T.isoformat()} on {ME}, {down} at "
        f"try 1, took too long and was stopped at try 2, and came out well at {after(4).isoformat()}."
    )
