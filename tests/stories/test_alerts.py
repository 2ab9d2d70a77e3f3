"""A job that fails tells people, by real servers on loopback that keep what arrived; and it does not tell
them a hundred times, nor is it disturbed where nobody listens."""

import base64
import hashlib
import json
import re
import socket
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from shardwright import Scheduler, Shard
from shardwright.alerts import Counts
from shardwright.registry import Create, Landed
from shardwright.runtime import sentry
from tests.alerts.post_office import PostOffice
from tests.alerts.web import Posted, Web
from tests.faults.processes import Child
from tests.recipes.heard import Heard, listening, says

from . import workers
from .telling import EVERY_SECOND, A, B, C, Story
from .watching import Ends, Held

SECRET = "SEC+/= 密钥"
SUBJECT = "job: failed, shard 1: ValueError: no such customer"


def broken(shard: Shard) -> None:
    if shard.item == 1:
        raise ValueError("no such customer")


def fail(story: Story, handler: str, **props: str) -> Scheduler:
    """A job of two shards that has failed with one of them; what it has to say was said when this returns."""
    scheduler = Scheduler(story.url, address=A, grace=2.0)
    with scheduler:
        spelled = {name.replace("_", "."): value for name, value in props.items()}
        scheduler.add(broken, "job", shards=2, error_handler=handler, props=spelled)
        scheduler.trigger("job")
        Ends(story).until("ok", "failed")
    return scheduler


def only(web: Web) -> Posted:
    (posted,) = web.posted.all
    return posted


def assert_told(text: str) -> None:
    """Whether it is all there: what happened, to which shard, and where in the code."""
    lines = text.splitlines()
    assert lines[0] == SUBJECT
    assert lines[1].startswith("Traceback")
    assert any(line.endswith("in broken") for line in lines)
    assert lines[-1] == "ValueError: no such customer"


# By each of them


def test_by_email(story: Story) -> None:
    with PostOffice() as office:
        fail(
            story,
            "EMAIL",
            email_host="localhost",
            email_port=str(office.port),
            email_username="me",
            email_password="hunter2",
            email_from="Jobs <jobs@example.com>",
            email_to="ops@example.com",
            email_useSsl="false",
        )
        (letter,) = office.letters.all
    assert (letter.sender, letter.recipients) == ("jobs@example.com", ("ops@example.com",))
    assert letter.login == "me:hunter2"
    assert letter.read()["Subject"] == SUBJECT
    assert_told(letter.text())


def test_by_dingtalk_signed_as_its_robot_reckons(story: Story) -> None:
    with Web() as web:
        fail(
            story,
            "DINGTALK",
            dingtalk_webhook=f"{web.url}/robot/send?access_token=abc",
            dingtalk_secret=SECRET,
            dingtalk_keyword="jobs",
        )
        posted = only(web)
    assert urlsplit(posted.target).path == "/robot/send"
    query = parse_qs(urlsplit(posted.target).query)
    (stamp,), (sign,) = query["timestamp"], query["sign"]
    assert query["access_token"] == ["abc"]
    assert base64.b64decode(sign, validate=True) == hmac_sha256(
        SECRET.encode(), f"{stamp}\n{SECRET}".encode()
    )
    # A + that is sent as it is would be read as a blank, and is one in many signatures.
    raw = posted.target.partition("&sign=")[2]
    assert re.fullmatch(r"(?:[A-Za-z0-9]|%2B|%2F|%3D)+", raw)
    assert unquote(raw) == sign
    body = posted.json()
    keyword, _, text = body["text"]["content"].partition("\n")
    assert (body["msgtype"], keyword) == ("text", "jobs")
    assert_told(text)


def test_by_wechat(story: Story) -> None:
    with Web() as web:
        fail(story, "WECHAT", wechat_webhook=f"{web.url}/cgi-bin/webhook/send?key=abc")
        posted = only(web)
    assert posted.target == "/cgi-bin/webhook/send?key=abc"
    assert posted.json()["msgtype"] == "text"
    assert_told(posted.json()["text"]["content"])


def test_by_slack(story: Story) -> None:
    with Web() as web:
        web.answer = b"ok"
        fail(story, "SLACK", slack_webhook=f"{web.url}/services/T/B/X")
        posted = only(web)
    assert posted.target == "/services/T/B/X"
    assert_told(posted.json()["text"])


