"""Sessions end, the server goes away and comes back, and strangers are kept out."""

import uuid
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from tests.zookeeper_server import Server

from .job import Job

pytestmark = pytest.mark.interop

PERIOD = 3.0
SESSION = 4.0
ALL = [0, 1, 2, 3]


@pytest.mark.parametrize("first", ["java", "python"])
@pytest.mark.parametrize("cut_off", ["java", "python"])
def test_a_member_whose_session_ended_comes_back(job: Job, cut_off: str, first: str) -> None:
    job.cron, job.shards = "0/3 * * * * ?", 4
    proxy = job.proxy()
    peers = job.members(first, session=SESSION, hosts={cut_off: proxy.hosts})
    away = peers[cut_off]
    (other,) = {*peers.values()} - {away}

    with away.kept_away():
        proxy.cut()
        job.until_shared_out(4, other)
        assert job.leader() == job.id_of(other)
        assert list(job.next_fires(1, PERIOD).values()) == [ALL]
        proxy.heal()
        job.until(lambda: job.id_of(away) is not None)

    job.until_shared_out(4, *peers.values())
    assert list(job.next_fires(1, PERIOD).values()) == [ALL]
    job.assert_none_lost(PERIOD)


@pytest.mark.parametrize("first", ["java", "python"])
def test_all_go_on_after_the_server_was_away(
    zookeeper_server: Server, tmp_path: Path, version: str, first: str
) -> None:
    with Job(zookeeper_server, tmp_path, "outage", version) as job:
        job.cron, job.shards = "0/3 * * * * ?", 4
        members = job.members(first, session=20.0)
        job.next_fires(1, PERIOD)
        zookeeper_server.kill()
        zookeeper_server.restart()
        place = job.story.place()
        job.until(lambda: {run.who for run in job.story.runs(since=place)} == {*members})
        # A Java member that is just back may sit out one more.
        assert list(job.next_fires(3, PERIOD).values())[1:] == 2 * [ALL]


@pytest.mark.parametrize("first", ["java", "python"])
def test_a_job_that_a_password_keeps_strangers_out_of(
    zookeeper: Server, tmp_path: Path, version: str, first: str
) -> None:
    namespace = f"interop-{uuid.uuid4().hex[:8]}"
    with Job(zookeeper, tmp_path, namespace, version, digest="ops:s3cret") as job:
        job.cron, job.shards = "0/3 * * * * ?", 4
        job.members(first)
        assert list(job.next_fires(1, PERIOD).values()) == [[0, 1, 2, 3]]
        stranger = KazooClient(zookeeper.hosts)
        stranger.start()
        with pytest.raises(NoAuthError):
            stranger.get(f"/{namespace}/shared/config")
        stranger.stop()
        stranger.close()
