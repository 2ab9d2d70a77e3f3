"""Whoever may only write a job's settings in the registry has no secret sent, and nobody called, by alerts
that the program itself would not send there."""

import socket

import pytest

from shardwright import alerts
from shardwright.alerts import Alert, Desk, Settings
from shardwright.alerts.desk import Counts
from shardwright.clock import HandClock
from shardwright.egress import Egress
from shardwright.jobs import JobConfig
from tests.alerts.alarms import ALERT, TEXT, a_job, by_mail, spelled
from tests.alerts.post_office import PostOffice
from tests.alerts.web import Web
from tests.certificates import Certificates

CANARY = "c4n4ry-t1ttle"
REFERENCE = "${env:X_CANARY}"
HOOKS = {
    "WECHAT": "wechat_webhook",
    "DINGTALK": "dingtalk_webhook",
    "SLACK": "slack_webhook",
    "FEISHU": "feishu_webhook",
    "WEBHOOK": "webhook_url",
}
LOOPBACK = Egress(("127.0.0.0/8", "::1/128"))


@pytest.fixture(autouse=True)
def _canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_CANARY", CANARY)


def told(
    config: JobConfig, declared: JobConfig | None, *, egress: Egress | None = None, alert: Alert = ALERT
) -> Counts:
    """What became of an alert."""
    desk = Desk(HandClock(), egress=egress)
    desk.tell(config, alert, declared)
    desk.close()
    return desk.counts


def with_props(config: JobConfig, **props: str) -> JobConfig:
    return config.replace(props={**config.props, **spelled(props)})


# Places


@pytest.mark.parametrize("kind", HOOKS)
def test_a_place_on_this_machine_that_the_program_declares_is_posted_to(kind: str, web: Web) -> None:
    config = a_job(kind, **{HOOKS[kind]: web.url})
    assert told(config, config) == Counts(sent=1)
    assert len(web.posted.all) == 1


@pytest.mark.parametrize("kind", HOOKS)
def test_one_that_only_the_registry_names_is_not(
    kind: str, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    config = a_job(kind, **{HOOKS[kind]: web.url})
    key = HOOKS[kind].replace("_", ".")
    for declared in (
        None,
        a_job(),
        a_job(kind, **{HOOKS[kind]: "https://example.com/"}),
        a_job("EMAIL", **{HOOKS[kind]: web.url}),
    ):
        caplog.clear()
        assert told(config, declared) == Counts(failed=1)
        (line,) = caplog.messages
        assert f"not delivered by {kind}: the server in {key}, which this program does not declare" in line
        assert "localhost is at " in line
        assert "have the operator allow it, as in http_allowed=['localhost']" in line
        assert line.endswith(TEXT)
    assert web.posted.all == []


def test_one_that_the_operator_allows_is(web: Web) -> None:
    config = a_job("WEBHOOK", webhook_url=f"{web.url}/x?a=1")
    assert told(config, None, egress=Egress(("localhost",))) == Counts(sent=1)
    (posted,) = web.posted.all
    assert posted.target == "/x?a=1"
    assert posted.headers["Host"] == web.url.removeprefix("http://")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://[::1]:1/",
        "http://[::ffff:127.0.0.1]:1/",
        "http://127.1:1/",
        "http://0x7f000001/",
        "http://me:pw@127.0.0.1:1/",
        "http://2130706433:1/",
    ],
)
def test_an_address_inside_is_refused_however_it_is_written(
    url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    assert told(a_job("WEBHOOK", webhook_url=url), a_job()) == Counts(failed=1)
    assert "the server in webhook.url, which this program does not declare: " in caplog.text


def test_the_address_that_was_checked_is_the_one_that_is_called(web: Web) -> None:
    answers = iter([["127.0.0.1"]])
    egress = Egress(("127.0.0.1",), resolve=lambda host, port: next(answers))
    port = web.url.rpartition(":")[2]
    config = a_job("WEBHOOK", webhook_url=f"http://shop.example:{port}/")
    assert told(config, None, egress=egress) == Counts(sent=1)
    assert web.posted.all[0].headers["Host"] == f"shop.example:{port}"


def test_of_several_addresses_the_next_is_called_where_one_takes_no_connection(web: Web) -> None:
    egress = Egress(("127.0.0.0/8",), resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"])
    port = web.url.rpartition(":")[2]
    config = a_job("WEBHOOK", webhook_url=f"http://shop.example:{port}/")
    assert told(config, None, egress=egress) == Counts(sent=1)


def test_an_address_with_colons_is_called_whole_where_the_url_names_no_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[:2])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    addresses = ["2606:4700::6810:84e5", "2606:4700::5:443", "93.184.216.34"]
    for scheme, port in (("http", 80), ("https", 443)):
        tried: list[tuple[str, int]] = []
        config = a_job("WEBHOOK", webhook_url=f"{scheme}://shop.example/")
        egress = Egress(resolve=lambda host, port: addresses)
        assert told(config, None, egress=egress) == Counts(failed=1)
        assert tried == [(address, port) for address in addresses]


def test_where_one_of_several_addresses_is_inside_none_is_called(web: Web) -> None:
    egress = Egress(resolve=lambda host, port: ["93.184.216.34", "127.0.0.1"])
    port = web.url.rpartition(":")[2]
    assert told(a_job("SLACK", slack_webhook=f"http://shop.example:{port}/"), None, egress=egress).failed == 1
    assert web.posted.all == []


def test_a_certificate_is_held_against_the_name_and_not_the_address(
    tls_certificates: Certificates, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls_certificates.authority))
    with Web(tls_certificates.server) as web:
        config = a_job("WEBHOOK", webhook_url=web.url)
        assert told(config, None, egress=LOOPBACK) == Counts(sent=1)
        egress = Egress(("other.example",), resolve=lambda host, port: ["127.0.0.1"])
        elsewhere = a_job("WEBHOOK", webhook_url=web.url.replace("localhost", "other.example"))
        assert told(elsewhere, None, egress=egress) == Counts(failed=1)
        assert len(web.posted.all) == 1
    assert "has a certificate that is not trusted" in caplog.text


