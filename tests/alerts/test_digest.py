"""Which alerts are sent at once and which wait: nothing here has a thread or a clock."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shardwright.alerts import Alert, Kind
from shardwright.alerts.digest import Digest, Message
from shardwright.jobs import JobConfig


def a_message(what: str = "x", *, job: str = "j", kind: Kind = Kind.FAILED) -> Message:
    return Message(JobConfig(name=job), Alert(kind, job, what))


def sent(digest: Digest, now: float) -> list[tuple[str, int]]:
    """What is to be sent now, each with the number of alerts it stands for."""
    found = []
    while message := digest.next(now):
        found.append((message.alert.what, message.alert.times))
    return found


def test_the_first_is_sent_at_once_and_the_next_when_the_window_ends_as_one() -> None:
    digest = Digest(window=60)
    for number in range(38):
        digest.take(a_message(f"{number}"), now=10.0 + number)
    assert sent(digest, 47.0) == [("0", 1)]
    assert digest.due() == 70.0
    assert sent(digest, 69.9) == []
    assert sent(digest, 70.0) == [("37", 37)]
    assert (digest.due(), digest.collapsed, digest.dropped) == (None, 37, 0)


def test_what_was_sent_for_several_opens_a_window_of_its_own() -> None:
    digest = Digest(window=60)
    for now in (0.0, 1.0, 60.0, 61.0, 119.0):
        digest.take(a_message(f"{now}"), now)
    assert sent(digest, 119.0) == [("0.0", 1), ("1.0", 1)]
    assert sent(digest, 120.0) == [("119.0", 3)]


def test_a_window_in_which_nothing_more_happened_is_forgotten() -> None:
    digest = Digest(window=60)
    digest.take(a_message("a"), 0.0)
    digest.take(a_message("b"), 60.0)
    assert sent(digest, 60.0) == [("a", 1), ("b", 1)]


def test_jobs_and_kinds_do_not_wait_for_each_other() -> None:
    digest = Digest()
    digest.take(a_message("a"), 0.0)
    digest.take(a_message("b", job="other"), 0.0)
    digest.take(a_message("c", kind=Kind.MISSED), 0.0)
    assert sent(digest, 0.0) == [("a", 1), ("b", 1), ("c", 1)]


def test_a_burst_is_how_many_are_sent_at_once() -> None:
    digest = Digest(window=60, burst=3)
    for number in range(10):
        digest.take(a_message(f"{number}"), 0.0)
    assert sent(digest, 0.0) == [("0", 1), ("1", 1), ("2", 1)]
    assert sent(digest, 60.0) == [("9", 7)]


def test_the_job_as_it_was_last_says_how_to_send_them() -> None:
    digest = Digest(window=60)
    before, after = JobConfig(name="j", label="before"), JobConfig(name="j", label="after")
    for config in (before, before, after):
        digest.take(replace(a_message(), config=config), 0.0)
    assert [digest.next(now).config.label for now in (0.0, 60.0)] == ["before", "after"]  # type: ignore[union-attr]


def test_nothing_waits_after_a_flush() -> None:
    digest = Digest()
    for what in ("a", "b", "c"):
        digest.take(a_message(what), 0.0)
    digest.flush()
    assert sent(digest, 0.0) == [("a", 1), ("c", 2)]
    assert digest.due() is None


def test_it_remembers_no_more_than_its_limit_and_counts_the_rest() -> None:
    digest = Digest(limit=10)
    for number in range(100):
        digest.take(a_message(job=f"job{number}"), 0.0)
    assert len(sent(digest, 0.0)) == 10
    assert digest.dropped == 90
    assert digest.drop() == 0


Told = tuple[float, int, Kind]


@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 3), st.sampled_from(Kind)), max_size=200),
    st.integers(1, 4),
    st.integers(1, 12),
)
def test_every_alert_is_sent_for_or_counted_as_dropped(told: list[Told], burst: int, limit: int) -> None:
    digest, now, heard = Digest(window=60, burst=burst, limit=limit), 0.0, 0
    for pause, job, kind in told:
        now += pause
        digest.take(a_message(job=f"j{job}", kind=kind), now)
        if job % 2:
            heard += sum(times for _, times in sent(digest, now))
    heard += sum(times for _, times in sent(digest, now + 60))
    assert heard + digest.dropped == len(told)
    assert digest.due() is None
