"""Which settings are secret, and what is left of them when they are shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright import secrets


@pytest.mark.parametrize(
    "key",
    [
        *("password", "email.password", "dbPassword", "userpassword", "PASSWORD", "ssl.keystore.passphrase"),
        *("dingtalk.secret", "aws_secret_access_key", "authToken", "access_token", "wechat.webhook"),
        *("api.key", "apiKey", "apikey", "API_KEY", "key", "db.pwd", "auth", "Authorization"),
        *("dingtalk.sign",),
    ],
)
def test_a_key_that_names_a_secret_is_recognised(key: str) -> None:
    assert secrets.looks_secret(key)


@pytest.mark.parametrize(
    "key", ["dingtalk.keyword", "monkey", "email.host", "http.uri", "compass", "n", "", "design", "author"]
)
def test_a_key_that_only_contains_such_letters_is_not(key: str) -> None:
    assert not secrets.looks_secret(key)


@pytest.mark.parametrize("value", ["${env:DB_PASSWORD}", "${file:/run/secrets/db}"])
def test_a_reference_says_where_the_secret_is_and_is_shown(value: str) -> None:
    assert secrets.masked(value, key="password") == value


@pytest.mark.parametrize("value", ["${env:A}hunter2", "x${env:A}", "${other:A}", "${env:A"])
def test_what_only_looks_like_a_reference_is_masked(value: str) -> None:
    assert secrets.masked(value, key="password") == "***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:hunter2@host/path", "https://***@host/path"),
        ("see amqp://u:hun/ter@2@host now", "see amqp://***@host now"),
        ("https://hunter2@host", "https://***@host"),
        ("jdbc:mysql://h/db?user=a&password=hunter2&x=1", "jdbc:mysql://h/db?user=a&password=***&x=1"),
        ("jdbc:h2:mem:x;USER=sa;PASSWORD=hunter2", "jdbc:h2:mem:x;USER=sa;PASSWORD=***"),
        ('{"token": "hunter2 \\" hunter2", "n": 1}', '{"token": ***, "n": 1}'),
        ("curl -H 'Authorization: Bearer hunter2' x", "curl -H 'Authorization: *** ***' x"),
        ("job --api-key hunter2 --verbose", "job --api-key *** --verbose"),
        ("job --password='hunter 2' --name me", "job --password=*** --name me"),
        ("password=${env:PW} rest", "password=${env:PW} rest"),
        ("mail me@example.com at 12:30", "mail me@example.com at 12:30"),
        ("0=Beijing,1=Shanghai", "0=Beijing,1=Shanghai"),
        ("", ""),
    ],
)
def test_a_secret_within_a_text_is_masked_by_its_shape(text: str, shown: str) -> None:
    assert secrets.masked(text) == shown


@settings(deadline=None)
@given(st.text(), st.sampled_from(["", "password", "x"]))
def test_masking_twice_is_masking_once(text: str, key: str) -> None:
    once = secrets.masked(text, key=key)
    assert secrets.masked(once, key=key) == once


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit", ["a", "a=", "password=", "://", "://:@", "--a ", '"', "bearer ", "'=", "a:'", "${", "=\\", '="\\']
)
def test_masking_a_long_text_takes_little_time(unit: str) -> None:
    secrets.masked(unit * (64 * 1024 // len(unit)))


def test_a_user_may_add_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "WORDS", {*secrets.WORDS, "pin"})
    assert secrets.masked("1234", key="card.pin") == "***"
    assert secrets.masked("1234", key="pinboard") == "1234"