def test_a_mail_server_on_this_machine_that_the_program_declares_is_given_the_letter(
    post_office: PostOffice,
) -> None:
    config = a_job("EMAIL", **by_mail(post_office.port, email_password=REFERENCE))
    assert told(config, config) == Counts(sent=1)
    assert post_office.letters.all[0].login == f"me:{CANARY}"


def test_one_that_only_the_registry_names_is_given_none(
    post_office: PostOffice, caplog: pytest.LogCaptureFixture
) -> None:
    config = a_job("EMAIL", **by_mail(post_office.port))
    for declared in (None, a_job(), with_props(config, email_host="mail.example")):
        caplog.clear()
        assert told(config, declared) == Counts(failed=1)
        assert "the server in email.host, which this program does not declare: localhost is at " in (
            caplog.text
        )
    assert told(config, None, egress=Egress(("localhost",))) == Counts(sent=1)
    assert len(post_office.letters.all) == 1


@pytest.mark.parametrize("host", ["169.254.169.254", "::1", "127.1", "0x7f000001", "2130706433", "-"])
def test_a_mail_server_inside_is_refused_however_it_is_written(
    host: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))
    assert told(a_job("EMAIL", **by_mail(25, email_host=host)), a_job()) == Counts(failed=1)
    assert "the server in email.host, which this program does not declare: " in caplog.text


