"""What the documents the project was born from tell of, played through on clusters: who leads and how that
ends, who rescues what the dead left, who waits for whom. `docs/explanation/origins.md` is their table."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from shardwright.clock import HandClock
from shardwright.coordination.step import Claim
from shardwright.coordination.view import Hooks, View
from shardwright.jobs import JobConfig
from shardwright.registry import Create, Delete, Node, Put, State
from shardwright.registry.memory import MemoryRegistry, Store
from shardwright.runtime.member import Member

from .world import ROOT, START, Process, World

LEADER = "leader/election/instance"
ELECTION, RESCUE = "leader/election/latch", "leader/failover/latch"
TERM = "/ns~shardwright/job/watched/term"

#: A place in the election's line that somebody took before anybody of ours came.
BEFORE_US = f"{ROOT}/{ELECTION}/_c_00000000-0000-4000-8000-000000000000-latch-"

REPOSITORY = Path(__file__).parents[2]

SEEDS = pytest.mark.parametrize("seed", range(3))


def config(**changes: object) -> JobConfig:
    """A job that fires once a minute, so that a story has time to be told within one fire."""
    return JobConfig.of(
        {
            "name": "job",
            "cron": "0 * * * * ?",
            "time_zone": "UTC",
            "shards": 3,
            "failover": True,
            **changes,
        }
    )


class OneThread(Member):
    """A member whose pool has one thread: while something runs here, there is room for nothing else."""

    def _view(self) -> View:
        view = super()._view()
        going = [run for run in view.local.runs.values() if run.outcome is None]
        return replace(view, local=replace(view.local, slots=0 if going else 1))


class Story(World):
    """A world in which runs take as long as the story wants: by shard the first time, and when rescued."""

    def __init__(
        self,
        seed: int = 1,
        lasting: Mapping[int, float] | None = None,
        rescued: float = 0.5,
        *,
        member: type[Member] = Member,
        hooks: Hooks | None = None,
        **changes: object,
    ) -> None:
        super().__init__(seed, config(**changes), member=member, hooks=hooks)
        self.lasting = lasting or {}
        self.rescued = rescued

    def length(self) -> float:
        claim = self.started[-1].claim
        return self.lasting.get(claim.item, 0.5) if claim.tries == 1 else self.rescued

    # -- what the stories ask -----------------------------------------------------------------------

    def until(self, moment: float) -> None:
        self.advance(moment - self.clock.boot())

    def enter(self, *, count: int = 1) -> list[Process]:
        """Members come one after the other, so that the first leads."""
        came = []
        for _ in range(count):
            came.append(self.join())
            self.advance(1.0)
        return came

    def node(self, path: str) -> Node | None:
        return self.store.nodes.get(f"{ROOT}/{path}")

    def leader(self) -> str | None:
        """The name of the process that leads; an instance's id where it is none of ours."""
        who = self.data(f"{ROOT}/{LEADER}")
        return next((name for name, each in self.processes.items() if each.member.me == who), who)

    def elections(self) -> int:
        term = self.store.nodes.get(TERM)
        return 0 if term is None else term.version + 1

    def line(self, latch: str) -> list[str]:
        return list(self.store.children(f"{ROOT}/{latch}") or ())

    def owners(self) -> list[str | None]:
        return [self.data(f"{ROOT}/sharding/{item}/instance") for item in range(self.settings.shards)]

    def owner(self, item: int) -> Process:
        return next(each for each in self.processes.values() if each.member.me == self.owners()[item])

    def runs(self, fire: str | None = None) -> list[tuple[str, int, int]]:
        """Who ran which shard for the how-manieth time, in order; of one fire or of all."""
        return [
            (each.who, each.claim.item, each.claim.tries)
            for each in self.started
            if fire is None or each.claim.fire[14:19] == fire
        ]

    def rescues(self) -> list[tuple[float, str, int]]:
        return [
            (each.at, each.who, each.claim.item)
            for each in self.started
            if each.claim.source.value == "failover"
        ]

    # -- what befalls a member ----------------------------------------------------------------------

    def set_server(self, process: Process, state: str) -> None:
        self.operator(Put(f"{ROOT}/servers/{process.member.me.partition('@')[0]}", state))

    def order_to_stop(self, process: Process) -> None:
        self.operator(Delete(f"{ROOT}/instances/{process.member.me}"))


