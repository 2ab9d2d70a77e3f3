"""The stream of events, and the picture behind it: nothing is missed, nobody waits, all of it heals."""

import os
import signal
import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from shardwright.console.desk import MOST_STREAMS, Desk
from shardwright.console.lasts import Lasts
from shardwright.console.live import MOST_EVENTS, Event, Listener, Watcher, _Following
from shardwright.console.refusals import Refusal
from shardwright.console.settings import Place
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.history.store import Store
from shardwright.registry import Create, Delete, connect
from tests.faults.processes import Child
from tests.ops.bureau import PY, PY2, Bureau
from tests.stories.children import lead
from tests.zookeeper_server import Server

from .counter import Counter, Follower, counter


def test_who_begins_to_follow_is_greeted_and_told_what_changes(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, job="a", owners={0: PY})
    any_desk.seen(lambda answer: answer["total"] == 1)
    with Follower(any_desk.room) as follower:
        follower.hear("hello", lambda data: data["statistics"]["jobs"] == 1)
        bureau.of(PY, job="b", owners={0: PY})
        told = follower.hear("jobs", lambda data: [each["name"] for each in data["changed"]] == ["b"])
        row = told["changed"][0]
        assert (row["status"], row["java"], row["last"]) in (
            ("OK", False, None),
            ("SHARDING_FLAG", False, None),
        )
        follower.hear("jobs", lambda data: data["statistics"]["by_status"]["OK"] == 2)
        bureau.land(Delete(bureau.path("", "a"), recursive=True))
        follower.hear("jobs", lambda data: data["gone"] == ["a"] and data["statistics"]["jobs"] == 1)


def test_who_follows_a_job_is_told_its_members_and_its_map(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, PY2, shards=2, owners={0: PY, 1: PY2}, monitor_execution=False)
    with Follower(any_desk.room, "j") as follower:
        told = follower.hear("job", lambda data: data["map"]["state"] == "PP")
        assert [each["id"] for each in told["members"]] == [PY, PY2]
        bureau.put({"leader/election/instance": PY2})
        follower.hear("job", lambda data: data["leader"] == PY2)
        bureau.cursor(1, Cursor(run=Tenure(PY2, "a1", "2026-01-01T00:00:00+00:00", "scheduled", 1)))
        running = follower.hear("job", lambda data: data["map"]["state"] == "PR")
        assert running["map"]["running"] == [-1, 1]
        bureau.land(Delete(bureau.path(f"instances/{PY}")), Delete(bureau.path(f"~alive/{PY}")))
        gone = follower.hear("job", lambda data: data["map"]["state"][0] == "S")
        assert (gone["map"]["members"], gone["map"]["here"]) == ([PY2, PY], 1)


def test_a_killed_process_is_seen_on_the_map_right_after_the_registry_has_noticed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    url = f"sqlite://{tmp_path / 'registry.db'}"
    with (
        Child(lead, url, "192.0.2.7", 2) as child,
        connect(url) as watching,
    ):
        child.expect("leads")
        with Desk([Place("main", url)]) as desk, Follower(desk.room("main"), "job") as follower:
            follower.hear("job", lambda data: "S" not in data["map"]["state"] and len(data["members"]) == 1)
            instances = watching.mirror(f"{watching.namespace}/job/instances")
            watching.wait_for(lambda: instances.synced)
            os.kill(child.pid, signal.SIGKILL)
            watching.wait_for(lambda: not instances.children(""), 20)
            noticed = time.monotonic()
            follower.hear("job", lambda data: not data["members"] and data["brief"]["status"] == "CRASHED")
            assert time.monotonic() - noticed < 2


def test_a_next_fire_that_has_passed_is_followed_by_the_one_after(desk: Counter) -> None:
    desk.bureau.of(PY, cron="* * * * * ?", owners={0: PY})
    with Follower(desk.room) as follower:
        first = follower.hear("jobs", lambda data: data["changed"] and data["changed"][0]["next_fires"])
        before = first["changed"][0]["next_fires"]
        follower.hear("jobs", lambda data: data["changed"] and data["changed"][0]["next_fires"] > before)


def test_many_changes_at_once_are_not_told_one_by_one(desk: Counter) -> None:
    desk.seen(lambda answer: answer["total"] == 0)
    with Follower(desk.room) as follower:
        follower.hear("hello")
        namespace = desk.bureau.registry.namespace
        desk.bureau.land(*(Create(f"{namespace}/job-{each}/config", "") for each in range(150)))
        told = follower.hear("jobs", lambda data: data["many"])
        assert (told["changed"], told["gone"], told["statistics"]["jobs"]) == ([], [], 150)


def test_how_a_fire_came_out_is_told_when_the_history_knows(desk: Counter) -> None:
    from tests.history.fires import a_run

    desk.bureau.of(PY, owners={0: PY})
    desk.seen(lambda answer: answer["total"] == 1)
    with Follower(desk.room) as follower:
        follower.hear("hello")
        desk.store.write([a_run(job="j", outcome="failed")])
        desk.bureau.put({"sharding/0/running": PY})
        told = follower.hear("jobs", lambda data: data["changed"] and data["changed"][0]["last"])
        assert told["changed"][0]["last"]["outcome"] == "failed"