def test_by_feishu_signed_as_its_robot_reckons(story: Story) -> None:
    with Web() as web:
        fail(story, "FEISHU", feishu_webhook=f"{web.url}/hook/x", feishu_secret=SECRET)
        body = only(web).json()
    assert base64.b64decode(body["sign"]) == hmac_sha256(f"{body['timestamp']}\n{SECRET}".encode(), b"")
    assert body["msg_type"] == "text"
    assert_told(body["content"]["text"])


def test_by_a_webhook_of_ones_own_with_its_token(story: Story) -> None:
    with Web() as web:
        scheduler = fail(story, "WEBHOOK", webhook_url=f"{web.url}/in", webhook_token="abc")
        posted = only(web)
    assert scheduler.alerts == Counts(sent=1)
    assert (posted.target, posted.headers["Authorization"]) == ("/in", "Bearer abc")
    body = posted.json()
    assert {key: body[key] for key in ("kind", "job", "item", "fire", "times", "subject")} == {
        "kind": "failed",
        "job": "job",
        "item": 1,
        "fire": None,
        "times": 1,
        "subject": SUBJECT,
    }
    assert_told(body["text"])


def hmac_sha256(key: bytes, text: bytes) -> bytes:
    """RFC 2104, by hand: what the receiving side reckons, without a helper of the sender's."""
    key = key if len(key) <= 64 else hashlib.sha256(key).digest()
    inner, outer = (bytes(byte ^ pad for byte in key.ljust(64, b"\0")) for pad in (0x36, 0x5C))
    return hashlib.sha256(outer + hashlib.sha256(inner + text).digest()).digest()


# How often, and at what cost


def test_a_job_that_fails_a_hundred_times_sends_a_handful_of_messages_that_count_them_all(
    story: Story,
) -> None:
    failures: Heard[int] = Heard()

    def body(shard: Shard) -> None:
        failures(shard.item)
        raise ValueError("no such customer")

    with Web() as web:
        props = {"webhook.url": web.url}
        with Scheduler(story.url, address=A, grace=2.0) as scheduler:
            scheduler.add(body, "job", shards=25, error_handler="WEBHOOK", props=props)
            for count in (25, 50, 75, 100):
                scheduler.trigger("job")
                failures.until(lambda all_, count=count: len(all_) == count)  # type: ignore[misc]
                Ends(story).until(*["failed"] * 25)
        told = [posted.json() for posted in web.posted.all]
    assert sum(each["times"] for each in told) == 100
    assert len(told) <= 5
    assert told[-1]["subject"] == f"job: failed, shard {told[-1]['item']}: ValueError: no such customer" + (
        f", and {told[-1]['times'] - 1} more"
    )


def test_a_webhook_that_nobody_listens_to_does_not_disturb_the_job(story: Story) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with listening() as heard:
        scheduler = fail(story, "WEBHOOK", webhook_url=f"http://127.0.0.1:{port}/x")
        heard.until(says("ERROR job: an alert was not delivered by WEBHOOK: the server in webhook.url"))
    assert scheduler.alerts == Counts(failed=1)


def test_a_webhook_that_never_answers_does_not_keep_the_next_fires_waiting(story: Story) -> None:
    ran: Heard[Shard] = Heard()

    def body(shard: Shard) -> None:
        ran(shard)
        raise ValueError("no such customer")

    with Web() as web:
        web.is_silent = True
        props = {"webhook.url": web.url, "webhook.readTimeoutMilliseconds": "60000"}
        with Scheduler(story.url, address=A, grace=2.0) as scheduler:
            scheduler.add(body, "job", cron=EVERY_SECOND, error_handler="WEBHOOK", props=props)
            web.posted.until(lambda all_: len(all_) == 1)
            before = len(ran.all)
            ran.until(lambda all_: len(all_) >= before + 3)
        assert len(web.posted.all) == 1


def test_a_run_that_took_too_long_is_told_of_as_such(story: Story) -> None:
    with Web() as web, Scheduler(story.url, address=A, grace=2.0) as scheduler:
        held, props = Held(), {"webhook.url": web.url}
        scheduler.add(held, "job", timeout="300ms", error_handler="WEBHOOK", props=props)
        scheduler.trigger("job")
        (posted,) = web.posted.until(lambda all_: len(all_) == 1)
    assert (posted.json()["kind"], posted.json()["item"]) == ("timed out", 0)


# What happens to processes


@pytest.fixture
def short(story: Story) -> str:
    """The registry, for those who are to be given up soon."""
    return f"{story.url}?session_timeout=4s"


