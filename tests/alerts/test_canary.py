"""A secret that a handler knows appears in nothing that people read, whatever happens to the alert."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shardwright import alerts
from shardwright.alerts import Alert, Desk, Handler, Settings, Undelivered, catalogue
from shardwright.alerts.digest import Message
from shardwright.alerts.wechat import WeChat
from shardwright.clock import HandClock, SystemClock
from shardwright.jobs import JobConfig
from tests.alerts import alarms
from tests.alerts.alarms import ALERT, a_job, by_mail
from tests.alerts.post_office import PostOffice
from tests.alerts.web import Web

CANARY = "c4n4ry-t1ttle"

HOOKS = {
    "WECHAT": ("wechat_webhook", {}),
    "DINGTALK": ("dingtalk_webhook", {"dingtalk_secret": CANARY}),
    "SLACK": ("slack_webhook", {}),
    "FEISHU": ("feishu_webhook", {"feishu_secret": CANARY}),
    "WEBHOOK": ("webhook_url", {"webhook_token": CANARY}),
}

# By its shape in the first, by its value alone in the others.
TALKATIVE = replace(
    ALERT,
    what=f"cannot log in with password={CANARY}",
    details=f"POST /hook/{CANARY} failed\nKeyError: '{CANARY}'\nsaid {CANARY}, and {CANARY}",
)

References = Callable[[dict[str, str]], dict[str, str]]


def as_they_are(props: dict[str, str]) -> dict[str, str]:
    return props


@pytest.fixture(params=["written", "env", "file"])
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> References:
    """How the secret is given: as it is, or by reference."""
    if request.param == "written":
        return as_they_are
    monkeypatch.setenv("X_CANARY", CANARY)
    (tmp_path / "canary").write_text(f"{CANARY}\n")
    reference = "${env:X_CANARY}" if request.param == "env" else f"${{file:{tmp_path}/canary}}"
    return lambda props: {key: value.replace(CANARY, reference) for key, value in props.items()}


def tell(config: JobConfig, *, failing: int) -> None:
    """Tell two alerts, of which so many are not delivered, and show all that can be shown on the way."""
    desk = Desk(HandClock())
    alerts.check(config)
    for _ in range(2):
        desk.tell(config, TALKATIVE, config)
    desk.close()
    assert (desk.counts.sent, desk.counts.failed) == (2 - failing, failing)
    settings = Settings(config.props, SystemClock())
    handler = catalogue.TYPES[config.error_handler or "LOG"].factory(settings)
    shown = [
        config,
        settings,
        handler,
        TALKATIVE,
        Message(config, TALKATIVE),
        desk,
        desk.counts,
        vars(handler),
    ]
    assert CANARY not in f"{shown} {[str(each) for each in shown]}"


def quiet(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> bool:
    """Whether nobody has read or will read the secret here."""
    records = " ".join(f"{record.__dict__}" for record in caplog.records)
    return CANARY not in f"{caplog.text} {records} {capfd.readouterr()}"


URLS = [f"/hook/{CANARY}", f"/send?key={CANARY}&x=1", f"/{CANARY}/x", f"/x?{CANARY}"]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("kind", HOOKS)
@pytest.mark.parametrize("status", [200, 500])
def test_posting(
    kind: str,
    url: str,
    status: int,
    hidden: References,
    web: Web,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    web.status = status
    key, more = HOOKS[kind]
    tell(a_job(kind, **hidden({key: web.url + url, **more})), failing=0 if status == 200 else 2)
    assert CANARY in web.posted.all[0].target
    assert all(CANARY.encode() not in posted.body for posted in web.posted.all)
    assert quiet(caplog, capfd)


@pytest.mark.parametrize("kind", ["WECHAT", "DINGTALK", "FEISHU"])
def test_a_server_that_repeats_it(
    kind: str,
    hidden: References,
    web: Web,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    web.answer = {"errcode": 1, "errmsg": f"bad: {CANARY}", "code": 1, "msg": f"bad: /x/{CANARY}?"}
    key, more = HOOKS[kind]
    tell(a_job(kind, **hidden({key: f"{web.url}/x/{CANARY}", **more})), failing=2)
    assert "refused it" in caplog.text
    assert quiet(caplog, capfd)


@pytest.mark.parametrize("kind", HOOKS)
def test_a_login_in_the_url_of_a_server_that_is_not_there(
    kind: str, hidden: References, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    tell(a_job(kind, **hidden({HOOKS[kind][0]: f"http://me:{CANARY}@127.0.0.1:1/{CANARY}"})), failing=2)
    assert quiet(caplog, capfd)


@pytest.mark.parametrize(
    "refusals",
    [{}, {"AUTH": f"535 no {CANARY}"}, {"RCPT": f"550 {CANARY}"}, {"DATA": f"554 password {CANARY}"}],
)
def test_mail(
    refusals: dict[str, str],
    hidden: References,
    post_office: PostOffice,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    post_office.refusals = refusals
    props = by_mail(post_office.port, email_password=CANARY, email_debug="true")
    tell(a_job("EMAIL", **hidden(props)), failing=2 if refusals else 0)
    assert refusals or post_office.letters.all[0].login == f"me:{CANARY}"
    for letter in post_office.letters.all:
        assert CANARY not in f"{letter.raw!r} {letter.text()} {letter.read()['Subject']}"
    assert quiet(caplog, capfd)


@pytest.mark.parametrize("kind", ["LOG", "THROW", "IGNORE"])
def test_the_log(
    kind: str, hidden: References, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(HandClock())
    alarms.tell(desk, a_job(kind, **hidden({"http_token": CANARY})), TALKATIVE)
    assert len(caplog.records) == (0 if kind == "IGNORE" else 1)
    assert quiet(caplog, capfd)


def test_a_handler_of_ones_own_that_talks_too_much(
    hidden: References, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def factory(settings: Settings) -> Handler:
        class Talkative:
            def send(self, alert: Alert) -> None:
                assert CANARY not in alert.what + alert.details
                raise KeyError(settings.text("pager.key"))

            def __repr__(self) -> str:
                return "Talkative"

        return Talkative()

    alerts.register("PAGER", factory)
    tell(a_job("PAGER", **hidden({"pager_key": CANARY})), failing=2)
    assert "KeyError: '***'" in caplog.text
    assert quiet(caplog, capfd)


@pytest.mark.parametrize("before", [*range(185, 201), *range(15_985, 16_001)])
def test_half_of_it_where_a_text_is_cut(before: int, web: Web) -> None:
    half, text = CANARY[:5], f"{'x ' * (before // 2)}{'x' * (before % 2)}"
    settings = Settings({"wechat.webhook": f"{web.url}/{CANARY}"}, SystemClock())
    alert = replace(ALERT, what=f"{text}{CANARY}", details=f"{text}{CANARY}")
    assert half not in alert.hiding(settings.hide).text()
    assert half not in replace(ALERT, details=f"{text} https://me:{CANARY}@host/").text()
    web.answer = {"errcode": 1, "errmsg": f"{text}{CANARY}"}
    with pytest.raises(Undelivered) as raised:
        WeChat(settings).send(ALERT)
    assert half not in str(raised.value)


KEY = '-----BEGIN KEY-----\nc4n4ry+1/c4n4ry+2\nc4n4ry+3\\c4n4ry+4"\n-----END KEY-----'


@pytest.mark.parametrize(
    "shown", [KEY, repr(KEY), json.dumps(KEY), *(f"line: {line}" for line in KEY.splitlines()[1:3])]
)
def test_one_of_several_lines_however_it_is_shown(shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNING", KEY)
    told = Settings({"app.signing": "${env:SIGNING}"}, HandClock())
    assert "c4n4ry" not in told.hide(f"it could not be read: {shown} it was")
