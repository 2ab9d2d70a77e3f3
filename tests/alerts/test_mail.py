"""What arrives at a mail server: envelope, headers, text; and what is no delivery."""

import logging
import socket
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright.alerts import Alert, Undelivered, smtp
from shardwright.alerts.mail import Mail, letter
from shardwright.errors import ConfigError
from tests.alerts import alarms
from tests.alerts.alarms import ALERT, TEXT, by_mail
from tests.alerts.post_office import Letter, PostOffice
from tests.certificates import Certificates


def send(port: int, alert: Alert = ALERT, **props: str) -> None:
    Mail(alarms.settings(**by_mail(port, **props))).send(alert)


def only(post_office: PostOffice) -> Letter:
    (letter,) = post_office.letters.all
    return letter


def test_a_letter_has_a_subject_and_all_the_rest(post_office: PostOffice) -> None:
    send(post_office.port)
    arrived = only(post_office)
    read = arrived.read()
    assert (arrived.sender, arrived.recipients) == ("jobs@example.com", ("ops@example.com",))
    assert arrived.login == "me:hunter2"
    assert read["Subject"] == "nightly: failed, shard 3: ValueError: no such customer"
    assert (read["From"], read["To"]) == ("Jobs <jobs@example.com>", "ops@example.com")
    assert read["Date"] == "Tue, 01 Jan 2030 00:00:00 +0000"
    assert read.get_content_type() == "text/plain"
    assert arrived.text() == TEXT


def test_all_recipients_get_it_and_nobody_sees_the_blind_ones(post_office: PostOffice) -> None:
    send(
        post_office.port,
        email_to='a@example.com, "Ops, all" <b@example.com>',
        email_cc="c@example.com",
        email_bcc="d@example.com,e@example.com",
    )
    arrived = only(post_office)
    assert sorted(arrived.recipients) == [f"{name}@example.com" for name in "abcde"]
    assert arrived.read()["Cc"] == "c@example.com"
    assert b"d@example.com" not in arrived.raw


def test_a_subject_of_ones_own_is_every_letter_s_subject(post_office: PostOffice) -> None:
    send(post_office.port, email_subject="作业错误")
    assert only(post_office).read()["Subject"] == "作业错误"


def test_any_text_arrives_as_it_was(post_office: PostOffice) -> None:
    details = "\n".join([".", "..", "From here", "é" * 500, "x" * 5000, "", "QUIT", "错误 🔥"])
    send(post_office.port, replace(ALERT, details=details))
    assert only(post_office).text().endswith(f"\n{details}")


def test_one_that_asks_nobody_who_they_are_is_told_no_password() -> None:
    with PostOffice(auth=False) as post_office:
        send(post_office.port)
    assert only(post_office).login == ""


# TLS


def test_tls_is_spoken_from_the_first_byte_unless_said_otherwise(tls_certificates: Certificates) -> None:
    with PostOffice(tls_certificates.server) as post_office:
        send(post_office.port, email_useSsl="", email_ssl_trust=f"{tls_certificates.authority}")
    assert only(post_office).is_safe


@pytest.mark.parametrize("trust", ["*", "localhost", "other.example localhost"])
def test_whom_one_says_to_trust_is_trusted(trust: str, tls_certificates: Certificates) -> None:
    with PostOffice(tls_certificates.server) as post_office:
        send(post_office.port, email_useSsl="true", email_ssl_trust=trust)
    assert only(post_office).is_safe


@pytest.mark.parametrize("starttls", [False, True])
@pytest.mark.parametrize("trust", ["", "other.example"])
def test_nobody_else_is_and_gets_no_password(
    starttls: bool, trust: str, tls_certificates: Certificates
) -> None:
    use_ssl = "false" if starttls else "true"
    with PostOffice(tls_certificates.server, starttls=starttls) as post_office:
        with pytest.raises(Undelivered, match=r"has a certificate that is not trusted: see email.ssl.trust"):
            send(post_office.port, email_useSsl=use_ssl, email_ssl_trust=trust)
        assert post_office.letters.all == []


def test_a_server_that_offers_starttls_is_taken_at_its_word(tls_certificates: Certificates) -> None:
    with PostOffice(tls_certificates.server, starttls=True) as post_office:
        send(post_office.port, email_ssl_trust=f"{tls_certificates.authority}")
    assert only(post_office).is_safe
    assert only(post_office).login == "me:hunter2"


def test_a_server_that_speaks_no_tls_is_told_apart(post_office: PostOffice) -> None:
    with pytest.raises(Undelivered, match=r"does not speak TLS on this port: .* set email.useSsl to false"):
        send(post_office.port, email_useSsl="true")