# Being elected


def test_the_first_to_start_leads_under_its_own_name_for_as_long_as_its_session_lasts() -> None:
    world = Story()
    (first,) = world.enter()
    node = world.node(LEADER)
    assert node is not None
    assert node.data == first.member.me
    assert re.fullmatch(r"10\.0\.0\.2@-@.+", node.data)
    assert node.owner == first.registry._link.session


def test_a_starter_that_finds_a_leader_changes_nothing() -> None:
    world = Story()
    world.enter()
    before, term = world.node(LEADER), world.store.nodes[TERM]
    world.enter(count=2)
    world.advance(5)
    assert world.node(LEADER) == before
    assert world.store.nodes[TERM] == term
    assert world.line(ELECTION) == []


@SEEDS
def test_of_three_that_stand_in_line_at_once_one_is_elected_and_the_others_withdraw(seed: int) -> None:
    world = Story(seed)
    for each in world.enter(count=3):
        each.registry.delay(requests=0.2, answers=0.2)
    world.operator(Delete(f"{ROOT}/{LEADER}"))
    longest = 0
    for _ in range(50):
        world.advance(0.05)
        longest = max(longest, len(world.line(ELECTION)))
    assert longest == 3
    assert world.leader() in world.processes
    assert world.elections() == 2
    assert world.line(ELECTION) == []


def test_who_acts_in_the_belief_that_nobody_leads_does_not_overwrite_a_leader_that_came_meanwhile() -> None:
    world = Story()
    (late,) = world.enter()
    world.operator(Delete(f"{ROOT}/{LEADER}"))
    late.registry.delay(requests=2.0)
    while not world.line(ELECTION):
        world.advance(0.5)
    world.advance(0.5)
    assert late.member._under_way  # its commit is on its way, made while nobody led
    world.operator(Create(f"{ROOT}/{LEADER}", "10.0.1.9@-@900", ephemeral=True))
    refused = world.seen["refused"]
    world.advance(10)
    assert world.seen["refused"] > refused
    assert world.leader() == "10.0.1.9@-@900"
    assert world.line(ELECTION) == []


def test_a_place_in_line_goes_with_the_session_that_took_it_and_the_next_in_line_acts() -> None:
    world = Story()
    other = world.store.connect(namespace="/ns")
    other.commit(Create(BEFORE_US, ephemeral=True, sequential=True))
    world.enter()
    world.advance(20)
    assert world.leader() is None
    assert len(world.line(ELECTION)) == 2
    other.disconnect()
    world.advance(9)
    assert world.leader() is None
    world.advance(1.5)
    assert world.leader() == "p1"


def test_a_place_in_line_whose_making_was_never_confirmed_is_found_again_and_used() -> None:
    world = Story()
    first, second = world.enter(count=2)
    world.crash(first)
    world.advance(9.9)
    second.registry.lose_reply()
    world.advance(5)
    assert world.seen["same session again"] == 1
    assert world.leader() == "p2"
    assert world.line(ELECTION) == []
    world.operator(Create(BEFORE_US, ephemeral=True, sequential=True))
    assert world.line(ELECTION)[0].endswith(
        "-latch-0000000001"
    )  # after the second's one place; who founds a job needs none


def test_a_leaders_node_deleted_by_hand_is_followed_by_an_election() -> None:
    world = Story()
    world.enter(count=3)
    world.operator(Delete(f"{ROOT}/{LEADER}"))
    world.advance(0.5)
    assert world.leader() in world.processes
    assert world.elections() == 2


# The four ways in which a leader is removed, and what becomes of the job


def test_a_leader_that_drains_hands_over_at_once_finishes_what_it_runs_and_leaves() -> None:
    """The first way: a process ends in order."""
    world = Story(lasting={0: 20.0, 1: 20.0, 2: 20.0})
    first, *_ = world.enter(count=3)
    world.until(60)
    own = [item for item, _ in first.running]
    first.member.drain()
    world.advance(0.5)
    assert world.leader() in ("p2", "p3")
    assert not first.member.left
    world.until(100)
    assert first.member.left
    assert world.node(f"instances/{first.member.me}") is None
    assert {item for item, _, tries in world.finished if tries == 1} >= set(own)
    assert world.rescues() == []
    world.until(121)
    assert sorted(item for _, item, _ in world.runs("02:00")) == [0, 1, 2]
    assert "p1" not in {who for who, _, _ in world.runs("02:00")}


