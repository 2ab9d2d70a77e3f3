"""Checks: what can be wrong with one job, each a question to how it stands. Pure.

Members mend most things themselves, at once. What they would mend is worth a word only where there is nobody
to do so, or where it stays.
"""

from collections.abc import Iterator

from ..coordination import execution, failover, instance, leader, request, server, settings, sharding
from ..errors import CronError
from ..registry import Create, Delete, Forbid, Node, Require, Write
from .findings import Finding, Severity
from .looking import Sight

#: From how many nodes or bytes on a job is called large.
MANY_NODES, MANY_BYTES = 10_000, 1 << 20

_KNOWN = {
    *("config", "servers", "instances", "leader", "sharding", "trigger", "guarantee", "systemTime"),
    "next-job-instance-ip",
}
_LATCHES = (leader.LATCH, failover.LATCH, "guarantee/started-latch", "guarantee/completed-latch")
_FIRST = 10


def settings_make_sense(sight: Sight) -> Iterator[Finding]:
    if sight.config is None:
        yield _trouble(
            sight,
            "settings",
            settings.NODE,
            sight.trouble,
            "nobody can join the job, and those in it go on by the settings that they had",
            "write settings that make sense: replace them, or correct the node by hand",
        )


def fires_at_all(sight: Sight) -> Iterator[Finding]:
    try:
        schedule = sight.config.timetable() if sight.config is not None else None
    except CronError as error:
        advice = f"give it another schedule: shardwright config set {sight.name} 'cron=…'"
        yield _trouble(sight, "never fires", settings.NODE, str(error), "it does not fire", advice)
        return
    if schedule is not None and schedule.next(sight.now) is None:
        # One that was to fire once has done what it was made for.
        say = _notice if schedule.text.startswith("once") else _trouble
        yield say(
            sight,
            "never fires",
            settings.NODE,
            f"its schedule {schedule.text!r} has no fire after {sight.now.isoformat(timespec='seconds')}",
            "it will never run again by itself",
            "give it another schedule, or remove the job if it has done its work",
        )


def somebody_is_in_it(sight: Sight) -> Iterator[Finding]:
    """A job that processes of ours were in, and have all left. What they left unfinished is told below."""
    if sight.members or sight.config is None or not (sight.cursors or "alive" in sight.own):
        return
    if not any(sight.cursor(item).run for item in sight.items):
        yield _notice(
            sight,
            "nobody",
            instance.ROOT,
            "no process is in it",
            "none of its fires runs while that is so",
            "start a process that declares it, or remove the job if it is not wanted any more",
        )


def somebody_may_work(sight: Sight) -> Iterator[Finding]:
    """A job all of whose members were told by an operator to take nothing more."""
    if sight.config is None or not sight.members or server.workers(sight.view()):
        return
    drained = [who for who in sight.members if f"draining/{who}" in sight.own]
    if any(not sight.own.owner(f"draining/{who}") for who in drained):
        yield _trouble(
            sight,
            "nobody",
            "~draining",
            f"nobody who is in it may work: {_some(drained)} being drained, and nobody else is enabled",
            "none of its fires runs while that is so",
            "start or enable another process, or stop draining one",
        )


def java_members_know_the_schedule(sight: Sight) -> Iterator[Finding]:
    java = [who for who in sight.members if not instance.is_python(who)]
    if java and sight.config is not None and sight.config.schedule:
        yield _trouble(
            sight,
            "schedule",
            settings.NODE,
            f"its schedule is {sight.config.schedule!r}, and Java members know only cron: {_some(java)}",
            "what belongs to them does not fire",
            "give it a cron expression instead, or have no Java members in it",
        )


def nodes_go_with_their_session(sight: Sight) -> Iterator[Finding]:
    """Nodes that should be ephemeral and belong to no session: nothing will ever take them away."""
    stay: dict[str, str] = {}
    for who in sight.members:
        stay[instance.node(who)] = "it looks alive for ever, and keeps the shards that it is given"
    for latch in _LATCHES:
        for name in sight.job.children(latch):
            stay[f"{latch}/{name}"] = "it may stand first in line for ever, and everybody behind it waits"
    stay[leader.NODE] = "nobody else can lead while it is there"
    stay[sharding.PROCESSING] = "members wait for shards that nobody shares out"
    for path, why in stay.items():
        if path in sight.job and not sight.job.owner(path):
            what = "the node is persistent, and goes with no session"
            advice = "take it away, unless somebody has put it there for a reason"
            yield _trouble(sight, "no session", path, what, why, advice, _gone(sight, path))


def the_leader_is_there(sight: Sight) -> Iterator[Finding]:
    who = sight.job.get(leader.NODE)
    if who is None or who in sight.members or not sight.job.owner(leader.NODE):
        return
    yield _trouble(
        sight,
        "leader",
        leader.NODE,
        f"{who} leads, and is not among the instances",
        "nobody shares shards out until it has stepped down",
        "wait a moment and look again; if it stays so, end that process",
    )


