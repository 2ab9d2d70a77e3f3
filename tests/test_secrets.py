"""Which settings are secret, and what is left of them when they are shown."""

import time

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
        ("curl -H 'Authorization: Bearer hunter2' x", "curl -H 'Authorization: ***' x"),
        ("job --api-key hunter2 --verbose", "job --api-key *** --verbose"),
        ("job --password='hunter 2' --name me", "job --password=*** --name me"),
        ("password=${env:PW} rest", "password=${env:PW} rest"),
        ("mail me@example.com at 12:30", "mail me@example.com at 12:30"),
        ("0=Beijing,1=Shanghai", "0=Beijing,1=Shanghai"),
        ("https://h/run?token=hunter2", "https://h/run?token=***"),
        ("note: password=hunter2", "note: password=***"),
        ("https://h/send?access_token=hunter2&debug=1", "https://h/send?access_token=***&debug=1"),
        ("a=password=hunter2", "a=password=***"),
        ("env:PASSWORD=hunter2", "env:PASSWORD=***"),
        ("pw=hunter2", "pw=***"),
        ("curl -H 'Cookie: a=b; c=hunter2' x", "curl -H 'Cookie: ***' x"),
        ("curl -u user:hunter2 https://h", "curl -u user:*** https://h"),
        ("curl --proxy-user 'user:hunter 2' https://h", "curl --proxy-user 'user:***' https://h"),
        ("sshpass -p hunter2 ssh h", "sshpass -p *** ssh h"),
        ("mysql -uroot -phunter2 db", "mysql -uroot -p*** db"),
        ("find . -print", "find . -print"),
        ("j/instances/10.0.0.1@-@4711", "j/instances/10.0.0.1@-@4711"),
        ("sqlplus scott/hunter2@db", "sqlplus scott/***@db"),
        ("jdbc:oracle:thin:scott/hunter2@h:1521/x", "jdbc:oracle:thin:scott/***@h:1521/x"),
        ("proxy user:hunter2@h:8080", "proxy user:***@h:8080"),
        ("https://hooks.slack.com/services/T0/B0/hunter2", "https://hooks.slack.com/***"),
        ("https://discord.com/api/webhooks/1/hunter2", "https://discord.com/api/webhooks/***"),
        ("https://api.telegram.org/bot12:hunter2/send", "https://api.telegram.org/bot***"),
        ("password=abc hunter2", "password=***"),
        ("host=h password=abc hunter2 dbname=d", "host=h password=*** dbname=d"),
        ("password=abc,hunter2", "password=***"),
        ("password=it's-hunter2", "password=***"),
        ('password="hunter2', "password=***"),
        ("password=${env:A}hunter2", "password=***"),
        ("password := hunter2", "password := ***"),
        ("password:          hunter2", "password:          ***"),
        ('{"password": ["x", "hunter2"]}', '{"password": ***'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": ***\\"}'),
        ("job --verbose --password hunter2", "job --verbose --password ***"),
        ("x" * 200 + "password=hunter2", "x" * 200 + "password=***"),
        ("", ""),
    ],
)
def test_a_secret_within_a_text_is_masked_by_its_shape(text: str, shown: str) -> None:
    assert secrets.masked(text) == shown


SPOTS = [
    *(
        "password={}",
        "pw={}",
        "token: {}",
        '"api_key": "{}"',
        "'secret': '{}'",
        "--password {}",
        "pwd={}&x=1",
    ),
    *("https://u:{}@h", "u:{}@h", "jdbc:oracle:thin:scott/{}@h", "curl -u user:{}", "sshpass -p {}"),
    *("https://h/run?token={}", "https://hooks.slack.com/services/T/B/{}", "Bearer {}", "env:PASSWORD={}"),
    *("password=abc {}", "password=abc, {}", "a=password={}", "-Dpassword={}", "password[0]={}"),
]
AROUND = [
    "note: ",
    "a=",
    "x ",
    "https://h/?a=1&",
    "--verbose ",
    "(",
    "{",
    '"',
    "",
    "n:",
    "a b c ",
    "\n",
    "-x ",
]


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(AROUND), max_size=4),
    st.sampled_from(SPOTS),
    st.lists(
        st.sampled_from([" and more", " x=1", "'", "}", " -v", "&a=1", "\n", ", b", '"', ")"]), max_size=3
    ),
)
def test_a_secret_is_hidden_wherever_it_stands(before: list[str], spot: str, after: list[str]) -> None:
    text = "".join([*before, spot.format("hunter2"), *after])
    shown = secrets.masked(text)
    assert "hunter2" not in shown
    assert secrets.masked(shown) == shown


FRAGMENTS = [
    "password",
    "=",
    ":",
    "***",
    '"',
    "'",
    " ",
    "x",
    ",",
    "&",
    "}",
    "-p",
    "-u",
    "@",
    "/",
    "\\",
    "://",
    "\n",
]


@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_what_is_masked_already_stays_as_it_is(text: str) -> None:
    once = secrets.masked(text)
    assert secrets.masked(once) == once


@settings(deadline=None)
@given(st.text(), st.sampled_from(["", "password", "x"]))
def test_masking_twice_is_masking_once(text: str, key: str) -> None:
    once = secrets.masked(text, key=key)
    assert secrets.masked(once, key=key) == once


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        *("a", "a=", "password=", "://", "://:@", "--a ", '"', "bearer ", "'=", "a:'", "${", "=\\", '="\\'),
        *(
            "password=,",
            "a ",
            "-u",
            "-u a",
            "-p",
            "hooks.",
            "/hook",
            "token=\\'",
            "password ",
            "password=x y ",
            ",",
        ),
    ],
)
def test_masking_a_long_text_takes_little_time(unit: str) -> None:
    for start in ("", "password="):
        secrets.masked(start + unit * (64 * 1024 // len(unit)))


def test_a_run_of_backslashes_is_masked_about_as_soon_as_a_run_of_letters() -> None:
    def effort(value: str) -> float:
        begin = time.thread_time()
        assert secrets.masked(f"token={value}") == "token=***"
        return time.thread_time() - begin

    letters = min(effort("x" * 16_000) for _ in range(5))
    assert min(effort("\\" * 16_000) for _ in range(3)) < 50 * letters


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('token=\\\\"\nx', 'token=***\\"\nx'),
        ('token=\\"\\\\" pw: [a\nhunter2', 'token=***\\" pw: ***'),
        ('token=\\"hunter2\\\\\\" and more', 'token=***\\\\\\" and more'),
    ],
)
def test_a_value_ends_before_the_backslashes_of_its_closing_quote(text: str, shown: str) -> None:
    assert secrets.masked(text) == shown


def test_a_user_may_add_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "WORDS", {*secrets.WORDS, "pin"})
    assert secrets.masked("1234", key="card.pin") == "***"
    assert secrets.masked("1234", key="pinboard") == "1234"
