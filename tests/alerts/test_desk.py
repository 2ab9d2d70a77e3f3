"""Alerts are taken from any thread in no time; what becomes of them reaches no run."""

import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shardwright import alerts
from shardwright.alerts import Alert, Desk, Kind, Settings, smtp
from shardwright.alerts.desk import Counts
from shardwright.clock import HandClock
from shardwright.jobs import JobConfig
from tests.alerts.alarms import ALERT, TEXT, a_job, by_mail, tell
from tests.alerts.post_office import PostOffice
from tests.alerts.web import Web
from tests.recipes.heard import Heard


class Pager:
    """A handler of one's own, for tests: what it was sent, and how often it was made."""

    def __init__(self) -> None:
        self.sent: Heard[Alert] = Heard()
        self.made: list[str] = []
        self.error: BaseException | None = None
        self.free = threading.Event()
        self.free.set()
        alerts.register("PAGER", self.make)

    def make(self, settings: Settings) -> "Pager":
        self.made.append(settings.text("pager.number"))
        return self

    def send(self, alert: Alert) -> None:
        self.sent(alert)
        self.free.wait()
        if self.error is not None:
            raise self.error


@pytest.fixture
def pager() -> Iterator[Pager]:
    pager = Pager()
    yield pager
    pager.free.set()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "shardwright-alerts"]


# What is done here