def flags_are_lowered(sight: Sight) -> Iterator[Finding]:
    """Flags that whoever raised them has left behind."""
    holder = sight.job.owner(leader.NODE) if leader.NODE in sight.job else None
    raised = sharding.PROCESSING in sight.job and sight.job.owner(sharding.PROCESSING)
    if raised and raised != holder:
        yield _trouble(
            sight,
            "flag",
            sharding.PROCESSING,
            "shards are said to be shared out right now, by somebody who does not lead",
            "Java members wait for the end of it without limit",
            "take the flag away",
            _gone(sight, sharding.PROCESSING),
        )
    if sharding.NECESSARY in sight.job and not sight.members:
        yield _notice(
            sight,
            "flag",
            sharding.NECESSARY,
            "shards are to be shared out anew, and nobody is there to do so",
            "it does no harm: the next leader lowers it",
            "nothing, or take the flag away",
            _gone(sight, sharding.NECESSARY),
        )


def shards_have_owners(sight: Sight) -> Iterator[Finding]:
    """Shards whose owner is not there, in a job that somebody is in."""
    lost = [item for item in sight.items if sight.data(sharding.owner_node(item)) not in sight.members]
    if not lost or not sight.members or _rests(sight):
        return
    cure = tuple(_share_out_anew(sight))
    mends = "the leader mends this at once; if it stays so, see whether a server is enabled, and who leads"
    yield _trouble(
        sight,
        "owner",
        sharding.owner_node(lost[0]),
        f"{_shards(lost)} to nobody who is there",
        "no fire of them runs until they are shared out anew",
        "have the leader share them out anew" if cure else mends,
        *cure,
    )


def _rests(sight: Sight) -> bool:
    """Whether operators let none of its servers work: then nobody is to be given anything."""
    states = [sight.data(server.node(address)) for address in sight.job.children(server.ROOT)]
    return bool(states) and all(state == server.DISABLED for state in states)


def _share_out_anew(sight: Sight) -> Iterator[Write]:
    """Only a Java leader must be told, and is by a flag."""
    who = sight.job.get(leader.NODE)
    if who is not None and not instance.is_python(who) and sharding.NECESSARY not in sight.job:
        yield Require(sight.at(leader.NODE))
        yield Create(sight.at(sharding.NECESSARY))


def marks_have_runners(sight: Sight) -> Iterator[Finding]:
    """Shards that are marked as running by the dead, with no Python member to see to it."""
    if any(instance.is_python(who) and sight.alive(who) for who in sight.members):
        return
    for item in sight.items:
        mark = execution.running_node(item)
        who = sight.data(mark)
        if mark not in sight.job or (who and sight.alive(who)) or sight.job.owner(mark):
            continue
        yield _trouble(
            sight,
            "mark",
            mark,
            f"shard {item} is marked as running by {who or 'nobody'}, which is not there",
            "Java leaders wait for its end without limit, and nothing of the job runs meanwhile",
            "have it put up for failover" if _fails_over(sight) else "take the mark away",
            *_put_up(sight, item, who),
        )


def _fails_over(sight: Sight) -> bool:
    return sight.config is not None and sight.config.failover


def _put_up(sight: Sight, item: int, who: str) -> Iterator[Write]:
    cursor = sight.cursors.get(item)
    path = sight.at(f"~~cursor/{item}")
    yield Forbid(path) if cursor is None else Require(path, cursor.version)
    if who:
        yield Forbid(sight.at(instance.node(who)))
    yield _gone(sight, execution.running_node(item))
    if _fails_over(sight) and failover.waiting_node(item) not in sight.job:
        yield Create(sight.at(failover.waiting_node(item)))


def claims_are_finished(sight: Sight) -> Iterator[Finding]:
    """Runs that were cut short, in a job that nobody is in."""
    if sight.members or sight.own.children("alive"):
        return
    cut = [item for item in sight.items if sight.cursor(item).run is not None]
    if not cut:
        return
    were, them = ("was", "it") if len(cut) == 1 else ("were", "them")
    again = f"runs {them} again" if _fails_over(sight) else f"accounts for {them} as lost"
    fires = sorted({run.fire for item in cut if (run := sight.cursor(item).run) is not None})
    yield _trouble(
        sight,
        "unfinished",
        f"~~cursor/{cut[0]}",
        f"nobody is in the job, and {len(cut)} of its shards {were} running when the last one died: "
        f"{', '.join(map(str, cut[:_FIRST]))} for {', '.join(fires[:3])}",
        f"nothing becomes of {them}, and nothing of the job runs",
        f"start a process that has the job: it {again}",
    )


def requests_are_heard(sight: Sight) -> Iterator[Finding]:
    for who in sight.job.children("trigger"):
        if who not in sight.members:
            yield _notice(
                sight,
                "orphan",
                request.node(who),
                f"{who} was asked to fire, and is not there",
                "nobody will answer the request",
                "take it away, and ask again if a run is still wanted",
                _gone(sight, request.node(who)),
            )


