"""What arrives at the servers of others: bodies, signatures, headers; and what is no delivery."""

import base64
import hashlib
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from shardwright.alerts import Alert, Handler, Settings, Undelivered, post
from shardwright.alerts.dingtalk import DingTalk
from shardwright.alerts.feishu import Feishu
from shardwright.alerts.slack import Slack
from shardwright.alerts.webhook import Webhook
from shardwright.alerts.wechat import WeChat
from shardwright.clock import HandClock, SystemClock
from shardwright.errors import ConfigError
from tests.alerts.alarms import ALERT, TEXT, settings
from tests.alerts.web import Posted, Web
from tests.certificates import Certificates

HANDLERS: list[tuple[Callable[[Settings], Handler], str]] = [
    (WeChat, "wechat.webhook"),
    (DingTalk, "dingtalk.webhook"),
    (Slack, "slack.webhook"),
    (Feishu, "feishu.webhook"),
    (Webhook, "webhook.url"),
]
every_handler = pytest.mark.parametrize(("handler", "key"), HANDLERS, ids=[key for _, key in HANDLERS])


def only(web: Web) -> Posted:
    (posted,) = web.posted.all
    return posted


# Bodies


def test_wechat_is_sent_a_text(web: Web) -> None:
    WeChat(settings(wechat_webhook=f"{web.url}/cgi-bin/webhook/send?key=abc")).send(ALERT)
    assert only(web).target == "/cgi-bin/webhook/send?key=abc"
    assert only(web).json() == {"msgtype": "text", "text": {"content": TEXT}}
    assert only(web).headers["Content-Type"] == "application/json; charset=utf-8"


def test_dingtalk_is_sent_a_text_that_begins_with_the_keyword(web: Web) -> None:
    DingTalk(settings(dingtalk_webhook=f"{web.url}/x?access_token=abc", dingtalk_keyword="告警")).send(ALERT)
    assert only(web).target == "/x?access_token=abc"
    assert only(web).json() == {"msgtype": "text", "text": {"content": f"告警\n{TEXT}"}}


def test_slack_is_sent_a_text_that_calls_nobody(web: Web) -> None:
    Slack(settings(slack_webhook=f"{web.url}/services/x")).send(
        replace(ALERT, what="a && <!channel>", details="")
    )
    assert (
        only(web).json()["text"].splitlines()[0] == "nightly: failed, shard 3: a &amp;&amp; &lt;!channel&gt;"
    )


def test_feishu_is_sent_a_text_that_calls_nobody(web: Web) -> None:
    what = '<at user_id="all">all</at> in <module>'
    Feishu(settings(feishu_webhook=f"{web.url}/hook/x")).send(Alert(ALERT.kind, "j", what))
    text = 'j: failed: ‹at user_id="all">all‹/at> in <module>'
    assert only(web).json() == {"msg_type": "text", "content": {"text": text}}


def test_a_webhook_is_sent_all_there_is_and_its_token(web: Web) -> None:
    Webhook(settings(webhook_url=web.url, webhook_token="abc")).send(replace(ALERT, times=4))
    assert only(web).target == "/"
    assert only(web).headers["Authorization"] == "Bearer abc"
    assert only(web).json() == {
        "kind": "failed",
        "job": "nightly",
        "item": 3,
        "fire": "2030-01-01T02:00:00+00:00",
        "times": 4,
        "subject": "nightly: failed, shard 3: ValueError: no such customer, and 3 more",
        "text": TEXT.replace("customer\n", "customer, and 3 more\n", 1),
    }


def test_who_is_named_in_the_url_logs_in(web: Web) -> None:
    Webhook(settings(webhook_url=web.url.replace("//", "//me:p%40ss@"))).send(ALERT)
    assert only(web).headers["Authorization"] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"


