"""Orphans: whatever becomes of a scheduler, its processes and scripts have no effect once a successor may
begin.

When that is, a job in a thread shows, which the successor runs again at the same moment and which begins at
once: every effect of every old run is held against the first run that began anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from shardwright.registry import connect
from tests.acceptance import effects
from tests.acceptance.conftest import SESSION
from tests.acceptance.effects import PROCESS, SCRIPT, THREAD
from tests.acceptance.fleet import Fleet, Replica
from tests.acceptance.history import CANCELLED, Run
from tests.acceptance.jobs import Job
from tests.faults.processes import Child

pytestmark = pytest.mark.slow

JOBS = [Job(name, every=None, shards=1) for name in (THREAD, PROCESS, SCRIPT)]

#: So many effects show that somebody is at work.
SOME = 20


class Worker(Replica):
    """A replica that has the jobs of `effects`."""

    def __init__(self, url: str, address: str, path: Path, folder: Path) -> None:
        Child.__init__(self, effects.run, url, address, str(path), str(folder))
        self.address = address


class Crew(Fleet):
    """A scheduler whose jobs have effects, and one that is there to succeed it."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(url, folder, JOBS)
        self._folder = folder / "jobs"
        effects.make_program(self._folder)

    def join(self, address: str) -> Worker:
        worker = Worker(self.url, address, self._path, self._folder)
        self.replicas.append(worker)
        self._all.append(worker)
        worker.expect("joined as", within=60.0)
        return worker

    def old_and_new(self) -> tuple[Worker, Worker]:
        """One that is at work on everything, and one that has nothing to do yet."""
        old = self.join("10.0.0.1")
        assert self.leader(JOBS[0]) is old
        for job in JOBS:
            assert self.leader(job) is old
            self.trigger(job)
        self.wait_for_effects(attempt=1)
        new = self.join("10.0.0.2")
        self.wait_for_members(2)
        return old, new

    def runs(self, attempt: int) -> dict[str, Run]:
        return {run.job: run for run in self.history().runs if run.attempt == attempt}

    def effects(self, attempt: int) -> dict[str, list[float]]:
        """When each of the runs had its effects, on the boot clock."""
        runs = {(run.job, run.token) for run in self.history().runs if run.attempt == attempt}
        found: dict[str, list[float]] = {PROCESS: [], SCRIPT: []}
        for note in self._effects():
            if (note["job"], note["token"]) in runs:
                found[note["job"]].append(note["boot"])
        return found

    def wait_for_effects(self, attempt: int) -> None:
        """Until all three are run, and those that have effects have had some."""
        self.wait(
            lambda _: (
                len(self.runs(attempt)) == len(JOBS)
                and all(len(each) >= SOME for each in self.effects(attempt).values())
            )
        )

    def wait_for_members(self, count: int) -> None:
        self.wait(lambda _: all(self._members(job) == count for job in JOBS))

    def late_effects(self) -> dict[str, int]:
        """How many effects the first runs have had since the first of the second ones began."""
        began = min(run.began for run in self.runs(attempt=2).values())
        return {job: sum(at > began for at in each) for job, each in self.effects(attempt=1).items()}

    def _members(self, job: Job) -> int:
        with connect(self.url) as registry:
            path = f"{registry.namespace}/{job.name}/instances"
            return len(registry.wait(registry.names([path], fresh=True))[path] or ())

    def _effects(self) -> list[dict[str, Any]]:
        text = self._path.read_text()
        lines = text[: text.rfind("\n") + 1].splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"what": "effect"')]


def test_no_child_of_a_scheduler_that_is_killed_has_an_effect_once_a_successor_may_begin(
    url: str, tmp_path: Path
) -> None:
    with Crew(url, tmp_path) as crew:
        old, _ = crew.old_and_new()
        crew.kill(old)
        crew.wait_for_effects(attempt=2)
        assert {run.source for run in crew.runs(attempt=2).values()} == {"failover"}
        assert crew.late_effects() == {PROCESS: 0, SCRIPT: 0}, crew.story()


def test_no_child_of_a_scheduler_that_is_stopped_for_twice_its_session_has_an_effect_once_a_successor_may(
    url: str, tmp_path: Path
) -> None:
    with Crew(url, tmp_path) as crew:
        old, _ = crew.old_and_new()
        while True:
            with crew.stopped(old):
                if not crew._can_be_written():
                    continue  # it is in the midst of a write, which on SQLite holds up everybody
                crew.wait_for_effects(attempt=2)
                crew.wait_while(2 * SESSION)
                assert crew.late_effects() == {PROCESS: 0, SCRIPT: 0}, crew.story()
            break
        crew.wait(lambda _: crew.runs(attempt=1)[THREAD].outcome == CANCELLED)
        assert crew.late_effects() == {PROCESS: 0, SCRIPT: 0}, crew.story()