def test_a_leader_whose_process_closes_its_session_is_followed_without_waiting_for_a_time_out() -> None:
    """The first way, in a hurry."""
    world = Story()
    first, _ = world.enter(count=2)
    first.registry.close()
    del world.processes[first.name]
    world.advance(0.2)
    assert world.leader() == "p2"
    assert world.owners() == [world.processes["p2"].member.me] * 3


def test_when_the_leader_crashes_another_is_elected_as_soon_as_its_session_has_ended_and_no_sooner() -> None:
    """The second way."""
    world = Story()
    first, *_ = world.enter(count=3)
    dead = first.member.me
    world.crash(first)
    world.advance(9.9)
    assert world.leader() == dead
    assert world.elections() == 1
    world.advance(0.3)
    assert world.leader() in ("p2", "p3")
    assert world.elections() == 2


def test_a_leader_whose_server_is_disabled_abdicates_and_another_is_elected_at_once() -> None:
    """The third way. The member stays in the job; it leads nothing and is given nothing."""
    world = Story()
    first, _ = world.enter(count=2)
    world.set_server(first, "DISABLED")
    world.advance(0.2)
    assert world.leader() == "p2"
    assert world.node(f"instances/{first.member.me}") is not None
    world.until(61)
    assert world.runs("01:00") == [("p2", 0, 1), ("p2", 1, 1), ("p2", 2, 1)]
    world.set_server(first, "ENABLED")
    world.advance(5)
    assert world.leader() == "p2"
    assert first.member.me in world.owners()


def test_a_leader_whose_instance_node_is_deleted_stops_for_good_and_another_is_elected() -> None:
    """The fourth way: an order from afar."""
    world = Story(lasting={0: 20.0, 1: 20.0, 2: 20.0})
    first, _ = world.enter(count=2)
    world.until(60)
    own = sorted(item for item, _ in first.running)
    assert own
    world.order_to_stop(first)
    world.advance(0.5)
    assert first.member.local.stopped
    assert world.leader() == "p2"
    assert not first.running  # cut short, and run by the other in the same fire
    assert sorted(item for _, who, item in world.rescues() if who == "p2") == own
    world.until(130)
    assert {who for who, _, _ in world.runs("02:00")} == {"p2"}
    assert world.node(f"instances/{first.member.me}") is None
    world.operator(Delete(f"{ROOT}/{LEADER}"))
    world.advance(1)
    assert world.leader() == "p2"  # one that was stopped does not stand


def test_a_member_that_only_lost_its_session_was_not_ordered_to_stop_and_is_back_under_a_new_name() -> None:
    world = Story()
    first, _ = world.enter(count=2)
    old = first.member.me
    first.registry.expire()
    world.advance(5)
    assert not first.member.local.stopped
    assert first.member.me != old
    assert world.node(f"instances/{first.member.me}") is not None
    assert world.leader() == "p2"
    world.until(61)
    assert {who for who, _, _ in world.runs("01:00")} == {"p1", "p2"}


def test_after_a_mere_disconnect_a_member_is_who_it_was_and_touches_nothing() -> None:
    world = Story()
    first, _ = world.enter(count=2)
    world.advance(5)
    before, commits = dict(world.store.nodes), world.store.number
    first.registry.disconnect()
    world.advance(4)
    first.registry.reconnect()
    world.advance(4)
    assert first.registry.state is State.CONNECTED
    assert world.store.nodes == before
    assert world.store.number == commits
    assert world.leader() == "p1"


def test_while_it_is_cut_off_a_member_starts_nothing_and_heeds_no_order_to_stop() -> None:
    world = Story()
    first, _ = world.enter(count=2)
    world.until(55)
    first.registry.disconnect()
    world.order_to_stop(first)
    world.advance(8)
    assert not first.member.local.stopped
    assert {who for who, _, _ in world.runs()} == {"p2"}
    first.registry.reconnect()
    world.advance(1)
    assert first.member.local.stopped


# Disabled and enabled