def test_references_are_resolved_when_something_is_sent(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = Webhook(settings(webhook_url=f"{web.url}/${{env:X_PATH}}", webhook_token="${env:X_TOKEN}"))
    for value in ("one", "two"):
        monkeypatch.setenv("X_PATH", value)
        monkeypatch.setenv("X_TOKEN", value)
        handler.send(ALERT)
    seen = [(posted.target, posted.headers["Authorization"]) for posted in web.posted.all]
    assert seen == [("/one", "Bearer one"), ("/two", "Bearer two")]


def test_wechat_gets_no_more_bytes_than_it_takes(web: Web) -> None:
    WeChat(settings(wechat_webhook=web.url)).send(replace(ALERT, details="错" * 5000))
    assert 2000 < len(only(web).json()["text"]["content"].encode()) <= 2048


# Signatures, computed once more from what is documented, without a helper of ours


def hmac_sha256(key: bytes, text: bytes) -> bytes:
    """RFC 2104, by hand."""
    key = key if len(key) <= 64 else hashlib.sha256(key).digest()
    inner, outer = (bytes(byte ^ pad for byte in key.ljust(64, b"\0")) for pad in (0x36, 0x5C))
    return hashlib.sha256(outer + hashlib.sha256(inner + text).digest()).digest()


def percent_encoded(base64_text: str) -> str:
    return base64_text.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")


@pytest.mark.parametrize("secret", ["SEC000", "this is secret", "密钥", "s" * 100, "a+b/c=d&e"])
def test_dingtalk_is_signed_as_documented(secret: str, web: Web) -> None:
    """Seconds apart, until each character that a URL must not have as it is has been in a signature."""
    clock, seen = HandClock(), ""
    props = {"dingtalk.webhook": f"{web.url}/robot/send?access_token=abc", "dingtalk.secret": secret}
    handler = DingTalk(Settings(props, clock))
    for _ in range(12):
        clock.advance(0.25)
        handler.send(ALERT)
        now = int((clock.wall() - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
        digest = hmac_sha256(secret.encode(), f"{now}\n{secret}".encode())
        sign = base64.b64encode(digest).decode()
        target = web.posted.all[-1].target
        assert target == f"/robot/send?access_token=abc&timestamp={now}&sign={percent_encoded(sign)}"
        assert parse_qs(urlsplit(target).query)["sign"] == [sign]
        seen += sign
    assert {"+", "/", "="} <= set(seen)


def test_a_signature_stands_by_itself_behind_a_url_without_a_query(web: Web) -> None:
    DingTalk(settings(dingtalk_webhook=f"{web.url}/x", dingtalk_secret="s")).send(ALERT)
    assert list(parse_qs(urlsplit(only(web).target).query)) == ["timestamp", "sign"]


def test_feishu_is_signed_as_documented(web: Web) -> None:
    Feishu(settings(feishu_webhook=web.url, feishu_secret="密钥")).send(ALERT)
    body = only(web).json()
    now = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp())
    assert body["timestamp"] == f"{now}"
    assert base64.b64decode(body["sign"]) == hmac_sha256(f"{now}\n密钥".encode(), b"")


# What is no delivery


@every_handler
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 503])
def test_a_status_that_is_no_success_is_a_failure(
    handler: Callable[[Settings], Handler], key: str, status: int, web: Web
) -> None:
    web.status = status
    with pytest.raises(Undelivered, match=f"the server in {key} answered with status {status}$"):
        handler(Settings({key: web.url}, SystemClock())).send(ALERT)
    assert len(web.posted.all) == 1


@every_handler
def test_nobody_is_sent_elsewhere(handler: Callable[[Settings], Handler], key: str, web: Web) -> None:
    web.status, web.headers = 307, {"Location": f"{web.url}/elsewhere"}
    with pytest.raises(Undelivered, match="answered with status 307, and redirects are not followed"):
        handler(Settings({key: web.url}, SystemClock())).send(ALERT)
    assert [posted.target for posted in web.posted.all] == ["/"]


@every_handler
def test_nobody_there_is_a_failure(handler: Callable[[Settings], Handler], key: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Undelivered, match=f"the server in {key} cannot be connected to"):
        handler(Settings({key: f"http://127.0.0.1:{port}/"}, SystemClock())).send(ALERT)


@every_handler
def test_silence_is_a_failure(handler: Callable[[Settings], Handler], key: str, web: Web) -> None:
    web.is_silent = True
    props = {key: web.url, f"{key.partition('.')[0]}.readTimeoutMilliseconds": "50"}
    with pytest.raises(Undelivered, match=f"the server in {key} did not answer within 0.05 s"):
        handler(Settings(props, SystemClock())).send(ALERT)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"errcode": 310000, "errmsg": "sign not match"}, "refused it: errcode 310000, 'sign not match'"),
        ({"errcode": 1, "errmsg": "a\r\nb"}, "refused it: errcode 1, 'a b'"),
        ({"errcode": -1}, "refused it: errcode -1, ''"),
        ({"errcode": "0"}, "answered without an errcode: is it the right one?"),
        ({}, "answered without an errcode: is it the right one?"),
        (b"<html>", "answered without an errcode: is it the right one?"),
        (b"[" * 60_000, "answered without an errcode: is it the right one?"),
        (b"\xff\xfe", "answered without an errcode: is it the right one?"),
        ([], "answered without an errcode: is it the right one?"),
    ],
)
@pytest.mark.parametrize(("handler", "key"), HANDLERS[:2], ids=["wechat", "dingtalk"])
def test_an_errcode_that_is_not_0_is_a_failure(
    handler: Callable[[Settings], Handler], key: str, answer: object, why: str, web: Web
) -> None:
    web.answer = answer
    with pytest.raises(Undelivered) as raised:
        handler(Settings({key: web.url}, SystemClock())).send(ALERT)
    assert str(raised.value) == f"the server in {key} {why}"


