"""Settings: what they may be, when a schedule fires, what a change would do, and the change."""

from typing import Annotated

from fastapi import Query

from ...cron import Dst
from ...jobs import JobConfig
from ...ops import settings
from .. import forms, schedules
from ..models import Change, ConfigChange, ConfigWhole, Diff, Done, Next, Schema
from ..roles import Role
from ..routing import Routes, Visit
from .given import Here, JobName, done, operating, shown

routes = Routes("settings")


@routes.get("/r/{registry}/schema", needs=Role.VIEWER)
def show_schema(here: Here) -> Schema:
    """What a job's settings may be: a JSON schema, and groups to show them in."""
    return forms.schema()


@routes.get("/r/{registry}/schedule", needs=Role.VIEWER)
def read_schedule(
    here: Here,
    expression: Annotated[str, Query(min_length=1, max_length=1000)],
    zone: Annotated[str | None, Query(max_length=100)] = None,
    count: Annotated[int, Query(ge=1, le=100)] = 10,
    dst: Annotated[Dst | None, Query(description="What clock changes do to its fires.")] = None,
) -> Next:
    """When a schedule fires next, in words too, and what to know about it."""
    return schedules.read(expression, zone, count, dst)


@routes.post("/r/{registry}/jobs/{job}/config/diff", needs=Role.AUTHOR)
def compare_config(here: Here, job: JobName, wish: ConfigChange) -> Diff:
    """What a change would do; nothing is changed. What cannot be is refused, as the change would be."""
    with here.registry() as registry:
        found = settings.get(registry, job)
    settings.check_version(found, wish.version)
    changes = settings.answered(found.config, wish.changes)
    told = settings.changed(found.config, settings.after(found.config, changes))
    return Diff(job=job, changes=[shown(Change, each) for each in told])


@routes.patch("/r/{registry}/jobs/{job}/config", needs=Role.AUTHOR)
def change_config(visitor: Visit, here: Here, job: JobName, wish: ConfigChange) -> Done:
    """Change some settings; refused where somebody has changed them since they were read."""
    with operating(here, visitor) as operator:
        found = settings.get(operator.registry, job)
        changes = settings.answered(found.config, wish.changes)
        version = found.version if wish.version is None else wish.version
        return done(operator.update(job, changes, version=version))


@routes.post("/r/{registry}/jobs/{job}/config/replace", needs=Role.AUTHOR)
def replace_config(visitor: Visit, here: Here, job: JobName, wish: ConfigWhole) -> Done:
    """Put these settings in the place of all that a job has, even where those make no sense; what is not
    named is as by default."""
    begun = JobConfig.of({"name": job})
    config = settings.after(begun, settings.answered(begun, wish.settings))
    with operating(here, visitor) as operator:
        return done(operator.replace(job, config))


@routes.delete("/r/{registry}/jobs/{job}", needs=Role.AUTHOR)
def remove_job(
    visitor: Visit,
    here: Here,
    job: JobName,
    force: Annotated[bool, Query(description="Also one that processes have: they are to leave.")] = False,
) -> Done:
    """Remove a job with its settings, and where its fires stand."""
    with operating(here, visitor) as operator:
        return done(operator.remove(job, force=force, patience=here.patience))
