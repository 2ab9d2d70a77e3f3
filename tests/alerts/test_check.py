"""What is wrong with a job's handler is said when the job is declared, all of it at once."""

import pytest

from shardwright import alerts
from shardwright.alerts import Alert, Settings
from shardwright.errors import ConfigError
from shardwright.jobs import JobConfig
from tests.alerts.alarms import a_job, by_mail

CANARY = "c4n4ry-t1ttle"
MAIL = by_mail(25)
HOOKS = {
    "WECHAT": "wechat_webhook",
    "DINGTALK": "dingtalk_webhook",
    "SLACK": "slack_webhook",
    "FEISHU": "feishu_webhook",
    "WEBHOOK": "webhook_url",
}


def faults(config: JobConfig) -> list[str]:
    """What the check says, a sentence each."""
    try:
        alerts.check(config)
    except ConfigError as error:
        job, _, said = str(error).partition(": ")
        assert job == "job 'nightly'"
        return said.split("; ")
    return []


@pytest.mark.parametrize(
    "config",
    [
        a_job(),
        a_job("LOG"),
        a_job("IGNORE", email_hots="x"),
        a_job("THROW"),
        a_job("EMAIL", **MAIL),
        a_job("EMAIL", **MAIL, http_uri="x", mine="y"),
        a_job("EMAIL", **MAIL, email_cc="a@b.c, D <d@e.f>", email_bcc="x@y.z", email_subject="Über"),
        a_job("EMAIL", **MAIL, email_ssl_trust="*", email_debug="TRUE"),
        *(a_job(kind, **{key: "https://example.com/x?a=b"}) for kind, key in HOOKS.items()),
        *(a_job(kind, **{key: "http://[::1]:8080/"}) for kind, key in HOOKS.items()),
        a_job("SLACK", slack_webhook="http://h", slack_readTimeoutMilliseconds="1"),
    ],
    ids=repr,
)
def test_what_can_be_is_let_pass(config: JobConfig) -> None:
    assert faults(config) == []


def test_references_pass_without_being_resolved() -> None:
    nowhere = dict.fromkeys(MAIL, "${env:X_IS_NOT_SET}")
    assert faults(a_job("EMAIL", **nowhere)) == []
    assert faults(a_job("SLACK", slack_webhook="https://h/${file:/nowhere/at/all}")) == []


def test_a_reference_that_can_never_be_resolved_does_not() -> None:
    config = a_job("DINGTALK", dingtalk_webhook="${file:hook}", dingtalk_secret="${env:no name}")
    assert faults(config) == [
        "dingtalk.webhook: ${file:hook} must be a path from the root, as in ${file:/run/secrets/x}",
        "dingtalk.secret: ${env:no name} must name a variable: letters, digits and _",
    ]


def test_all_that_is_missing_is_said_at_once() -> None:
    assert faults(a_job("EMAIL", emial_host="h")) == [
        "email.host is missing (is 'emial.host' meant for it?)",
        "email.port is missing",
        "email.username is missing",
        "email.password is missing",
        "email.from is missing",
        "email.to is missing",
    ]
    for kind, key in HOOKS.items():
        assert faults(a_job(kind)) == [f"{key.replace('_', '.')} is missing"]


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("email_host", "h p", "must be the name or the address of a host, nothing else"),
        ("email_host", "https://h", "must be the name or the address of a host, nothing else"),
        ("email_host", "h\r\nRSET", "must be the name or the address of a host, nothing else"),
        *(
            ("email_port", value, "must be a whole number from 1 to 65535")
            for value in ("0", "-1", "65536", "25.0", "x", " 25", "٢٥", "1e2", "9" * 99)
        ),
        ("email_from", "jobs", "must be one mail address"),
        ("email_from", "a@b, c@d", "must be one mail address"),
        ("email_from", "a@b\nBcc: c@d", "must be one mail address"),
        *(
            ("email_to", value, "must be a list of mail addresses, with commas between them")
            for value in ("ops", "a@b,c", "a@b;c@d", "@", "a@", "a@b@c", " ")
        ),
        ("email_cc", "a@b\r\nSubject: x", "must be one line without control characters"),
        ("email_bcc", "a@b\u2028c", "must be one line without control characters"),
        ("email_useSsl", "yes", "must be true or false"),
        ("email_debug", "1", "must be true or false"),
        ("email_subject", "a\nb", "must be one line without control characters"),
        ("email_password", "a\0b", "must be one line without control characters"),
    ],
)
def test_what_mail_cannot_use_is_said_without_repeating_it(key: str, value: str, fault: str) -> None:
    said = faults(a_job("EMAIL", **{**MAIL, key: value}))
    assert said == [f"{key.replace('_', '.')} {fault}"]


@pytest.mark.parametrize("kind", HOOKS)
@pytest.mark.parametrize(
    "url",
    [
        *(
            "example.com",
            "ftp://h/x",
            "file:///etc/passwd",
            "http://",
            "https:///x",
            "http:h",
            "javascript:x",
        ),
        *("http://h:0/", "http://h:99999/", "http://h:x/", "http://[::1/", "//h/x", "HTTP//h"),
    ],
)
def test_what_is_no_url_is_refused(kind: str, url: str) -> None:
    said = faults(a_job(kind, **{HOOKS[kind]: url}))
    assert said == [
        f"{HOOKS[kind].replace('_', '.')} must be a URL that begins with http:// or https:// and names a host"
    ]