def test_a_job_that_begins_disabled_has_no_leader_and_runs_nothing_until_one_server_is_enabled() -> None:
    world = Story(disabled=True)
    _, second = world.enter(count=2)
    world.until(61)
    assert world.leader() is None
    assert world.line(ELECTION) == []
    assert world.runs() == []
    world.set_server(second, "ENABLED")
    world.until(121)
    assert world.leader() == "p2"
    assert world.runs() == [("p2", 0, 1), ("p2", 1, 1), ("p2", 2, 1)]


def test_where_all_are_disabled_nobody_leads_and_enabling_one_elects_it_at_once() -> None:
    world = Story()
    everybody = world.enter(count=3)
    for each in everybody:
        world.set_server(each, "DISABLED")
    world.advance(5)
    assert world.leader() is None
    elections = world.elections()
    world.set_server(everybody[1], "ENABLED")
    world.settle()
    assert world.leader() == "p2"
    assert world.elections() == elections + 1


def test_disabling_or_enabling_one_that_does_not_lead_elects_nobody() -> None:
    world = Story()
    _, second = world.enter(count=2)
    before = world.node(LEADER)
    for state in ("DISABLED", "ENABLED"):
        world.set_server(second, state)
        world.advance(5)
        assert world.node(LEADER) == before
    assert world.elections() == 1


def test_a_server_that_an_operator_disabled_stays_so_when_its_process_starts_again() -> None:
    world = Story()
    first, _ = world.enter(count=2)
    world.set_server(first, "DISABLED")
    world.crash(first)
    world._names = 6  # the next one is on the same machine
    again = world.join()
    world.advance(30)
    assert again.member.me.partition("@")[0] == first.member.me.partition("@")[0]
    assert world.data(f"{ROOT}/servers/10.0.0.2") == "DISABLED"
    assert world.leader() == "p2"
    assert again.member.me not in world.owners()


# Whether we lead, waiting until somebody does


def test_where_no_server_is_available_whoever_asks_is_told_at_once_that_it_does_not_lead() -> None:
    world = Story(disabled=True)
    (only,) = world.enter()
    asked = only.member.is_leader()
    world.settle()
    assert asked.result(timeout=0) is False


def test_whoever_asks_while_a_leader_is_being_elected_waits_without_polling_and_is_told_by_the_change() -> (
    None
):
    world = Story(cron="0 0 0 1 1 ?")
    other = world.store.connect(namespace="/ns")
    other.commit(Create(BEFORE_US, ephemeral=True, sequential=True))
    first, second = world.enter(count=2)
    waiting = {each.name: each.member.is_leader() for each in (first, second)}
    world.settle()
    looks = world.looks
    world.advance(60)
    assert world.looks == looks
    for asked in waiting.values():
        with pytest.raises(TimeoutError):
            asked.result(timeout=0)
    other.close()
    world.advance(0.5)
    answers = {name: asked.result(timeout=0) for name, asked in waiting.items()}
    assert Counter(answers.values()) == {True: 1, False: 1}
    assert answers[world.leader() or ""] is True


def test_whoever_waits_to_know_is_told_no_when_the_last_available_server_is_disabled() -> None:
    world = Story()
    world.operator(Create(f"{BEFORE_US}0000000000", ephemeral=True))
    (only,) = world.enter()
    asked = only.member.is_leader()
    world.advance(5)
    assert not asked.done()
    world.set_server(only, "DISABLED")
    world.settle()
    assert asked.result(timeout=0) is False


def test_where_somebody_leads_each_is_told_at_once_whether_it_does() -> None:
    world = Story()
    everybody = world.enter(count=3)
    asked = [each.member.is_leader() for each in everybody]
    world.settle()
    assert [each.result(timeout=0) for each in asked] == [True, False, False]


# Two jobs


@dataclass
class Machine:
    """One process with one connection, and a member for each job it has."""

    address: str
    registry: MemoryRegistry
    members: dict[str, Member] = field(default_factory=dict)


