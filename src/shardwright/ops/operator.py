"""The operator: everything that changes something, in one place, each change told to the audit.

    operator = Operator(connect(url), who="ann")
    operator.disable("reindex", server="10.0.0.7")

A method looks, plans, and has all of it land in one commit, guarded by what it saw. What is refused raises an
`OperationError` that says so; nothing was changed, unless the sentence says that it was or that nobody can
tell. `Done.changed` says what was; nothing where all was so already.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ..coordination import server as coordinated
from ..coordination import settings as agreed
from ..errors import NotThere, NotValid, OperationError, Overtaken, RegistryError
from ..jobs import JobConfig
from ..recipes import candidacy
from ..registry import Landed, Put, Registry, Unknown
from . import audit as audits
from . import doctor, looking, masters, past, removal, servers, settings, steering
from .audit import Action, Audit
from .looking import Sight
from .steering import Plan
from .values import Shown


@dataclass(frozen=True, slots=True)
class Done(Shown):
    """A change that was made."""

    what: str
    target: str
    changed: tuple[str, ...]
    """A sentence for each thing that is otherwise now; empty where nothing had to change."""


class Operator:
    """Somebody who changes things. The registry is theirs alone while they do."""

    def __init__(self, registry: Registry, *, who: str | None = None, audit: Audit = audits.to_log) -> None:
        looking.check_open(registry)
        self.registry = registry
        self.who = who or audits.somebody()
        self._audit = audit

    # -- settings -----------------------------------------------------------------------------------

    def update(self, job: str, changes: Mapping[str, object], *, version: int | None = None) -> Done:
        """Change some settings, by name; values as `JobConfig` takes them. With the version that they were
        read at it is refused where somebody has changed them since."""
        return self._change(
            "update", job, lambda: self._update(job, lambda old: settings.after(old, changes), version)
        )

    def replace(self, job: str, config: JobConfig) -> Done:
        """Put these settings in the place of those that are there, even where those make no sense."""
        return self._change("replace", job, lambda: self._replace(job, config))

    def remove(self, job: str, *, force: bool = False, patience: float = removal.PATIENCE) -> Done:
        """Remove a job that nobody is in; by force also one that somebody is, who is ordered to stop."""
        return self._change("remove", job, lambda: self._remove(job, force, patience))

    # -- runs ---------------------------------------------------------------------------------------

    def trigger(self, job: str, *, shards: Collection[int] | None = None, parameter: str = "") -> Done:
        """Have a job fire now: every shard runs once as soon as it is free, or only these; with this instead
        of the job's parameter, if it is any."""
        if shards is None:
            return self._trigger_all(job, parameter)

        def plan() -> Plan:
            return steering.trigger_shards(looking.at(self.registry, job), shards, parameter)

        return self._change("trigger", f"{job}{_some(shards)}", plan)

    def _trigger_all(self, job: str, parameter: str) -> Done:
        """Who comes in that very moment may be given shards of those who are asked, and is asked as well."""
        asked: set[str] = set()

        def plan() -> Plan:
            sight = looking.at(self.registry, job)
            planned = steering.trigger(sight, parameter, besides=asked)
            asked.update(sight.members)
            return planned

        done = self._change("trigger", job, plan)
        try:
            while came := set(looking.members(self.registry, job)) - asked:
                more = self._change("trigger", job, plan)
                done = replace(done, changed=(*done.changed, *more.changed))
                asked |= came  # also one that we may not see, who cannot be asked
        except (OperationError, RegistryError, TimeoutError) as error:
            asked_so_far = "; ".join(done.changed)
            raise Overtaken(
                f"trigger {job}: {asked_so_far}; who came meanwhile may not have been: {error}"
            ) from error
        return done

    def rerun(self, job: str, at: datetime, *, shards: Collection[int] | None = None) -> Done:
        """Have a fire of the past run once more, all its shards or these."""
        target = f"{_target(job, at=_said(at))}{_some(shards)}"
        return self._change("rerun", target, lambda: past.rerun(looking.at(self.registry, job), at, shards))

    def backfill(
        self, job: str, begin: datetime, end: datetime, *, shards: Collection[int] | None = None
    ) -> Done:
        """Have all fires of a stretch of the past run, the oldest first; `past.fires` says beforehand which,
        and `past.left` how many are left."""
        target = f"{_target(job, **{'from': _said(begin), 'to': _said(end)})}{_some(shards)}"
        return self._change(
            "backfill", target, lambda: past.backfill(looking.at(self.registry, job), begin, end, shards)
        )

    # -- letting work, and not ----------------------------------------------------------------------

    def enable(self, job: str | None = None, *, server: str | None = None, shard: int | None = None) -> Done:
        """Let a job work on all its servers or on one, all jobs on a server, or one shard of a job."""
        return self._set("enable", coordinated.ENABLED, job, server, shard)

    def disable(self, job: str | None = None, *, server: str | None = None, shard: int | None = None) -> Done:
        """Stop a job from working on all its servers or on one, all jobs on a server, or one shard of a job.
        What runs goes on to its end."""
        return self._set("disable", coordinated.DISABLED, job, server, shard)

    # -- having instances stop ----------------------------------------------------------------------

    def shutdown(
        self, job: str | None = None, *, server: str | None = None, instance: str | None = None
    ) -> Done:
        """Order instances to stop: all of a job, those on a server, or one by its id."""
        target = _target(job, server=server, instance=instance)
        return self._change("shutdown", target, lambda: self._shutdown(job, server, instance))

    def remove_server(self, address: str, *, job: str | None = None) -> Done:
        """Order the instances on a server to stop, and have its jobs, or this one, forget it."""

        def plan() -> Plan:
            there = self._on_server(job, address)
            return steering.together(*(steering.remove_server(sight, address) for sight in there))

        return self._change("remove server", _target(job, server=address), plan)

    def drain(self, job: str, instance: str) -> Done:
        """Give an instance nothing more, and let others take what it does not run: when `steering.drained`,
        it can be shut down without anybody missing anything."""
        target = _target(job, instance=instance)
        return self._change("drain", target, lambda: steering.drain(looking.at(self.registry, job), instance))

    def drain_server(self, address: str) -> Done:
        """Give all processes on a server nothing more of any job, and let others take what they do not run.
        Refused where one of them cannot be drained, with the reason; then none is."""

        def plan() -> Plan:
            names = [sight.name for sight in self._on_server(None, address)]
            there = looking.all_at(self.registry, names)
            here = [(sight, servers.here(sight, address)) for sight in there]
            if not any(who for _, who in here):
                raise OperationError(f"no process is on the server {address!r} that could be drained")
            return steering.together(
                *(
                    steering.drain(sight, who, beside=[each for each in these if each != who])
                    for sight, these in here
                    for who in these
                )
            )

        return self._change("drain", _target(None, server=address), plan)

    def undrain(self, job: str, instance: str) -> Done:
        """Let an instance work again that was drained."""
        target = _target(job, instance=instance)
        return self._change(
            "undrain", target, lambda: steering.undrain(looking.at(self.registry, job), instance)
        )

    def undrain_server(self, address: str) -> Done:
        """Let all processes on a server work again that were drained, each in its jobs. Who leaves of itself
        goes on leaving."""

        def plan() -> Plan:
            names = [sight.name for sight in self._on_server(None, address)]
            there = looking.all_at(self.registry, names)
            drained = [
                (sight, who)
                for sight in there
                for who in servers.here(sight, address)
                if steering.was_drained(sight, who)
            ]
            if not drained:
                raise OperationError(
                    f"no process on the server {address!r} was drained: there is none to let work"
                )
            return steering.together(*(steering.undrain(sight, who) for sight, who in drained))

        return self._change("undrain", _target(None, server=address), plan)

    # -- masters of services ------------------------------------------------------------------------

    def designate(self, service: str, address: str, *, root: str = candidacy.ROOT) -> Done:
        """Have another candidate be the master of `<service>:<version>`: it takes over at once."""

        def make() -> Plan:
            masters.designate(self.registry, service, address, root=root)
            return Plan(changed=(_designated(service, address),))

        return self._change("designate", _mastery(service, root), make)

    def resign(self, service: str, *, root: str = candidacy.ROOT) -> Done:
        """Have the master of `<service>:<version>` step down for another candidate."""

        def make() -> Plan:
            heir = masters.resign(self.registry, service, root=root)
            return Plan(changed=(_designated(service, heir),))

        return self._change("resign", _mastery(service, root), make)

    # -- mending ------------------------------------------------------------------------------------

    def repair(self, finding: doctor.Finding) -> Done:
        """Do about a finding what the doctor would; refused where things have changed since it looked."""
        return self._change("repair", finding.where, lambda: doctor.treatment(finding))

    # -- inside -------------------------------------------------------------------------------------

    def _change(self, what: str, target: str, plan: Callable[[], Plan]) -> Done:
        """Plan a change, make it, and tell how that went, whichever way."""
        planned = Plan()
        try:
            planned = plan()
            self._commit(planned, what, target)
        except (OperationError, RegistryError, TimeoutError) as error:
            self._tell(what, target, "", str(error))
            raise
        self._tell(what, target, "; ".join(planned.changed), audits.DONE)
        return Done(what, target, planned.changed)

    def _commit(self, plan: Plan, what: str, target: str) -> None:
        if not plan.writes:
            return
        outcome = self.registry.wait(self.registry.commit(*dict.fromkeys(plan.writes)))
        if isinstance(outcome, Unknown):
            raise Overtaken(
                f"{what} {target}: nobody can say whether it was done: {outcome.why}; look before you try"
            )
        if not isinstance(outcome, Landed):
            raise Overtaken(f"{what} {target}: nothing was changed: {outcome.why}; look again and try again")

    def _tell(self, what: str, target: str, detail: str, outcome: str) -> None:
        try:
            self._audit(Action(self.registry.now(), self.who, what, target, detail, outcome))
        except Exception as error:
            # It is not ours, and whoever asked must know both.
            raise OperationError(
                f"{what} {target}: {outcome}, and the audit could not be told of it: {error!r}"
            ) from error

    def _update(self, job: str, change: Callable[[JobConfig], JobConfig], version: int | None = None) -> Plan:
        sight = looking.at(self.registry, job)
        before = settings.seen(sight)
        settings.check_version(before, version)
        after = change(before.config)
        said = tuple(each.sentence() for each in settings.changed(before.config, after))
        if not said:
            return Plan()
        put = Put(sight.at(agreed.NODE), settings.document(after), sight.job.version(agreed.NODE))
        return Plan((put,), said)

    def _replace(self, job: str, config: JobConfig) -> Plan:
        if config.name != job:
            raise NotValid(f"these are the settings of a job {config.name!r}, and not of {job!r}")
        sight = looking.at(self.registry, job)
        if sight.config is not None:
            return self._update(job, lambda old: config)
        put = Put(sight.at(agreed.NODE), settings.document(config), sight.job.version(agreed.NODE))
        return Plan((put,), ("settings that made no sense are replaced",))

    def _remove(self, job: str, force: bool, patience: float) -> Plan:
        sight = looking.at(self.registry, job)
        plan = removal.remove(sight, force=force)
        if not force or not (sight.members or sight.own.children("alive")):
            return plan
        self._commit(plan, "remove", job)
        try:
            self._commit(removal.rest(self.registry, sight, patience), "remove", job)
        except (OperationError, RegistryError, TimeoutError) as error:
            # The job is gone all the same; what is left of it does no harm.
            return Plan(changed=(*plan.changed, f"our own nodes of it are left for the doctor: {error}"))
        return Plan(changed=plan.changed)

    def _set(self, what: str, state: str, job: str | None, server: str | None, shard: int | None) -> Done:
        target = _target(job, server=server, shard=shard)
        return self._change(what, target, lambda: self._set_plan(state, job, server, shard))

    def _set_plan(self, state: str, job: str | None, server: str | None, shard: int | None) -> Plan:
        if shard is not None:
            if job is None or server is not None:
                raise NotValid("a shard is one of a job, on whichever server: name the job and the shard")
            return steering.set_shard(looking.at(self.registry, job), state, shard)
        if server is None:
            sight = looking.at(self.registry, _named(job, "a job, a server, or both"))
            return steering.set_all_servers(sight, state)
        there = self._on_server(job, server, lambda sight: coordinated.node(server) in sight.job)
        return steering.together(*(steering.set_server(sight, state, server) for sight in there))

    def _shutdown(self, job: str | None, server: str | None, instance: str | None) -> Plan:
        if instance is not None:
            sight = looking.at(self.registry, _named(job, "the job that it is to stop"))
            return steering.shutdown(sight, steering.one_instance(sight, instance))
        if server is None:
            sight = looking.at(self.registry, _named(job, "a job, a server, or both"))
            steering.check_somebody(sight, "shut down")
            return steering.shutdown(sight, sight.members)
        there = self._on_server(job, server)
        plan = steering.together(*(steering.shutdown(sight, servers.here(sight, server)) for sight in there))
        if not plan.writes:
            raise OperationError(f"no instance is on the server {server!r} that could be shut down")
        return plan

    def _on_server(
        self, job: str | None, address: str, knows: Callable[[Sight], bool] | None = None
    ) -> list[Sight]:
        """The jobs that know a server: all of them, or this one, which must."""
        names = looking.jobs(self.registry) if job is None else [looking.at(self.registry, job).name]
        sights = looking.all_at(self.registry, names, own=False)
        knows = knows or (lambda sight: servers.is_known(sight, address))
        found = [sight for sight in sights if knows(sight)]
        if not found:
            raise NotThere(servers.unknown(address, sights, job))
        return found


def _named(job: str | None, what: str) -> str:
    if job is None:
        raise NotValid(f"name {what}")
    return job


def _designated(service: str, address: str) -> str:
    return f"{address} was designated as the master of {service}"


def _mastery(service: str, root: str) -> str:
    """A service as a change of its master names it: with where it stands, if that is not the usual place."""
    return service if root == candidacy.ROOT else f"{root}/{service}"


def _target(job: str | None, **others: str | int | None) -> str:
    """What a change is about, in a few words, the job before all else: by that it is found again."""
    said = [f"{name} {value}" for name, value in others.items() if value is not None]
    return ", ".join([*([str(job)] if job is not None else []), *said]) or "nothing"


def _said(moment: object) -> str:
    return moment.isoformat() if isinstance(moment, datetime) else repr(moment)


def _some(shards: Collection[int] | None) -> str:
    return "" if shards is None else f", shards {', '.join(map(str, shards))}"