@pytest.mark.parametrize("blank", [" ", "\r\nX-Evil: 1", "\n", "\t", "\0", "\x7f", "\u2028", "\u00a0"])
def test_a_url_that_could_pass_for_a_request_of_its_own_is_refused(blank: str) -> None:
    said = faults(a_job("SLACK", slack_webhook=f"http://h/{blank}x"))
    assert said == ["slack.webhook must be a URL without blanks and control characters"]


@pytest.mark.parametrize("value", ["0", "-5", "3.5", "3s", "", "99999999999"])
def test_timeouts_are_whole_and_positive(value: str) -> None:
    for kind, key in HOOKS.items():
        for which in ("connect", "read"):
            timeout = f"{key.partition('_')[0]}.{which}TimeoutMilliseconds"
            said = faults(a_job(kind, **{key: "http://h", timeout: value}))
            assert said == ([f"{timeout} must be a whole number above 0"] if value else [])


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("email_usessl", "email.useSsl"),
        ("email_hostt", "email.host"),
        ("Email_Subject", "email.subject"),
        ("email_user", "email.username"),
        ("email_ssl_trusts", "email.ssl.trust"),
    ],
)
def test_a_misspelled_property_is_told_with_the_one_that_was_meant(key: str, meant: str) -> None:
    said = faults(a_job("EMAIL", **MAIL, **{key: "x"}))
    assert said == [f"there is no property {key.replace('_', '.')!r} (did you mean {meant!r}?)"]


@pytest.mark.parametrize(
    ("handler", "hint"),
    [
        ("EMIAL", " (did you mean 'EMAIL'?)"),
        ("email", " (did you mean 'EMAIL'?)"),
        ("DingTalk", " (did you mean 'DINGTALK'?)"),
        (
            "PIGEON",
            ": there are LOG, IGNORE, THROW, EMAIL, WECHAT, DINGTALK, SLACK, FEISHU, WEBHOOK",
        ),
    ],
)
def test_a_handler_nobody_knows_is_told_with_the_one_that_was_meant(handler: str, hint: str) -> None:
    assert faults(a_job(handler)) == [
        f"there is no error_handler {handler!r}{hint}",
        "add your own with alerts.register",
    ]


def test_no_secret_is_repeated_whatever_is_wrong() -> None:
    bad = dict.fromkeys(MAIL, f"{CANARY} \n") | {"email_x": CANARY, f"email_password={CANARY}": "x"}
    for kind in ("EMAIL", *HOOKS, f"password={CANARY}"):
        hooks = dict.fromkeys(HOOKS.values(), f"x{CANARY}")
        timeouts = {f"{key.partition('_')[0]}.readTimeoutMilliseconds": CANARY for key in HOOKS.values()}
        with pytest.raises(ConfigError) as raised:
            alerts.check(a_job(kind, **bad, **hooks, **timeouts))
        assert CANARY not in f"{raised.value!r} {raised.value}"


# Handlers of one's own


class Pager:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def send(self, alert: Alert) -> None:
        pass


def test_one_of_your_own_is_known_once_it_is_registered() -> None:
    assert faults(a_job("PAGER")) != []
    alerts.register("PAGER", Pager)
    assert faults(a_job("PAGER", whatever="x")) == []


def test_its_check_is_asked_and_what_it_says_is_masked() -> None:
    alerts.register(
        "PAGER", Pager, lambda props: [f"number {n} is wrong: pw={CANARY}" for n in props.values()]
    )
    assert faults(a_job("PAGER", a="1", b="2")) == ["number 1 is wrong: pw=***", "number 2 is wrong: pw=***"]


def test_a_check_that_breaks_is_a_fault_of_the_job_and_tells_no_secret() -> None:
    def check(props: object) -> list[str]:
        raise KeyError(CANARY)

    alerts.register("PAGER", Pager, check)
    assert faults(a_job("PAGER")) == ["the check of PAGER failed (KeyError)"]


@pytest.mark.parametrize("name", ["EMAIL", "LOG", "THROW", "WEBHOOK"])
def test_none_of_ours_is_replaced_by_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match=f"there is a handler '{name}' already; choose another name"):
        alerts.register(name, Pager)


def test_what_is_sent_may_be_replaced_on_purpose_and_what_is_done_here_may_not() -> None:
    alerts.register("EMAIL", Pager, replace=True)
    assert faults(a_job("EMAIL")) == []
    with pytest.raises(ConfigError, match="already"):
        alerts.register("LOG", Pager, replace=True)


@pytest.mark.parametrize("name", ["", " ", "A B", "1A", "A\n", "Ä", "x" * 101])
def test_a_name_is_a_word(name: str) -> None:
    with pytest.raises(ConfigError, match="a handler's name must be letters"):
        alerts.register(name, Pager)