def test_a_job_that_says_nothing_has_its_alerts_logged_by_whoever_tells_them(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.tell(a_job(), ALERT)
    desk.tell(a_job("LOG"), ALERT)
    assert caplog.messages == [TEXT, TEXT]
    assert {record.threadName for record in caplog.records} == {threading.current_thread().name}
    assert threads() == []


def test_what_is_to_be_ignored_is(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.tell(a_job("IGNORE"), ALERT)
    assert caplog.messages == []
    assert desk.counts == Counts()


def test_what_is_to_be_thrown_is_logged_and_counted_and_breaks_nothing(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.tell(a_job("THROW"), ALERT)
    desk.tell(a_job("THROW"), replace(ALERT, kind=Kind.MISSED))
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert caplog.messages[0] == TEXT
    assert desk.counts == Counts(thrown=2)


def test_a_handler_that_only_others_know_is_mentioned_once_and_its_alerts_are_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.tell(a_job("JAVA_ONLY"), ALERT)
    desk.tell(a_job("JAVA_ONLY"), ALERT)
    assert caplog.messages == [
        "nightly: there is no error handler 'JAVA_ONLY' here; its alerts are logged",
        TEXT,
        TEXT,
    ]


# What is sent


def test_a_thousand_failures_are_a_handful_of_messages_that_speak_for_all(
    desk: Desk, clock: HandClock, web: Web
) -> None:
    config = a_job("WEBHOOK", webhook_url=web.url)

    def fail() -> None:
        for _ in range(125):
            tell(desk, config, ALERT)

    failing = [threading.Thread(target=fail) for _ in range(8)]
    for thread in failing:
        thread.start()
    for thread in failing:
        thread.join()
    web.posted.until(lambda posted: len(posted) == 1)
    clock.advance(60)
    desk.wake()
    web.posted.until(lambda posted: len(posted) == 2)
    assert [posted.json()["times"] for posted in web.posted.all] == [1, 999]
    assert web.posted.all[1].json()["subject"].endswith(", and 998 more")
    desk.close()
    assert desk.counts == Counts(sent=2, collapsed=999)


def test_a_window_ends_by_itself(web: Web) -> None:
    desk = Desk(window=0.05)
    for _ in range(5):
        tell(desk, a_job("WEBHOOK", webhook_url=web.url), ALERT)
    web.posted.until(lambda posted: sum(each.json()["times"] for each in posted) == 5)
    desk.close()


def test_the_thread_is_there_only_while_it_is_needed(desk: Desk, pager: Pager) -> None:
    for number in (1, 2):
        desk.tell(a_job("PAGER"), replace(ALERT, job=f"{number}", kind=list(Kind)[number]))
        for thread in threads():
            assert thread.daemon
            thread.join()
        assert len(pager.sent.all) == number
        assert threads() == []


def test_handlers_are_made_anew_when_their_type_or_props_change(pager: Pager, clock: HandClock) -> None:
    desk = Desk(clock, burst=10)
    for config in (
        a_job("PAGER", pager_number="1"),
        a_job("PAGER", pager_number="1"),
        a_job("PAGER", pager_number="1").replace(label="changed"),
        a_job("PAGER", pager_number="2"),
        a_job("LOG"),
        a_job("PAGER", pager_number="2"),
    ):
        desk.tell(config, ALERT)
    desk.close()
    assert len(pager.sent.all) == 5
    assert pager.made == ["1", "2"]


def test_too_many_are_dropped_and_counted(pager: Pager, clock: HandClock) -> None:
    pager.free.clear()
    desk = Desk(clock, limit=10)
    for number in range(100):
        desk.tell(JobConfig(name=f"job{number}", error_handler="PAGER"), ALERT)
    pager.free.set()
    desk.close()
    assert desk.counts == Counts(sent=10, dropped=90)


# What cannot be sent


def dead_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return int(closed.getsockname()[1])


def test_a_message_that_cannot_be_delivered_is_logged_and_counted_and_never_raised(
    web: Web, post_office: PostOffice, pager: Pager, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    nobody, hook = f"http://127.0.0.1:{dead_port()}", {"wechat_webhook": web.url}
    web.answer = {"errcode": 45009, "errmsg": "api freq out of limit"}
    post_office.refusals = {"RCPT": "550 nobody here"}
    pager.error = ZeroDivisionError("division by zero, token=hunter2")
    fails = [
        (a_job("SLACK", slack_webhook=nobody), "the server in slack.webhook cannot be connected to"),
        (a_job("WECHAT", **hook), "refused it: errcode 45009, 'api freq out of limit'"),
        (a_job("EMAIL", **by_mail(post_office.port)), "refused every recipient: 550 'nobody here'"),
        (a_job("EMAIL", **by_mail(dead_port())), "does not take connections"),
        (a_job("SLACK", slack_webhook="${env:X_NOT_SET}"), "slack.webhook: ${env:X_NOT_SET} is not set"),
        (a_job("SLACK"), "slack.webhook must be a URL"),
        (a_job("PAGER"), "ZeroDivisionError: division by zero, token=***"),
    ]
    desk = Desk(clock, burst=100)
    for config, _ in fails:
        tell(desk, config, ALERT)
    desk.close()
    assert desk.counts == Counts(failed=len(fails))
    for (config, why), message in zip(fails, caplog.messages, strict=True):
        assert message.startswith(f"nightly: an alert was not delivered by {config.error_handler}: ")
        assert why in message
        assert message.endswith(f"; it was: {TEXT}")
    assert {record.levelname for record in caplog.records} == {"ERROR"}


@pytest.mark.parametrize("status", [404, 500])
def test_a_status_that_is_no_success_counts_as_failed(
    status: int, desk: Desk, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    web.status = status
    tell(desk, a_job("WEBHOOK", webhook_url=web.url), ALERT)
    desk.close()
    assert f"answered with status {status}" in caplog.text
    assert desk.counts == Counts(failed=1)


def test_silence_counts_as_failed_and_the_next_is_sent_all_the_same(
    desk: Desk, web: Web, post_office: PostOffice, pager: Pager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "PATIENCE", 0.05)
    web.is_silent = post_office.is_silent = True
    tell(desk, a_job("SLACK", slack_webhook=web.url, slack_readTimeoutMilliseconds="50"), ALERT)
    tell(desk, a_job("EMAIL", **by_mail(post_office.port)), replace(ALERT, kind=Kind.MISSED))
    desk.tell(a_job("PAGER"), replace(ALERT, kind=Kind.FAILOVER))
    pager.sent.until(lambda sent: len(sent) == 1)
    desk.close()
    assert desk.counts == Counts(sent=1, failed=2)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "error", [SystemExit(1), Unspeakable(), RecursionError(), AssertionError("x" * 99_999)]
)
def test_nothing_a_handler_does_ends_the_thread(error: BaseException, clock: HandClock, pager: Pager) -> None:
    desk = Desk(clock, burst=2)
    pager.error = error
    desk.tell(a_job("PAGER"), ALERT)
    pager.sent.until(lambda sent: len(sent) == 1)
    desk.tell(a_job("PAGER"), ALERT)
    desk.close()
    assert desk.counts == Counts(failed=2)


class Full(logging.Handler):
    def handle(self, record: logging.LogRecord) -> bool:
        raise OSError("no space left on device")


@pytest.mark.parametrize("kind", ["LOG", "THROW", "PAGER", "JAVA_ONLY"])
def test_a_log_that_fails_ends_nothing(kind: str, clock: HandClock, pager: Pager) -> None:
    desk, full = Desk(clock, burst=2), Full()
    pager.error = ValueError("no such number")
    logging.getLogger("shardwright").addHandler(full)
    try:
        desk.tell(a_job(kind), ALERT)
        desk.close()
    finally:
        logging.getLogger("shardwright").removeHandler(full)
    assert desk.counts == Counts(failed=kind == "PAGER", thrown=kind == "THROW")


def test_where_the_system_has_no_threads_left_what_can_be_sent_is_and_the_next_has_a_thread_again(
    clock: HandClock, pager: Pager, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def no_more_than_one(thread: threading.Thread) -> None:
        if isinstance(thread, threading.Timer):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", no_more_than_one)
    desk = Desk(clock, burst=2)
    desk.tell(a_job("PAGER"), ALERT)
    pager.sent.until(lambda sent: len(sent) == 1)
    desk.tell(a_job("PAGER"), ALERT)
    desk.close()
    assert desk.counts == Counts(sent=2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_ends_the_thread_that_sends_what_is_told_next_is_sent(
    clock: HandClock, pager: Pager
) -> None:
    def told(job: str, kind: str, delivered: bool) -> None:
        desk.told = lambda *_: None
        raise SystemExit

    desk = Desk(clock, burst=2)
    desk.told = told
    desk.tell(a_job("PAGER"), ALERT)
    pager.sent.until(lambda sent: len(sent) == 1)
    for thread in threads():
        thread.join()
    desk.tell(a_job("PAGER"), ALERT)
    desk.close()
    assert desk.counts == Counts(sent=2)


def test_what_is_no_alert_at_all_raises_nothing(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.tell(a_job(), None)  # type: ignore[arg-type]
    assert caplog.messages == ["an alert could not be taken (AttributeError)"]


# The end


def test_closing_sends_what_waits(desk: Desk, pager: Pager) -> None:
    for _ in range(10):
        desk.tell(a_job("PAGER"), ALERT)
    desk.close()
    assert [alert.times for alert in pager.sent.all] == [1, 9]
    assert threads() == []


def test_closing_waits_no_longer_than_it_may(
    desk: Desk, pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    pager.free.clear()
    for _ in range(10):
        desk.tell(a_job("PAGER"), ALERT)
    pager.sent.until(lambda sent: len(sent) == 1)
    desk.close(timeout=0.01)
    assert caplog.messages == ["9 alerts were not sent: there was no more time"]
    assert desk.counts.dropped == 9
    pager.free.set()
    for thread in threads():
        thread.join()
    assert [alert.times for alert in pager.sent.all] == [1]


def test_what_comes_after_the_end_is_at_least_logged(
    desk: Desk, pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    desk.close()
    desk.close()
    desk.tell(a_job("PAGER"), ALERT)
    assert caplog.messages == [TEXT]
    assert desk.counts == Counts(dropped=1)
    assert (pager.sent.all, threads()) == ([], [])


def test_a_handler_may_close_the_desk_it_is_called_by(clock: HandClock) -> None:
    desk = Desk(clock)

    class Closing:
        def __init__(self, settings: Settings) -> None:
            pass

        def send(self, alert: Alert) -> None:
            desk.close()

    alerts.register("CLOSING", Closing)
    desk.tell(a_job("CLOSING"), ALERT)
    for thread in threads():
        thread.join()
    assert desk.counts == Counts(sent=1)


def test_nothing_is_loaded_for_posting_before_something_is_posted() -> None:
    code = "import sys, shardwright.alerts; print('urllib3' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert loaded.stdout == "False\n"


def test_logging_at_every_level_says_nothing_of_a_message_that_was_delivered(
    desk: Desk, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tell(desk, a_job("WEBHOOK", webhook_url=web.url), ALERT)
    desk.close()
    assert caplog.messages == []
    assert desk.counts == Counts(sent=1)


class Hanging:
    """A handler that comes back when it is let go."""

    def __init__(self) -> None:
        self.began, self.go = threading.Event(), threading.Event()

    def send(self, alert: Alert) -> None:
        self.began.set()
        self.go.wait(20)


def test_a_handler_that_hangs_holds_up_nobody_but_itself(
    pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    hanging = Hanging()
    alerts.register("HANGING", lambda settings: hanging)
    desk, other = Desk(patience=0.05), a_job("PAGER").replace(name="other")
    desk.tell(a_job("HANGING"), ALERT)
    assert hanging.began.wait(20)
    desk.tell(other, ALERT)
    pager.sent.until(lambda sent: len(sent) == 1)
    desk.tell(a_job("HANGING"), replace(ALERT, kind=Kind.MISSED))
    desk.tell(other, replace(ALERT, kind=Kind.MISSED))
    pager.sent.until(lambda sent: len(sent) == 2)
    assert "HANGING has not come back" in caplog.text
    assert "not delivered by HANGING: it still has the one before" in caplog.text
    hanging.go.set()
    for thread in threads():
        thread.join()
    desk.tell(a_job("HANGING"), replace(ALERT, kind=Kind.TIMED_OUT))  # which comes back at once by now
    desk.close()
    assert desk.counts == Counts(sent=4, failed=1)