class Fleet:
    """Processes that have more than one job."""

    def __init__(self) -> None:
        self.clock = HandClock(START)
        self.store = Store(self.clock)
        self.operator = self.store.connect(namespace="/ns")
        self.machines: list[Machine] = []
        self.ran: list[tuple[float, str, str, int]] = []

    def machine(self) -> Machine:
        registry = self.store.connect(namespace="/ns")
        self.machines.append(Machine(f"10.0.0.{len(self.machines) + 1}", registry))
        return self.machines[-1]

    def start(self, machine: Machine, job: str) -> None:
        ids = iter(range(99))

        def work(claim: Claim, token: int) -> None:
            self.ran.append((self.clock.boot(), machine.address, job, claim.item))
            self.clock.at(
                self.clock.boot() + 0.1,
                lambda: machine.members[job].finished(claim.item, claim.attempt, "ok"),
            )

        machine.members[job] = Member(
            machine.registry,
            config(name=job),
            identity=lambda: f"{machine.address}@-@1-{job}{next(ids)}",
            work=work,
            chance=random.Random(1),
        )
        self.advance(1.0)

    def crash(self, machine: Machine) -> None:
        machine.registry.disconnect()
        self.machines.remove(machine)

    def advance(self, seconds: float) -> None:
        end = self.clock.boot() + seconds
        while True:
            self.settle()
            dues = [
                at
                for machine in self.machines
                for at in (machine.registry.due(), *(each.due() for each in machine.members.values()))
            ]
            later = [at for at in (*dues, self.clock.next_due()) if at is not None and at > self.clock.boot()]
            self.clock.advance(min([end, *later]) - self.clock.boot())
            if self.clock.boot() >= end:
                self.settle()
                return

    def settle(self) -> None:
        for _ in range(400):
            moved = [machine.registry.pump() for machine in self.machines]
            moved += [each.turn() for machine in self.machines for each in machine.members.values()]
            if not any(moved):
                return
        raise AssertionError("the fleet does not come to rest")

    def leader(self, job: str) -> str:
        return self.store.nodes[f"/ns/{job}/{LEADER}"].data.partition("@")[0]

    def node(self, job: str) -> Node:
        return self.store.nodes[f"/ns/{job}/{LEADER}"]


@pytest.fixture
def fleet() -> Fleet:
    """Three processes and two jobs; the third leads the one, the first the other."""
    fleet = Fleet()
    first, second, third = (fleet.machine() for _ in range(3))
    for machine, job in (
        (third, "a"),
        (first, "b"),
        (first, "a"),
        (second, "a"),
        (second, "b"),
        (third, "b"),
    ):
        fleet.start(machine, job)
    return fleet


def test_three_processes_and_two_jobs_may_have_two_leaders(fleet: Fleet) -> None:
    assert (fleet.leader("a"), fleet.leader("b")) == ("10.0.0.3", "10.0.0.1")


def test_losing_the_leader_of_one_job_leaves_the_leader_of_the_other_alone(fleet: Fleet) -> None:
    before = fleet.node("b")
    fleet.crash(fleet.machines[2])
    fleet.advance(11)
    assert fleet.leader("a") in ("10.0.0.1", "10.0.0.2")
    assert fleet.node("b") == before


def test_a_process_ordered_to_stop_one_job_goes_on_with_the_other_and_leads_it(fleet: Fleet) -> None:
    fleet.operator.commit(Delete(f"/ns/b/{LEADER}"))
    first, second, third = fleet.machines
    for machine in (first, second):  # have the third lead both
        fleet.operator.commit(Put(f"/ns/b/servers/{machine.address}", "DISABLED"))
    fleet.advance(1)
    for machine in (first, second):
        fleet.operator.commit(Put(f"/ns/b/servers/{machine.address}", "ENABLED"))
    fleet.advance(1)
    assert (fleet.leader("a"), fleet.leader("b")) == ("10.0.0.3", "10.0.0.3")

    fleet.operator.commit(Delete(f"/ns/a/instances/{third.members['a'].me}"))
    fleet.advance(1)
    assert third.members["a"].local.stopped
    assert not third.members["b"].local.stopped
    assert fleet.leader("a") in ("10.0.0.1", "10.0.0.2")
    assert fleet.leader("b") == "10.0.0.3"
    fleet.advance(60)
    assert {job for _, address, job, _ in fleet.ran if address == "10.0.0.3"} == {"b"}
    assert Counter((job, item) for _, _, job, item in fleet.ran) == {
        (job, item): 1 for job in "ab" for item in range(3)
    }


# Failover


def test_an_idle_member_that_does_not_lead_takes_over_what_a_dead_one_left_in_the_same_fire() -> None:
    world = Story(lasting={0: 50.0, 1: 50.0, 2: 50.0})
    leader, idle, victim = world.enter(count=3)
    world.lasting = {**world.lasting, world.owners().index(idle.member.me): 0.5}
    orphan = world.owners().index(victim.member.me)
    world.until(62)
    world.crash(victim)
    world.advance(11)
    assert world.leader() == leader.name
    assert world.runs("01:00")[3:] == [(idle.name, orphan, 2)]