def test_a_run_that_came_and_went_between_two_looks_is_asked_for_too(desk: Counter) -> None:
    """The job's nodes have changed, and its row tells nothing of it."""
    from tests.history.fires import a_run

    desk.bureau.of(PY, owners={0: PY})
    desk.seen(lambda answer: "j" in desk.room.lasts._known)  # which is nothing as yet
    with Follower(desk.room) as follower:
        follower.hear("hello")
        desk.store.write([a_run(job="j", outcome="failed")])
        desk.bureau.set("sharding/0/instance", PY)
        told = follower.hear("jobs", lambda data: data["changed"] and data["changed"][0]["last"])
        assert told["changed"][0]["last"]["outcome"] == "failed"


class Restless(_Following):
    """What is followed where one job changes for as long as it is read, the first time."""

    looks = 0

    def read_up(self, names: Collection[str], with_cursors: Collection[str]) -> set[str]:
        self.looks += 1
        return {"restless"} if self.looks == 1 else super().read_up(names, with_cursors)


def test_a_job_that_changes_while_it_is_first_read_keeps_no_other_out_of_the_picture(tmp_path: Path) -> None:
    with Bureau.in_a_file(tmp_path) as bureau:
        for job in ("quiet", "restless"):
            bureau.of(PY, job=job)
        lasts = Lasts("main", lambda: Store(tmp_path / "history.db", trace=False))
        watcher = Watcher("main", lambda: connect(bureau.url), lasts)
        with connect(bureau.url) as registry:
            following = Restless(registry, threading.Event())
            registry.wait_for(following.complete)
            for _ in range(2):
                watcher._look(following)
        assert sorted(watcher.picture(0).rows) == ["quiet", "restless"]


# Trouble


def test_a_registry_that_is_not_there_yet_is_trouble_until_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    url = f"sqlite://{tmp_path / 'registry.db'}"
    with Desk([Place("main", url)]) as desk, Follower(desk.room("main")) as follower:
        assert "there is no registry" in follower.hear("trouble")["error"]
        connect(url).close()
        assert follower.hear("hello")["statistics"]["jobs"] == 0


@pytest.mark.zookeeper
def test_an_outage_is_told_and_heals_and_nothing_is_missed(zookeeper_server: Server, tmp_path: Path) -> None:
    with Bureau.on_zookeeper(zookeeper_server.hosts) as bureau, counter(tmp_path, bureau) as desk:
        bureau.of(job="before")
        desk.seen(lambda answer: answer["total"] == 1)
        with Follower(desk.room) as follower:
            follower.hear("hello")
            follower.forget()
            zookeeper_server.kill()
            assert follower.hear("trouble", within=20)["error"]
            assert desk.viewer.get("jobs", 503)["kind"] == "unreachable"
            zookeeper_server.restart()
            with Bureau(bureau.url) as other:
                other.of(job="meanwhile")
            follower.hear("hello", within=40)
            assert desk.seen(lambda answer: answer["total"] == 2)["jobs"][1]["name"] == "meanwhile"
            assert desk.viewer.get("jobs/meanwhile")["brief"]["name"] == "meanwhile"


# Those who follow


def test_who_is_too_slow_loses_what_waits_and_is_told_to_fetch_anew(desk: Counter) -> None:
    slow = desk.room.listen("ann", None)
    for number in range(MOST_EVENTS + 5):
        slow.tell(Event("jobs", str(number)))
    assert slow.behind()
    slow.tell(Event("hello", "{}"))
    assert not slow.behind()
    assert [each.name for each in slow._events] == ["hello"]
    slow.close()


def test_of_a_job_only_the_newest_waits() -> None:
    listener = Listener("j", lambda each: None)
    for number in range(3):
        listener.tell(Event("job", str(number)))
    assert [each.data for each in listener._events] == ["2"]


def test_nobody_follows_more_streams_than_are_good(desk: Counter) -> None:
    streams = [desk.room.listen("ann", None) for _ in range(MOST_STREAMS)]
    with pytest.raises(Refusal, match="ann follows 20 streams already") as refused:
        desk.room.listen("ann", None)
    assert refused.value.status == 429
    desk.room.listen("bob", None).close()
    for each in streams:
        each.close()
    desk.room.listen("ann", None).close()


def test_all_streams_end_when_the_console_stops(desk: Counter) -> None:
    with Follower(desk.room) as first, Follower(desk.room, "j") as second:
        first.hear("hello")
        desk.room.end_streams()
        assert first.ended.wait(5)
        assert second.ended.wait(5)


def test_a_stream_is_one_of_server_sent_events_and_no_proxy_keeps_it_back(desk: Counter) -> None:
    answer = desk.house.admin.get("/api/r/main/live")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in answer.headers
    assert desk.viewer.get("live?job=", 400)["kind"] == "invalid"