def test_feishu_has_two_ways_to_say_so(web: Web) -> None:
    feishu = Feishu(settings(feishu_webhook=web.url))
    web.answer = {"StatusCode": 0, "StatusMessage": "success"}
    feishu.send(ALERT)
    for answer in ({"code": 19021, "msg": "sign match fail"}, {"StatusCode": 1, "StatusMessage": "no"}):
        web.answer = answer
        with pytest.raises(
            Undelivered, match=r"refused it: (code 19021, 'sign match fail'|StatusCode 1, 'no')"
        ):
            feishu.send(ALERT)


def test_an_answer_without_end_is_not_read_to_its_end(web: Web) -> None:
    web.answer = b" " * 10_000_000
    with pytest.raises(Undelivered, match="without an errcode"):
        WeChat(settings(wechat_webhook=web.url)).send(ALERT)
    assert post.post(settings(slack_webhook=web.url), "slack.webhook", {}) == b" " * post.LONGEST_ANSWER


def test_a_certificate_is_trusted_if_its_authority_is_and_else_it_is_not(
    tls_certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Web(tls_certificates.server) as web:
        handler = WeChat(settings(wechat_webhook=web.url))
        with pytest.raises(Undelivered, match="has a certificate that is not trusted"):
            handler.send(ALERT)
        assert web.posted.all == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tls_certificates.authority))
        handler.send(ALERT)
        assert only(web).json()["text"]["content"] == TEXT


# Line ends


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0"])
def test_what_a_reference_gives_can_start_no_header(
    value: str, web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(value)
    inside = f"${{file:{tmp_path}/x}}"
    for props in (
        {"webhook.url": web.url, "webhook.token": inside},
        {"webhook.url": f"{web.url}/{inside}"},
    ):
        with pytest.raises(ConfigError) as raised:
            Webhook(Settings(props, SystemClock())).send(ALERT)
        assert "control characters" in str(raised.value)
        assert "Evil" not in str(raised.value)
    assert web.posted.all == []


@every_handler
def test_what_a_job_says_stays_in_the_body(
    handler: Callable[[Settings], Handler], key: str, web: Web
) -> None:
    evil = "x\r\nX-Evil: 1\r\n\r\nPOST /evil HTTP/1.1\r\n"
    handler(Settings({key: f"{web.url}/here"}, SystemClock())).send(
        Alert(ALERT.kind, evil, evil, details=evil)
    )
    assert only(web).target == "/here"
    assert "X-Evil" not in only(web).headers


# How much is sent, and for how long it is waited


@pytest.mark.parametrize("letter", ["故", '"', "\n\\", "a", "😀"])
@pytest.mark.parametrize(
    ("handler", "key"),
    [(DingTalk, "dingtalk.webhook"), (Feishu, "feishu.webhook")],
    ids=["dingtalk", "feishu"],
)
def test_no_request_is_longer_than_its_server_takes_whatever_letters_it_has(
    handler: Callable[[Settings], Handler], key: str, letter: str, web: Web
) -> None:
    props = {key: web.url, "dingtalk.secret": "s", "dingtalk.keyword": "告警", "feishu.secret": "s"}
    handler(Settings(props, HandClock())).send(replace(ALERT, details=f"{letter * 60} " * 2_000))
    assert 8_000 < len(only(web).body) < 20_000


def test_a_server_that_drips_is_given_up(web: Web) -> None:
    web.answer, web.drips = b"x" * 1000, True
    told = settings(slack_webhook=web.url, slack_readTimeoutMilliseconds="200")
    with pytest.raises(Undelivered, match=r"slack\.webhook did not answer within"):
        Slack(told).send(ALERT)


def test_a_server_that_drips_is_given_up_in_tls_too(
    tls_certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_certificates.authority))
    with Web(tls_certificates.server) as web:
        web.drips = True
        told = settings(slack_webhook=web.url, slack_readTimeoutMilliseconds="200")
        with pytest.raises(Undelivered, match=r"slack\.webhook did not answer within"):
            Slack(told).send(ALERT)