def test_a_failover_run_is_of_the_taken_shard_and_nothing_else() -> None:
    """Neither of what its runner had and did not run, nor of the taker's own."""
    world = Story(lasting={0: 20.0}, shards=6)
    world.enter(count=3)
    victim = world.owner(0)
    assert world.owners().count(victim.member.me) == 2
    world.until(62)
    world.crash(victim)
    world.until(115)
    assert Counter(item for _, item, _ in world.runs()) == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    assert [item for _, _, item in world.rescues()] == [0]
    assert all(world.node(f"sharding/0/{name}") is None for name in ("running", "failover", "failovering"))


def test_who_has_taken_a_shard_over_is_written_while_it_runs_and_the_shard_is_no_longer_up() -> None:
    world = Story(lasting={0: 20.0}, rescued=20.0)
    world.enter(count=2)
    world.until(62)
    world.crash(world.owner(0))
    world.advance(12)
    ((_, taker, _),) = world.rescues()
    node = world.node("sharding/0/failover")
    assert node is not None
    assert node.data == world.processes[taker].member.me
    assert node.owner == world.processes[taker].registry._link.session
    assert world.node("leader/failover/items/0") is None
    assert world.line(RESCUE) == []


def test_a_busy_member_takes_what_is_up_right_after_finishing_its_own() -> None:
    world = Story(lasting={0: 20.0, 1: 40.0}, shards=2, member=OneThread)
    world.enter(count=2)
    world.until(62)
    victim, busy = world.owner(0), world.owner(1)
    world.crash(victim)
    world.until(98)
    assert world.node("leader/failover/items/0") is not None
    assert world.rescues() == []
    world.until(110)
    assert world.rescues() == [(99.0, busy.name, 0)]


def test_of_several_shards_that_are_up_the_lowest_is_taken_first_and_one_thread_takes_one_at_a_time() -> None:
    world = Story(lasting={0: 20.0, 1: 20.0, 2: 20.0, 3: 20.0}, rescued=3.0, shards=4, member=OneThread)
    first, _ = world.enter(count=2)
    world.until(62)
    orphans = sorted(item for item, _ in first.running)
    world.crash(first)
    world.until(115)
    rescues = world.rescues()
    assert [item for _, _, item in rescues] == orphans
    assert [at - rescues[0][0] for at, _, _ in rescues] == [0.0, 3.0]


def test_a_busy_member_with_room_in_its_pool_takes_over_where_nobody_is_idle() -> None:
    world = Story(lasting={0: 40.0, 1: 40.0}, shards=2)
    world.enter(count=2)
    world.until(62)
    survivor = world.owner(1)
    world.crash(world.owner(0))
    world.advance(11)
    assert [(who, item) for _, who, item in world.rescues()] == [(survivor.name, 0)]
    assert 1 in {item for item, _ in survivor.running}


def test_what_was_being_rescued_by_one_that_dies_is_rescued_by_another_in_the_same_fire() -> None:
    world = Story(lasting={0: 40.0}, rescued=20.0, shards=1, cron="0 0/5 * * * ?")
    world.enter(count=3)
    world.until(302)
    world.crash(world.owner(0))
    world.advance(12)
    ((_, taker, _),) = world.rescues()
    world.crash(world.processes[taker])
    world.advance(12)
    (last,) = world.processes
    assert world.runs("05:00")[1:] == [(taker, 0, 2), (last, 0, 3)]
    world.advance(60)
    assert (0, world.started[0].claim.fire, 3) in world.finished


def test_of_one_that_dies_both_what_it_had_taken_over_and_its_own_are_rescued() -> None:
    world = Story(lasting={0: 50.0, 1: 50.0}, rescued=50.0, shards=2, cron="0 0/5 * * * ?")
    world.enter(count=2)
    world.until(302)
    taker = world.owner(1)
    world.crash(world.owner(0))
    world.advance(12)
    assert sorted(item for item, _ in taker.running) == [0, 1]
    (fresh,) = world.enter()
    world.crash(taker)
    world.advance(15)
    assert sorted(world.runs("05:00")[3:]) == [(fresh.name, 0, 3), (fresh.name, 1, 2)]