@pytest.mark.parametrize("starttls", [False, True])
def test_a_mail_server_is_called_at_the_address_that_was_checked_and_known_by_its_name(
    starttls: bool, tls_certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    props = {"email_useSsl": str(not starttls).lower(), "email_ssl_trust": f"{tls_certificates.authority}"}
    with PostOffice(tls_certificates.server, starttls=starttls) as office:
        config = a_job("EMAIL", **by_mail(office.port, **props))
        answers = iter([["127.0.0.2", "127.0.0.1"]])
        egress = Egress(("127.0.0.0/8",), resolve=lambda host, port: next(answers))
        assert told(config, None, egress=egress) == Counts(sent=1)
        egress = Egress(("other.example",), resolve=lambda host, port: ["127.0.0.1"])
        assert told(with_props(config, email_host="other.example"), None, egress=egress) == Counts(failed=1)
        assert [letter.is_safe for letter in office.letters.all] == [True]
    assert "has a certificate that is not trusted" in caplog.text


# Secrets


def test_a_secret_does_not_go_along_to_another_key(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    """The reviewer's way: the mail server's password in the URL of a webhook."""
    declared = a_job("EMAIL", **by_mail(25, email_password=REFERENCE))
    for props in (
        {"webhook_url": f"{web.url}/?x={REFERENCE}"},
        {"webhook_url": web.url, "webhook_token": REFERENCE},
    ):
        caplog.clear()
        config = with_props(declared, **props).replace(error_handler="WEBHOOK")
        assert told(config, declared, egress=LOOPBACK) == Counts(failed=1)
        key = list(props)[-1].replace("_", ".")
        assert f"{key} has a reference that this program does not declare there" in caplog.text
        assert "declare it in code" in caplog.text
    assert web.posted.all == []


@pytest.mark.parametrize("value", ["${env:X_OTHER}", f"{REFERENCE}${{env:X_OTHER}}", f"x{REFERENCE}"])
def test_nor_is_one_looked_up_that_the_program_has_otherwise_under_the_same_key(
    value: str, web: Web, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("X_OTHER", "0th3r-c4n4ry")
    declared = a_job("WEBHOOK", webhook_url=web.url, webhook_token=REFERENCE)
    assert told(with_props(declared, webhook_token=value), declared) == Counts(failed=1)
    assert web.posted.all == []
    assert "webhook.token has a reference that this program does not declare there" in caplog.text


@pytest.mark.parametrize("secret", [REFERENCE, CANARY])
@pytest.mark.parametrize(
    ("kind", "key"),
    [("WEBHOOK", "webhook_token"), ("DINGTALK", "dingtalk_secret"), ("FEISHU", "feishu_secret")],
)
def test_a_secret_does_not_go_to_another_place(
    kind: str, key: str, secret: str, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    declared = a_job(kind, **{HOOKS[kind]: "https://example.com/", key: secret})
    moved = with_props(declared, **{HOOKS[kind]: web.url})
    assert told(moved, declared, egress=LOOPBACK) == Counts(failed=1)
    assert web.posted.all == []
    place = HOOKS[kind].replace("_", ".")
    assert (
        f"{key.replace('_', '.')} is withheld: this program declares another {place}; "
        "declare the one that is meant in code" in caplog.text
    )


@pytest.mark.parametrize("secret", [REFERENCE, CANARY])
@pytest.mark.parametrize(
    "change", [{"email_host": "127.0.0.1"}, {"email_useSsl": ""}, {"email_ssl_trust": "*"}]
)
def test_nor_to_another_mail_server_nor_less_safely_to_the_same(
    change: dict[str, str], secret: str, tls_certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    with PostOffice(tls_certificates.server if "email_useSsl" in change else None) as office:
        declared = a_job("EMAIL", **by_mail(office.port, email_password=secret))
        moved = with_props(declared, **change)
        assert told(moved, declared, egress=LOOPBACK) == Counts(failed=1)
        assert office.letters.all == []
    (key,) = change
    assert CANARY not in caplog.text
    if "email_useSsl" not in change:
        assert f"email.password is withheld: this program declares another {key.replace('_', '.')}" in (
            caplog.text
        )


def test_what_is_no_place_may_be_changed_in_the_registry(post_office: PostOffice) -> None:
    declared = a_job("EMAIL", **by_mail(post_office.port, email_password=REFERENCE))
    assert told(with_props(declared, email_to="night@example.com"), declared) == Counts(sent=1)
    (letter,) = post_office.letters.all
    assert (letter.login, letter.recipients) == (f"me:{CANARY}", ("night@example.com",))


def test_a_new_secret_in_the_registry_goes_to_the_place_that_is_declared(web: Web) -> None:
    declared = a_job("WEBHOOK", webhook_url=web.url, webhook_token=REFERENCE)
    assert told(with_props(declared, webhook_token="abc"), declared) == Counts(sent=1)
    assert web.posted.all[0].headers["Authorization"] == "Bearer abc"


def test_a_process_that_does_not_declare_the_job_looks_nothing_up(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    config = a_job("WEBHOOK", webhook_url=web.url, webhook_token=REFERENCE)
    assert told(config, None, egress=LOOPBACK) == Counts(failed=1)
    assert web.posted.all == []
    assert "webhook.token has a reference, and this program does not declare the job" in caplog.text


def test_what_the_program_declares_as_secret_is_hidden_from_those_whom_the_registry_names(web: Web) -> None:
    declared = a_job("EMAIL", **by_mail(25, email_password=REFERENCE))
    config = a_job("WEBHOOK", webhook_url=web.url)
    alert = Alert(ALERT.kind, "nightly", f"KeyError: '{CANARY}'", details=f"said {CANARY}")
    assert told(config, declared, egress=LOOPBACK, alert=alert) == Counts(sent=1)
    assert CANARY.encode() not in web.posted.all[0].body


# Handlers of one's own


class Pager:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.paged: list[str] = []

    def send(self, alert: Alert) -> None:
        self.paged.append(f"{self.settings.text('pager.host')} {self.settings.text('pager.key')}")


@pytest.fixture
def made() -> list[Pager]:
    return []


def a_pager(made: list[Pager], places: tuple[str, ...] | None) -> JobConfig:
    def make(settings: Settings) -> Pager:
        made.append(Pager(settings))
        return made[-1]

    alerts.register("PAGER", make, places=places)
    return a_job("PAGER", pager_host="here", pager_key=REFERENCE, pager_tone="low")


def test_a_handler_of_ones_own_says_which_of_its_settings_are_places(made: list[Pager]) -> None:
    declared = a_pager(made, ("pager.host",))
    assert told(with_props(declared, pager_tone="high"), declared) == Counts(sent=1)
    assert told(with_props(declared, pager_host="evil"), declared) == Counts(failed=1)
    assert [pager.paged for pager in made] == [[f"here {CANARY}"], []]


def test_unless_it_says_so_all_that_a_job_has_are_taken_for_such(
    made: list[Pager], caplog: pytest.LogCaptureFixture
) -> None:
    declared = a_pager(made, None)
    assert told(declared, declared) == Counts(sent=1)
    assert told(with_props(declared, pager_tone="high"), declared) == Counts(failed=1)
    assert "pager.key is withheld: this program declares another pager.tone" in caplog.text


def test_what_is_withheld_is_not_among_the_props_either(made: list[Pager]) -> None:
    declared = a_pager(made, None)
    told(with_props(declared, pager_host="evil"), declared)
    assert "pager.key" not in made[0].settings.props
    assert CANARY not in f"{vars(made[0].settings)!r}"
