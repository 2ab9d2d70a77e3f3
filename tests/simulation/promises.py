"""What is held up against everything that happens: at each commit, as the store sees it, and at each
moment."""

import json
import math
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from shardwright.coordination import claim, due, gap, instance
from shardwright.registry import Create, Delete, Landed, Node, Outcome, Put, Refused, State
from shardwright.registry.memory import Effects, Store
from shardwright.registry.writes import Write

if TYPE_CHECKING:
    from shardwright.coordination.step import Claim

    from .world import Process, World

#: For how long everything a shard needs must have been well before it counts that it did not run.
WELL = 4.0

#: The same where shards wait for a place in their group: as long as a line of them takes.
LINE = 150.0

#: For how long a Java leader may have to wait for a quiet moment: the longest run, made good, and its own.
PATIENCE = 80.0

JOB, OWN = "/ns/job", "/ns~shardwright/job"
UP = f"{JOB}/leader/failover/items/"
LEADER = f"{JOB}/leader/election/instance"
STARTED = f"{OWN}/watched/barrier/started/scheduled/called"


class Observed(Store):
    """A store whose commits are looked at in the order in which they happen."""

    watch: "Watch | None" = None

    def commit(self, session: str, writes: tuple[Write, ...]) -> tuple[Outcome, Effects]:
        before = {write.path: self.nodes.get(write.path) for write in writes}
        leader = self.nodes.get(f"{JOB}/leader/election/instance")
        owners = self.watch.owners() if self.watch is not None else {}
        outcome, effects = super().commit(session, writes)
        if self.watch is not None and isinstance(outcome, Refused):
            self.watch.world.seen["refused"] += 1
        if self.watch is not None and isinstance(outcome, Landed):
            self.watch.landed(session, writes, before, leader, owners)
        return outcome, effects