def drained_members_are_there(sight: Sight) -> Iterator[Finding]:
    for who in sight.own.children("draining"):
        path = f"draining/{who}"
        if f"alive/{who}" not in sight.own and not sight.own.owner(path):
            node = sight.at(f"~{path}")
            yield _notice(
                sight,
                "orphan",
                f"~{path}",
                f"{who} was being drained, and has gone",
                "it does no harm",
                "take the mark away",
                Forbid(sight.at(instance.alive_node(who))),
                Delete(node),
            )


def shards_are_counted(sight: Sight) -> Iterator[Finding]:
    """Shards left from when there were more, with nobody to clear them away."""
    if sight.config is None or sight.members:
        return
    for item in sharding.surplus(sight.view()):
        path = f"{sharding.ROOT}/{item}"
        yield _notice(
            sight,
            "orphan",
            path,
            f"the job has {sight.config.shards} shards, and shard {item} is left from when there were more",
            "it does no harm: the next leader clears it away",
            "nothing, or take it away",
            Require(sight.at(settings.NODE), sight.job.version(settings.NODE)),
            Delete(sight.at(path), recursive=True),
        )


def disabled_servers_are_inhabited(sight: Sight) -> Iterator[Finding]:
    inhabited = {sight.address(who) for who in sight.members}
    for address in sight.job.children(server.ROOT):
        node = server.node(address)
        if address not in inhabited and sight.data(node) == server.DISABLED:
            yield _notice(
                sight,
                "server",
                node,
                f"the server {address} is DISABLED, and nobody is on it",
                "who starts there finds itself disabled; a Java member that starts anywhere forgets it",
                # Not for us to do: an operator's word stays until an operator takes it back.
                "remove the server if the machine is gone for good",
            )


def members_stop_when_told(sight: Sight) -> Iterator[Finding]:
    for who in sight.own.children("alive"):
        if who not in sight.members:
            yield _notice(
                sight,
                "stopping",
                instance.alive_node(who),
                f"{who} was ordered to stop, and is still there",
                "something of it may be running",
                "wait until it has ended; if it does not, end that process",
            )


def nothing_is_strange(sight: Sight) -> Iterator[Finding]:
    for name in sight.job.children(""):
        if name not in _KNOWN:
            yield _notice(
                sight,
                "orphan",
                name,
                f"{name!r} is no node of a job",
                "nobody knows it; each Java member reads it all the same",
                "find out who wrote it, and take it away by hand",
            )


def it_is_not_large(sight: Sight) -> Iterator[Finding]:
    nodes, size = cost(sight)
    if nodes > MANY_NODES or size > MANY_BYTES:
        yield _notice(
            sight,
            "large",
            settings.ROOT,
            f"the job has {nodes:,} nodes with {size:,} bytes",
            "each member keeps all of them, and reads them again after it was cut off",
            "have fewer shards, or shorter checkpoints and parameters",
        )


CHECKS = (
    settings_make_sense,
    fires_at_all,
    somebody_is_in_it,
    somebody_may_work,
    java_members_know_the_schedule,
    nodes_go_with_their_session,
    the_leader_is_there,
    flags_are_lowered,
    shards_have_owners,
    marks_have_runners,
    claims_are_finished,
    requests_are_heard,
    drained_members_are_there,
    shards_are_counted,
    disabled_servers_are_inhabited,
    members_stop_when_told,
    nothing_is_strange,
    it_is_not_large,
)


def of(sight: Sight) -> Iterator[Finding]:
    """All that is not as it should be with a job."""
    for check in CHECKS:
        yield from check(sight)


def cost(sight: Sight) -> tuple[int, int]:
    """How many nodes a job has, and how many bytes its names and texts take."""
    nodes: list[tuple[str, Node]] = [(path, sight.job.node(path)) for path in sight.job]
    nodes += [(path, sight.own.node(path)) for path in sight.own]
    nodes += [(str(item), node) for item, node in sight.cursors.items()]
    return len(nodes), sum(
        len(path.encode()) + len(node.data.encode(errors="replace")) for path, node in nodes
    )


def _trouble(sight: Sight, kind: str, path: str, what: str, why: str, advice: str, *cure: Write) -> Finding:
    return Finding(kind, Severity.TROUBLE, sight.name, sight.at(path), what, why, advice, cure)


def _notice(sight: Sight, kind: str, path: str, what: str, why: str, advice: str, *cure: Write) -> Finding:
    return Finding(kind, Severity.NOTICE, sight.name, sight.at(path), what, why, advice, cure)


def _gone(sight: Sight, path: str) -> Delete:
    """Taking a node away, as it was seen."""
    return Delete(sight.at(path), sight.job.version(path))


def _shards(items: list[int]) -> str:
    some = ", ".join(map(str, items[:_FIRST])) + (" …" if len(items) > _FIRST else "")
    return f"shard {some} belongs" if len(items) == 1 else f"shards {some} belong"


def _some(who: list[str]) -> str:
    return ", ".join(who[:3]) + (" …" if len(who) > 3 else "")
