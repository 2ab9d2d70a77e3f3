"""Steering: which nodes a change writes, and by what it is guarded. Plans only: `operator` carries them out.

Every effect is ElasticJob's own, so that Java members and ElasticJob's tools understand it:

    enable, disable     servers/<address> of one job or of all, or sharding/<i>/disabled
    trigger             trigger/<id> for every instance there; those from before go
    shutdown            instances/<id> goes, which orders that instance to stop
    remove a server     shutdown, and servers/<address> goes
    remove a job        all of it goes, ours as well

Ours alone, of which Java members know nothing: single shards are asked for by `~owed/<i>`, and an instance
is drained by `~draining/<id>`, which lets it finish and gives it nothing more.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from .. import secrets
from ..coordination import claim, execution, instance, leader, request, server, settings, sharding
from ..errors import NotThere, NotValid, OperationError
from ..registry import Create, Delete, Forbid, Node, Put, Registry, Require, Write
from . import looking, servers, shards
from .looking import Sight


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, and what that changes, a sentence for each."""

    writes: tuple[Write, ...] = ()
    changed: tuple[str, ...] = ()


def together(*plans: Plan) -> Plan:
    """All of them in one commit."""
    writes = dict.fromkeys(write for plan in plans for write in plan.writes)  # two may rely on the same
    return Plan(tuple(writes), tuple(said for plan in plans for said in plan.changed))


def still_there(sight: Sight) -> Write:
    """A guard: nothing is made below a job that was removed meanwhile, or it would come back."""
    return Require(sight.at(settings.NODE))


# Asking for runs


def trigger(sight: Sight, parameter: str = "", *, besides: Collection[str] = ()) -> Plan:
    """Have every instance fire now, with this instead of the job's parameter if it is any, but for those who
    have been asked. Each shard runs once, as soon as it is free."""
    check_somebody(sight, "asked to fire")
    _check_parameter(sight, parameter)
    members = [who for who in sight.members if who not in besides]
    java = [who for who in members if not instance.is_python(who)]
    if parameter and java:
        raise OperationError(
            f"job {sight.name!r}: {java[0]} is a Java process, and would run without the parameter; "
            "ask without one, or for shards of Python processes"
        )
    from_before = [who for who in sight.job.children("trigger") if who not in besides]
    old = [Delete(sight.at(request.node(who))) for who in from_before]
    here = [Require(sight.at(instance.node(who))) for who in members]
    new = [Create(sight.at(request.node(who)), parameter) for who in members]
    asked = tuple(f"{who} was asked to fire" for who in members)
    return Plan((*here, *old, *new), (*asked, *_with(parameter)))


def trigger_shards(sight: Sight, items: Collection[int], parameter: str = "") -> Plan:
    """Have these shards run now, wherever they are, with this instead of the job's parameter; only members
    written in Python know how."""
    check_somebody(sight, "asked to fire")
    _check_parameter(sight, parameter)
    if not items:
        raise NotValid(f"job {sight.name!r}: name the shards that are to run, or ask for all of them")
    for item in items:
        check_shard(sight, item)
    asked = [_ask_for(sight, item, parameter) for item in sorted(set(items))]
    return together(*asked, Plan(changed=_with(parameter)))


def _check_parameter(sight: Sight, parameter: str) -> None:
    try:
        request.check(parameter)
    except ValueError as error:
        raise NotValid(f"job {sight.name!r}: {error}") from None


def _ask_for(sight: Sight, item: int, parameter: str) -> Plan:
    owner, node = sight.data(sharding.owner_node(item)), sight.at(request.owed_node(item))
    if not instance.is_python(owner) or not sight.alive(owner):
        raise OperationError(f"job {sight.name!r}: shard {item} belongs to {_unable(owner)}")
    if execution.disabled_node(item) in sight.job:
        raise OperationError(f"job {sight.name!r}: shard {item} is disabled; enable it first")
    # A request is known by a commit's number: later than the last that was answered, not before one that
    # still waits nor before the job was made, whose cursor may be of the one before; and before any to come.
    cursor, waits = sight.cursors.get(item), request.node(owner)
    number = cursor.written if cursor is not None else sight.job.node(sharding.owner_node(item)).written
    number = max(number, sight.made)
    if waits in sight.job:
        number = max(number, sight.job.node(waits).made)
    asked = request.text(number, parameter)
    known = request.owed_node(item)[1:] in sight.own
    write = Put(node, asked) if known else Create(node, asked)
    return Plan(
        (still_there(sight), _unmoved(sight, item, cursor), write), (f"shard {item} was asked to run",)
    )


def _unmoved(sight: Sight, item: int, cursor: Node | None) -> Write:
    """A guard: the shard has answered no other request since."""
    node = sight.at(claim.node(item))
    return Require(node, cursor.version) if cursor is not None else Forbid(node)


def _with(parameter: str) -> tuple[str, ...]:
    """What the audit says of a parameter; no secret is in it."""
    told = f"{secrets.masked(parameter)!r:.200}"
    return (f"with the parameter {told}",) if parameter else ()


def _unable(owner: str) -> str:
    """Why somebody cannot be asked for a single shard."""
    if not owner:
        return "nobody yet: wait until it was shared out"
    if instance.is_python(owner):
        return f"{owner}, which is not there: wait until it was shared out anew"
    return f"{owner}, a Java process, which can only be asked for all its shards"


# Letting work, and not


def set_all_servers(sight: Sight, state: str) -> Plan:
    """Let all servers of a job work, or none."""
    there = sight.job.children(server.ROOT)
    if not there:
        raise OperationError(f"job {sight.name!r}: it has no server yet that could be enabled or disabled")
    return together(*(set_server(sight, state, address) for address in there))