@SEEDS
def test_what_several_see_at_once_or_too_late_is_put_up_once_and_run_once(seed: int) -> None:
    world = Story(seed, lasting={0: 20.0, 1: 20.0, 2: 20.0}, rescued=8.0)
    slow, *_ = world.enter(count=4)
    world.until(62)
    victim = next(each for each in world.processes.values() if each.running and each is not slow)
    ((orphan, _),) = victim.running
    slow.registry.delay(requests=2.0)  # it puts up what it sees, and the rescue is under way by then
    world.crash(victim)
    world.until(75)
    assert [item for _, _, item in world.rescues()] == [orphan]
    assert world.node(f"sharding/{orphan}/running") is not None
    assert world.node(f"leader/failover/items/{orphan}") is None
    world.until(110)
    assert Counter(item for _, item, _ in world.runs("01:00")) == {0: 1, 1: 1, 2: 1, orphan: 2}


def test_one_that_is_disabled_or_was_stopped_takes_nothing_over_however_idle_it_is() -> None:
    world = Story(lasting={0: 20.0, 1: 40.0}, shards=2, member=OneThread)
    world.enter(count=4)
    victim, busy = world.owner(0), world.owner(1)
    disabled, stopped = (each for each in world.processes.values() if each not in (victim, busy))
    world.until(62)
    world.set_server(disabled, "DISABLED")
    world.order_to_stop(stopped)
    world.crash(victim)
    world.until(115)
    assert world.rescues() == [(99.0, busy.name, 0)]


def test_where_failover_is_off_a_dead_members_shard_waits_for_the_next_fire_and_its_new_owner() -> None:
    world = Story(lasting={0: 20.0}, failover=False)
    world.enter(count=2)
    victim = world.owner(0)
    world.until(62)
    world.crash(victim)
    world.until(115)
    assert Counter(item for _, item, _ in world.runs("01:00")) == {0: 1, 1: 1, 2: 1}
    world.until(121)
    (survivor,) = world.processes
    assert world.runs("02:00") == [(survivor, item, 1) for item in range(3)]
    assert world.rescues() == []


@SEEDS
def test_after_a_total_crash_two_that_come_back_together_run_each_orphan_once_more(seed: int) -> None:
    world = Story(seed, lasting={0: 30.0, 1: 30.0, 2: 30.0}, cron="0 0/5 * * * ?")
    world.enter(count=3)
    world.until(302)
    for each in list(world.processes.values()):
        world.crash(each)
    world.advance(60)
    assert world.node(LEADER) is None
    back = [world.join(), world.join()]
    world.advance(10)
    assert sorted((item, tries) for _, item, tries in world.runs("05:00")[3:]) == [(0, 2), (1, 2), (2, 2)]
    assert world.leader() in {each.name for each in back}
    assert set(world.owners()) == {each.member.me for each in back}


# What is called once for all shards, with one thread


def test_with_one_thread_the_survivor_that_waits_for_all_to_complete_runs_the_orphan_and_calls_once() -> None:
    """Where waiting holds the only thread, the orphan never runs and the wait never ends."""
    world = Story(
        lasting={0: 20.0, 1: 5.0}, rescued=5.0, shards=2, member=OneThread, hooks=Hooks(completed=True)
    )
    world.enter(count=2)
    world.until(66)
    victim, survivor = world.owner(0), world.owner(1)
    assert not survivor.running  # its own is done, and it waits
    assert world.calls == []
    world.crash(victim)
    world.until(110)
    ((rescued_at, who, item),) = world.rescues()
    assert (who, item) == (survivor.name, 0)
    fire = world.started[0].claim.fire
    assert world.calls == [(rescued_at + 5.0, survivor.name, "completed", fire)]
    world.until(140)
    assert [each[3][14:19] for each in world.calls] == ["01:00", "02:00"]


def test_a_member_waiting_for_all_to_complete_starts_its_next_fire_all_the_same() -> None:
    world = Story(lasting={0: 70.0}, shards=2, member=OneThread, hooks=Hooks(completed=True))
    world.enter(count=2)
    quick = world.owner(1)
    world.until(125)
    assert [who for who, item, _ in world.runs() if item == 1] == [quick.name, quick.name]
    assert world.calls == []
    world.until(140)
    assert [(each[0], each[3][14:19]) for each in world.calls] == [(129.0, "01:00")]


