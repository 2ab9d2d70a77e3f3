"""Jobs and alerts to try handlers with."""

from datetime import UTC, datetime

from shardwright.alerts import Alert, Desk, Kind, Settings
from shardwright.clock import HandClock
from shardwright.jobs import JobConfig

ALERT = Alert(
    Kind.FAILED,
    "nightly",
    "ValueError: no such customer",
    item=3,
    fire=datetime(2030, 1, 1, 2, tzinfo=UTC),
    details='Traceback (most recent call last):\n  File "x.py", line 7, in run\nValueError: no such customer',
)

TEXT = (
    "nightly: failed, shard 3: ValueError: no such customer\n"
    "scheduled for 2030-01-01T02:00:00+00:00\n"
    'Traceback (most recent call last):\n  File "x.py", line 7, in run\nValueError: no such customer'
)


def a_job(handler: str | None = None, **props: str) -> JobConfig:
    """A job whose handler has these props; `email_host` is given for `email.host`."""
    return JobConfig(name="nightly", error_handler=handler, props=spelled(props))


def tell(desk: Desk, config: JobConfig, alert: Alert = ALERT) -> None:
    """Tell an alert about a job that this program declares like this."""
    desk.tell(config, alert, config)


def settings(**props: str) -> Settings:
    return Settings(spelled(props), HandClock())


def spelled(props: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in props.items()}


def by_mail(port: int, **props: str) -> dict[str, str]:
    """What EMAIL needs to know, for a server on loopback without TLS."""
    return {
        "email_host": "localhost",
        "email_port": str(port),
        "email_username": "me",
        "email_password": "hunter2",
        "email_from": "Jobs <jobs@example.com>",
        "email_to": "ops@example.com",
        "email_useSsl": "false",
        **props,
    }