def test_a_file_of_authorities_that_is_none_is_told() -> None:
    with pytest.raises(Undelivered, match=r"the file in email.ssl.trust cannot be used: No such file"):
        send(25, email_ssl_trust="/nowhere/at/all.pem")


# What is no delivery


@pytest.mark.parametrize(
    ("refusals", "why"),
    [
        ({"AUTH": "535 go away"}, "does not take email.username and email.password: status 535"),
        ({"MAIL": "550 not from you"}, "refused it: 550 'not from you'"),
        ({"RCPT": "550 nobody here"}, "refused every recipient: 550 'nobody here'"),
        ({"RCPT TO:<A@": "550 nobody here"}, "refused some recipients: 550 'nobody here'"),
        ({"DATA": "452 full"}, "refused it: 452 'full'"),
        ({"MAIL": "421 password hunter2 is bad"}, r"refused it: 421 'password \*\*\* is bad'"),
    ],
)
def test_what_a_server_refuses_is_told_in_its_words_without_our_secrets(
    refusals: dict[str, str], why: str, post_office: PostOffice
) -> None:
    post_office.refusals = refusals
    with pytest.raises(Undelivered, match=f"^the server in email.host {why}$"):
        send(post_office.port, email_to="a@example.com,b@example.com")


def test_nobody_there_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Undelivered, match=r"does not take connections on the port in email.port"):
        send(port)


@pytest.mark.parametrize("use_ssl", ["true", "false"])
def test_silence_is_a_failure(use_ssl: str, post_office: PostOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "PATIENCE", 0.05)
    post_office.is_silent = True
    with pytest.raises(Undelivered, match=r"did not answer within 0.05 s"):
        send(post_office.port, email_useSsl=use_ssl)


def test_a_reference_that_cannot_be_resolved_is_the_reason(post_office: PostOffice) -> None:
    with pytest.raises(Undelivered, match=r"^email.password: \$\{env:X_NOT_SET\} is not set"):
        send(post_office.port, email_password="${env:X_NOT_SET}")


def test_debug_tells_the_steps_and_not_the_words(
    post_office: PostOffice, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    send(post_office.port)
    assert caplog.messages == []
    send(post_office.port, email_debug="true")
    assert caplog.messages == [f"mail server: {step}" for step in ("connected", "logged in", "letter taken")]
    assert capfd.readouterr() == ("", "")


# Line ends

EVIL = [
    "\r\nBcc: evil@example.com",
    "\nBcc: evil@example.com\n\nbody",
    "\r\n.\r\nMAIL FROM:<evil@example.com>",
]


@pytest.mark.parametrize("evil", EVIL)
def test_what_a_job_says_is_no_header_and_no_command(evil: str, post_office: PostOffice) -> None:
    send(post_office.port, Alert(ALERT.kind, f"job{evil}", f"what{evil}", details=f"details{evil}"))
    arrived = only(post_office)
    assert arrived.recipients == ("ops@example.com",)
    assert arrived.read()["Bcc"] is None
    assert "example.com" in arrived.read()["Subject"]


@pytest.mark.parametrize("key", ["email_from", "email_to", "email_cc", "email_subject", "email_host"])
@pytest.mark.parametrize("evil", EVIL)
def test_what_a_reference_gives_is_no_header_and_no_command(
    evil: str, key: str, post_office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_EVIL", f"a@example.com{evil}")
    with pytest.raises(ConfigError):
        send(post_office.port, ALERT, **{key: "${env:X_EVIL}"})
    assert post_office.letters.all == []


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_any_letter_has_the_headers_it_should_and_no_other(job: str, what: str, details: str) -> None:
    alert = Alert(ALERT.kind, job, what, details=details)
    raw = letter(alarms.settings(**by_mail(25)), alert).as_bytes()
    head = raw.partition(b"\r\n\r\n")[0].decode()
    names = [line.partition(":")[0] for line in head.split("\r\n") if not line.startswith((" ", "\t"))]
    ours = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"]
    assert names == [*ours, "Content-Type", "Content-Transfer-Encoding", "MIME-Version"]
    assert max(len(line) for line in raw.split(b"\r\n")) <= 998
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert b"\r" not in raw.replace(b"\r\n", b"")


@pytest.mark.parametrize(
    ("props", "why"),
    [
        ({"email_password": "gehöim"}, "email.username and email.password must be ASCII"),
        ({"email_to": "jürgen@example.com"}, "takes no addresses beyond ASCII"),
    ],
)
def test_what_a_server_cannot_be_told_is_said_by_the_setting(
    props: dict[str, str], why: str, post_office: PostOffice
) -> None:
    with pytest.raises(Undelivered, match=why):
        send(post_office.port, ALERT, **props)