# Sharing out


def test_a_first_fire_that_finds_nothing_assigned_yet_waits_for_it() -> None:
    world = Story()
    world.until(58.5)
    world.join().registry.delay(requests=2.0, answers=0.4)
    world.until(60.2)
    assert world.owners() == [None] * 3
    world.until(70)
    assert sorted(world.runs("01:00")) == [("p1", item, 1) for item in range(3)]
    assert all(each.at > 60.2 for each in world.started)


def test_the_successor_of_a_leader_that_crashed_shares_out_what_dead_members_owned() -> None:
    world = Story(shards=6)
    first, second, third = world.enter(count=3)
    world.crash(first)
    world.crash(second)  # there is nobody left who saw them as a leader
    world.advance(11)
    assert world.leader() == third.name
    assert world.owners() == [third.member.me] * 6
    world.until(61)
    assert world.runs("01:00") == [(third.name, item, 1) for item in range(6)]


def test_a_leader_elected_later_finds_owners_that_died_while_nobody_could_lead() -> None:
    world = Story()
    first, second = world.enter(count=2)
    for each in (first, second):
        world.set_server(each, "DISABLED")
    world.crash(first)
    world.advance(15)
    assert world.leader() is None
    assert first.member.me in world.owners()
    world.set_server(second, "ENABLED")
    world.advance(1)
    assert world.owners() == [second.member.me] * 3


def test_what_runs_is_not_taken_from_its_runner_and_is_handed_over_with_the_end_of_the_run() -> None:
    world = Story(lasting={0: 20.0, 1: 20.0}, shards=2)
    (first,) = world.enter()
    world.until(62)
    (second,) = world.enter()
    world.until(70)
    assert world.owners() == [first.member.me] * 2
    world.until(85)
    assert sorted(filter(None, world.owners())) == sorted([first.member.me, second.member.me])
    world.until(121)
    assert Counter(item for _, item, _ in world.runs()) == {0: 2, 1: 2}
    assert {who for who, _, _ in world.runs("02:00")} == {"p1", "p2"}


# Misfire


def test_a_fire_missed_while_a_shard_was_being_rescued_is_made_good_right_after_and_once() -> None:
    world = Story(lasting={0: 20.0}, rescued=130.0, shards=1)
    world.enter(count=2)
    world.until(62)
    world.crash(world.owner(0))
    world.until(230)
    (rescue,) = world.rescues()
    ended = rescue[0] + 130.0
    assert [(each.at, each.claim.fire[14:19], each.claim.source.value) for each in world.started[2:]] == [
        (ended, "03:00", "misfire")
    ]


# The table


def named_tests() -> Iterator[tuple[str, str]]:
    text = (REPOSITORY / "docs/explanation/origins.md").read_text()
    yield from re.findall(r"`(tests/[\w/.]+)::(\w+)`", text)


def test_every_test_that_the_table_of_origins_names_is_there() -> None:
    named = set(named_tests())
    missing = [
        f"{path}::{name}"
        for path, name in sorted(named)
        if f"def {name}(" not in (REPOSITORY / path).read_text()
    ]
    assert len(named) > 50
    assert missing == []


def test_one_ordered_to_stop_while_it_calls_a_hook_leaves_nobody_waiting() -> None:
    world = Story(lasting={0: 5.0, 1: 5.0, 2: 5.0}, hooks=Hooks(started=True))
    first, _ = world.enter(count=2)
    world.until(59)
    assert [(each[1], each[2]) for each in world.calls] == [(first.name, "started")]
    world.order_to_stop(first)
    world.until(130)
    assert f"/ns~shardwright/job/watched/alive/{first.member.me}" not in world.store.nodes
    assert sorted(item for _, item, _ in world.runs("01:00")) == [0, 1, 2]
    assert sorted(item for _, item, _ in world.runs("02:00")) == [0, 1, 2]


def test_every_story_told_here_is_in_the_table_of_origins() -> None:
    here = Path(__file__)
    stories: Callable[[str], list[str]] = re.compile(r"^def (test_\w+)", re.MULTILINE).findall
    named = {name for path, name in named_tests() if path == here.relative_to(REPOSITORY).as_posix()}
    assert {name for name in stories(here.read_text()) if "table_of_origins" not in name} == named