def set_server(sight: Sight, state: str, address: str) -> Plan:
    """Let a server that a job knows work, or not."""
    found = sight.job.node(server.node(address))
    if found.data == state:
        return Plan()
    said = f"{address} is {state} for the job {sight.name!r}"
    return Plan((Put(sight.at(server.node(address)), state, found.version),), (said,))


def set_shard(sight: Sight, state: str, item: int) -> Plan:
    """Leave a shard out, or take it in again."""
    check_shard(sight, item)
    node = execution.disabled_node(item)
    off = node in sight.job
    if off == (state == server.DISABLED):
        return Plan()
    write = Delete(sight.at(node)) if off else Create(sight.at(node))
    return Plan((still_there(sight), write), (f"shard {item} of the job {sight.name!r} is {state}",))


# Having instances stop


def shutdown(sight: Sight, ids: Iterable[str]) -> Plan:
    """Order these instances to stop: by taking their nodes away."""
    found = list(ids)
    said = tuple(f"{who} was ordered to stop the job {sight.name!r}" for who in found)
    return Plan(tuple(Delete(sight.at(instance.node(who))) for who in found), said)


def one_instance(sight: Sight, who: str) -> list[str]:
    if who not in sight.members:
        hint = looking.nearest(who, sight.members)
        raise NotThere(f"no instance {who!r} is in the job {sight.name!r}{hint}")
    return [who]


def remove_server(sight: Sight, address: str) -> Plan:
    """Order the instances there to stop, and forget the server."""
    stop = shutdown(sight, servers.here(sight, address))
    if server.node(address) not in sight.job:
        return stop
    gone = Delete(sight.at(server.node(address)), sight.job.version(server.node(address)))
    return together(stop, Plan((gone,), (f"the job {sight.name!r} has forgotten the server {address}",)))


def drain(sight: Sight, who: str, *, beside: Collection[str] = ()) -> Plan:
    """Let an instance finish what it runs, and give it nothing more; the others take what is idle, but for
    those who are drained beside it."""
    one_instance(sight, who)
    if not instance.is_python(who):
        raise OperationError(
            f"{who!r} is a Java process, which cannot be drained; disable its server instead"
        )
    if sight.settings.static_sharding:
        raise OperationError(
            f"job {sight.name!r}: static_sharding leaves shards where they are, "
            f"so {who!r} would keep its own; shut it down instead"
        )
    if leader.is_java(sight.view()):
        raise OperationError(
            f"job {sight.name!r}: a Java process leads it, which would go on giving {who!r} shards; "
            "disable its server instead"
        )
    others = [each for each in server.workers(sight.view()) if each != who and each not in beside]
    if not others:
        raise OperationError(
            f"job {sight.name!r}: nobody but {', '.join(map(repr, (who, *beside)))} may work, "
            "so nothing would run any more; start or enable another first"
        )
    if f"draining/{who}" in sight.own:
        return Plan()
    node = sight.at(instance.draining_node(who))
    guards = Require(sight.at(instance.node(who))), Require(sight.at(instance.alive_node(who)))
    return Plan(
        (*guards, *_goes_on(sight, others[0]), Create(node)),
        (f"{who} is being drained of the job {sight.name!r}",),
    )


def _goes_on(sight: Sight, who: str) -> Iterator[Write]:
    """The proof that one who may work still may when others are drained: somebody may drain it meanwhile."""
    yield Require(sight.at(instance.node(who)))
    if instance.is_python(who):
        yield Forbid(sight.at(instance.draining_node(who)))


def undrain(sight: Sight, who: str) -> Plan:
    one_instance(sight, who)
    if f"draining/{who}" not in sight.own:
        return Plan()
    if sight.own.owner(f"draining/{who}"):
        raise OperationError(f"{who!r} is leaving of itself, which only it can take back")
    return Plan(
        (Delete(sight.at(instance.draining_node(who))),),
        (f"{who} may work for the job {sight.name!r} again",),
    )


def was_drained(sight: Sight, who: str) -> bool:
    """Whether somebody had an instance drained; one that leaves of itself says so by a node of its own."""
    node = f"draining/{who}"
    return node in sight.own and not sight.own.owner(node)


def drained(registry: Registry, job: str, who: str) -> bool:
    """Whether an instance owns and runs nothing of a job any more, or is dead. One that was ordered to stop
    has left the job, and goes on with what it runs until that has ended."""
    sight = looking.at(registry, job)
    owned = (sight.data(sharding.owner_node(item)) == who for item in sight.items)
    runs = (shards.running_by(sight, item) == who for item in sight.items)
    return not sight.alive(who) or not (any(owned) or any(runs))


def wait_drained(registry: Registry, job: str, who: str, *, patience: float) -> None:
    """Wait until it does not; a TimeoutError where that takes longer."""
    sight = looking.at(registry, job)
    looking.wait_until(
        registry,
        [sight.root, sight.own_root],
        lambda: drained(registry, job, who),
        patience,
        f"{who} to have nothing of the job {job!r} any more",
    )


# What is refused


def check_somebody(sight: Sight, what: str) -> None:
    if not sight.members:
        raise OperationError(f"nobody is in the job {sight.name!r}, so nobody can be {what}")


def check_shard(sight: Sight, item: int) -> None:
    total = sight.settings.shards
    if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < total:
        raise NotThere(f"the job {sight.name!r} has no shard {item!r}; it has 0 to {total - 1}")