class Watch:
    """The promises that can be seen to be broken while it happens."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.last_change = 0.0
        """When an operator last changed something, or a member came or went."""
        self.claims: dict[tuple[int, str], int] = {}
        """Which commit claimed a shard under which attempt."""
        self.claimed: set[tuple[int, str, int]] = set()
        """Which shard of which fire was claimed, as which try."""
        self.leader = ""
        self.flag_since: float | None = None
        """Since when a Java leader asks for a quiet moment."""
        self.released = ""
        """Up to which fire shards may begin: its hook was called, or it was not waited for any longer."""
        self._well: dict[int, float] = {}

    # -- at a commit --------------------------------------------------------------------------------

    def owners(self) -> dict[int, str]:
        nodes = self.world.store.nodes
        found = {}
        for item in range(self.shards()):
            node = nodes.get(f"{JOB}/sharding/{item}/instance")
            if node is not None:
                found[item] = node.data
        return found

    def landed(
        self,
        session: str,
        writes: tuple[Write, ...],
        before: dict[str, Node | None],
        leader: Node | None,
        owners: dict[int, str],
    ) -> None:
        for write in writes:
            if isinstance(write, Put | Create) and write.path.endswith("/called"):
                self._call_told(write.path, *json.loads(write.data))
        if self.world.was_ours(session):
            self._only_the_leader_shares_out(session, writes, before, leader)
        who = self.world.who(session)
        if who is None:
            return  # an operator or a Java member, who do as they like, or one that has died since
        self._only_the_dead_are_rescued(session, writes, before)
        for write in writes:
            if isinstance(write, Put | Create) and write.path.startswith(f"{OWN}/cursor/"):
                self._cursor_moved(int(write.path.rpartition("/")[2]), claim.read(write.data))
            elif isinstance(write, Delete) and write.path.startswith(f"{OWN}/watched/draining/"):
                self.world.seen["left in order"] += 1
        moves = [write for write in writes if isinstance(write, Put) and _is_owner(write.path)]
        for write in writes:
            if isinstance(write, Put | Delete) and write.path == f"{JOB}/leader/election/instance":
                led = before[write.path]
                if led is not None and led.owner != session and instance.is_python(led.data):
                    self.world.object(f"{who} overwrote a leader")
        self._what_runs_stays(session, who, moves, before)
        if moves and leader is not None and leader.owner == session:
            self._only_what_must_moves(who, moves, owners)

    def cursor(self, item: int) -> claim.Cursor:
        node = self.world.store.nodes.get(f"{OWN}/cursor/{item}")
        return claim.read(node.data) if node is not None else claim.Cursor()

    def _only_the_leader_shares_out(
        self, session: str, writes: tuple[Write, ...], before: dict[str, Node | None], leader: Node | None
    ) -> None:
        """Also one that has died since may have sent what lands only now. Whoever has run a shard to its end
        hands it over itself."""
        if leader is not None and (leader.owner == session or not instance.is_python(leader.data)):
            return  # where a Java member was elected meanwhile, nothing can be guarded by that
        if any(isinstance(write, Create) and write.path == LEADER for write in writes):
            return  # the founder of a job leads it from the same commit on
        for write in writes:
            if not isinstance(write, Put | Create | Delete) or not _is_owner(write.path):
                continue
            held = before[write.path]
            hands_over = isinstance(write, Put) and held and self.world.session_of(held.data) == session
            if not hands_over:
                self.world.object(f"one that does not lead shared out: {write}")

    def _only_the_dead_are_rescued(
        self, session: str, writes: tuple[Write, ...], before: dict[str, Node | None]
    ) -> None:
        """One who gives a run of its own back puts it up as well."""
        up = [write.path for write in writes if isinstance(write, Create) and write.path.startswith(UP)]
        for item in (path.removeprefix(UP) for path in up):
            mark = before.get(f"{JOB}/sharding/{item}/running")
            runner = self.world.session_of(mark.data) if mark is not None else None
            if mark is not None and runner not in (None, session):
                self.world.object(f"shard {item} was put up, which {mark.data} runs")
            run = self.cursor(int(item)).run
            if run is None and not self.world.javas:
                self.world.object(f"shard {item} was put up, and its run had ended")
            elif run is not None and self.world.session_of(run.by) not in (None, session):
                self.world.object(f"shard {item} was put up, which {run.by} has claimed")

    def _call_told(self, path: str, fire: str, by: str, state: str, *more: object) -> None:
        kind = path.split("/")[-3]
        if state in ("done", "vetoed"):
            self.world.called.add((kind, fire))
        if state == "vetoed" and path == STARTED:
            self.world.vetoed.add(fire)
        if state != "calling" and path == STARTED:
            self.released = max(self.released, fire)

    def _cursor_moved(self, item: int, cursor: claim.Cursor) -> None:
        if cursor.run is not None and cursor.run.by == instance.NOBODY:
            self.world.seen["put back"] += 1
        elif cursor.run is not None and (item, cursor.run.attempt) not in self.claims:
            self.claims[item, cursor.run.attempt] = self.world.store.number
            self.claimed.add((item, cursor.run.fire, cursor.run.tries))
            self._claimed_by_right(item, cursor.run)

    def is_overtaken(self, run: "Claim") -> bool:
        """Whether a fire that came beside this run is the one looked after, even if it was not to begin."""
        newest = max(number for (item, _), number in self.claims.items() if item == run.item)
        return self.world.settings.overlap == "allow" and self.claims[run.item, run.attempt] < newest

    def _claimed_by_right(self, item: int, run: claim.Tenure) -> None:
        """Who claims is in the job and owns the shard, or has taken it over in the same commit."""
        if f"{OWN}/watched/alive/{run.by}" not in self.world.store.nodes:
            self.world.object(f"{run.by} claimed shard {item} and is not in the job")
        owner = self.world.data(f"{JOB}/sharding/{item}/instance")
        taken = self.world.data(f"{JOB}/sharding/{item}/failover")
        rounds = self.world.settings.strategy == "SINGLE_SHARDING_BALANCE"
        if run.by not in (owner, taken) and not rounds:
            self.world.object(f"{run.by} claimed shard {item}, which is {owner}'s")

    def _what_runs_stays(
        self, session: str, who: str, moves: list[Put], before: dict[str, Node | None]
    ) -> None:
        """Whoever runs a shard of its own hands it over itself, with the end of the run."""
        for move in moves:
            held = before[move.path]
            mark = self.world.data(move.path.removesuffix("instance") + "running")
            if held is not None and held.data == mark and self.world.session_of(mark) not in (None, session):
                self.world.object(f"{who} took {move.path} from {mark}, which runs it")

    def _only_what_must_moves(self, who: str, moves: list[Put], owners: dict[int, str]) -> None:
        """A shard leaves a member that may keep it only if that one has more than its share."""
        if self.world.settings.strategy != "sticky":
            return
        able = {member for member in self.world.members() if self.world.may_work(member)}
        if not able.issuperset(move.data for move in moves):
            return  # decided before somebody left
        counts = Counter(owners.values())
        share = math.ceil(self.shards() / len(able))
        given = {move.data for move in moves}
        for move in moves:
            old = owners.get(int(move.path.split("/")[-2]))
            if old in able and counts[old] < share and counts[old] <= min(counts[each] for each in able):
                self.world.object(f"{who} took {move.path} from {old}, which had {counts[old]} of {share}")
            if old in able and old in given:
                self.world.object(f"{who} took {move.path} from {old}, and gave it another")

    # -- at a moment --------------------------------------------------------------------------------

    def moment(self) -> None:
        """A shard whose owner has been well for a while has come to the latest fire."""
        world, now = self.world, self.world.clock.boot()
        self._who_leads()
        self._java_leaders_find_a_quiet_moment(now)
        if now < self.last_change + WELL or not self._can_be_judged():
            self._well.clear()
            return
        owners = self.owners()
        able = {member.member.me: member for member in world.processes.values() if self._is_well(member)}
        leader = world.store.nodes.get(f"{JOB}/leader/election/instance")
        led = leader is not None and leader.data in able
        for item in range(self.shards()):
            owner = able.get(owners.get(item, ""))
            if not led or owner is None or not self._is_free(item):
                self._well.pop(item, None)
            elif now >= self._well.setdefault(item, now) + WELL:
                self._has_come_to_its_fire(item, owner)

    def _who_leads(self) -> None:
        leader = self.world.data(f"{JOB}/leader/election/instance")
        if leader is not None and leader != self.leader:
            self.world.seen["another leader"] += bool(self.leader)
            self.leader = leader

    def _java_leaders_find_a_quiet_moment(self, now: float) -> None:
        """Ours start nothing under its flag, so a Java leader has its moment when the longest run has
        ended."""
        leader = self.world.data(f"{JOB}/leader/election/instance")
        asks = self.world.quiet and leader in self.world.javas
        if not asks or f"{JOB}/leader/sharding/necessary" not in self.world.store.nodes:
            self.flag_since = None
        elif self.flag_since is None:
            self.flag_since = now
        elif now > self.flag_since + PATIENCE:
            self.world.object(f"{leader} finds no quiet moment to share out in")

    def _has_come_to_its_fire(self, item: int, owner: "Process") -> None:
        world = self.world
        schedule = owner.member.settings.timetable()
        slack = LINE if owner.member.settings.group else WELL
        if world.clock.boot() < self._well[item] + slack:
            return
        fire = due.latest(schedule, world.clock.wall() - timedelta(seconds=slack)) if schedule else None
        known = gap.read(world.data(f"{OWN}/watched/gap") or "")
        if fire is None or known is None:
            return
        cursor = claim.read(world.data(f"{OWN}/cursor/{item}") or "")
        turn = cursor.began if owner.member.settings.group else None
        if turn is not None and world.clock.wall() < turn + timedelta(seconds=LINE):
            return  # a turn in the line is one run: who has several fires to catch up stands there as often
        there = owner.member.local.since
        if owner.member.settings.catch_up == "skip":
            there = min(each.member.local.since for each in world.processes.values() if self._is_well(each))
        floor = max(there, known.counts_from(item))
        if fire > floor and (cursor.at is None or cursor.at < fire):
            world.object(f"shard {item} of {owner.name} should have come to {fire}, and is at {cursor.at}")

    def _is_well(self, process: "Process") -> bool:
        member, registry = process.member, process.registry
        address = instance.address_of(member.me)
        return (
            not process.paused
            and registry.state is State.CONNECTED
            and not process.slow
            and registry._link.eat_replies == 0
            and not (member.local.draining or member.local.stopped or member.left)
            and f"{OWN}/watched/alive/{member.me}" in self.world.store.nodes
            and self.world.data(f"{JOB}/servers/{address}") == "ENABLED"
        )

    def _is_free(self, item: int) -> bool:
        nodes, shard = self.world.store.nodes, f"{JOB}/sharding/{item}"
        cursor = claim.read(self.world.data(f"{OWN}/cursor/{item}") or "")
        marks = (f"{shard}/running", f"{shard}/disabled", f"{shard}/failover", f"{shard}/failovering")
        waiting = f"{JOB}/leader/failover/items/{item}"
        held = [process for process in self.world.processes.values() if item in process.member.local.runs]
        return not held and cursor.run is None and not any(path in nodes for path in (*marks, waiting))

    def _can_be_judged(self) -> bool:
        """Not while Java members are there, whose flags and failovers we wait for without end; nor where
        the one shard goes round, so that it is not its owner's turn alone."""
        settings = self.world.settings
        rounds = settings.strategy == "SINGLE_SHARDING_BALANCE" and settings.shards == 1
        return not rounds and not self.world.javas and f"{JOB}/config" in self.world.store.nodes

    def shards(self) -> int:
        return self.world.settings.shards


def _is_owner(path: str) -> bool:
    """Whether a node says whose a shard is, or takes that along when it goes."""
    item, _, rest = path.removeprefix(f"{JOB}/sharding/").partition("/")
    return item.isdigit() and rest in ("", "instance")