def kinds(posted: list[Posted]) -> list[str]:
    return [json.loads(each.body)["kind"] for each in posted]


def test_whoever_runs_the_shard_of_one_that_was_killed_tells_so(story: Story, short: str) -> None:
    with Web() as web, Child(workers.hold, short, A, web.url) as victim:
        victim.expect("runs")
        story.start(B, cron=None, **workers.alerting(web.url))
        story.until(lambda: len(story.tree().children("instances")) == 2)
        victim.kill()
        story.until_ran(lambda: bool(story.ran))
        (posted,) = web.posted.until(lambda all_: len(all_) == 1)
        told = posted.json()
    assert [ran.who for ran in story.ran] == [B]
    assert (told["kind"], told["job"], told["item"]) == ("failover", "job", 0)


def test_where_nobody_runs_it_again_one_that_lives_tells_that_it_is_lost(story: Story, short: str) -> None:
    with Web() as web, Child(workers.hold, short, A, web.url, False) as victim:
        victim.expect("runs")
        for address in (B, C):
            story.start(address, cron=None, **workers.alerting(web.url, failover=False))
        story.until(lambda: len(story.tree().children("instances")) == 3)
        victim.kill()
        web.posted.until(lambda all_: len(all_) == 1)
        story.ask_for_a_run(1)
        (posted,) = web.posted.all
        told = posted.json()
    assert len(story.ran) == 1
    assert (told["kind"], told["job"], told["item"]) == ("lost", "job", 0)
    assert told["subject"].endswith("its runner died, and the job does not want it to be run again")


def test_one_that_was_given_up_in_mid_run_tells_so_when_it_comes_to(story: Story, short: str) -> None:
    with Web() as web, Child(workers.hold, short, A, web.url) as victim:
        victim.expect("runs")
        story.start(B, cron=None, **workers.alerting(web.url))
        story.until(lambda: len(story.tree().children("instances")) == 2)
        stop_clear_of_writes(story, victim)
        story.until_ran(lambda: bool(story.ran))
        web.posted.until(lambda all_: kinds(all_) == ["failover"])
        victim.cont()
        told = web.posted.until(lambda all_: len(all_) == 2)[-1].json()
    assert (told["kind"], told["job"]) == ("lease lost", "job")


def test_that_a_fire_was_missed_is_told_by_another_than_those_who_missed_it(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another job keeps the only place of its group."""
    monkeypatch.setattr(sentry, "ROUND", 0.5)
    monkeypatch.setattr(sentry, "LISTED", 0.5)
    hog, place = Held(), f"{story.operator.namespace}{sentry.NODE}"
    few: dict[str, Any] = {"group": "few", "concurrency": 1}
    allowed = ["localhost"]  # that one does not declare the job, and takes no place inside on trust
    with (
        Web() as web,
        Scheduler(story.url, address=A, grace=2.0, missed_after=1.0, http_allowed=allowed) as watching,
    ):
        story.until(lambda: story.operator.wait(story.operator.read([place], fresh=True))[place] is not None)
        with Scheduler(story.url, address=B, grace=2.0, missed_after=3600.0) as scheduler:
            scheduler.add(hog, "hog", **few)
            scheduler.trigger("hog")
            hog.until(lambda: hog.inside)
            soon = datetime.now(UTC) + timedelta(seconds=3)
            few |= {"cron": f"{soon.second} {soon.minute} {soon.hour} * * ?", "time_zone": "UTC"}
            few |= {"error_handler": "WEBHOOK", "props": {"webhook.url": web.url}}
            scheduler.add(lambda: None, "starved", **few)
            (posted,) = web.posted.until(lambda all_: len(all_) == 1)
    assert (posted.json()["kind"], posted.json()["job"]) == ("missed", "starved")
    assert (watching.alerts, scheduler.alerts) == (Counts(sent=1), Counts())


def stop_clear_of_writes(story: Story, victim: Child) -> None:
    """Whoever is stopped in the midst of a write keeps all others from writing to an SQLite file: that is
    another story, so it goes on, and is stopped once more."""
    for attempt in range(10):
        victim.stop()
        probe = Create(f"{story.operator.namespace}~probe/{attempt}")
        if isinstance(story.operator.wait(story.operator.commit(probe, patience=1.0)), Landed):
            return
        victim.cont()
    raise AssertionError("always in the midst of a write")
