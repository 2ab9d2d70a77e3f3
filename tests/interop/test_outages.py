"""Sessions end, the server goes away and comes back, and strangers are kept out."""

import uuid
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

from .job import Job
from .story import by_fire, doubled, of_python, twice_at_once

pytestmark = pytest.mark.interop

PERIOD = 3.0
SESSION = 4.0


@pytest.mark.parametrize("cut_off", ["java", "python"])
def test_a_member_whose_session_ended_comes_back(job: Job, zookeeper: Server, cut_off: str) -> None:
    job.cron, job.shards = "0/3 * * * * ?", 4
    with Proxy(zookeeper.hosts) as proxy:
        java = job.java(session=SESSION, hosts=proxy.hosts if cut_off == "java" else "")
        python = job.python(session=SESSION, hosts=proxy.hosts if cut_off == "python" else "")
        away, other = (java, python) if cut_off == "java" else (python, java)
        job.until_shared_out(4, java, python)

        proxy.cut()
        job.until_shared_out(4, other)
        assert job.leader() == job.id_of(other)
        assert list(job.next_fires(1, PERIOD).values()) == [[0, 1, 2, 3]]
        proxy.heal()

        job.until(lambda: job.id_of(away) is not None)
        job.until_shared_out(4, java, python)
        assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3]]
    assert twice_at_once(of_python(job.story.runs())) == []
    assert doubled(by_fire(of_python(job.story.runs()), PERIOD)) == {}


def test_all_go_on_after_the_server_was_away(zookeeper_server: Server, tmp_path: Path, version: str) -> None:
    with Job(zookeeper_server, tmp_path, "outage", version) as job:
        job.cron, job.shards = "0/3 * * * * ?", 4
        job.members("java", session=20.0)
        job.next_fires(1, PERIOD)
        zookeeper_server.kill()
        zookeeper_server.restart()
        job.until(lambda: job.names("instances"))
        fires = job.next_fires(3, PERIOD)
        assert list(fires.values())[1:] == 2 * [[0, 1, 2, 3]]
        assert twice_at_once(of_python(job.story.runs())) == []


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
