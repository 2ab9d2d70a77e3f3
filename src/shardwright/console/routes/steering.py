"""Steering a job: asking for runs, letting work and not, having processes leave, the past once more."""

from ..models import Backfill, Done, Instance, Letting, Rerun, Stopping, Trigger
from ..roles import Role
from ..routing import Routes, Visit
from .given import Here, JobName, done, operating

routes = Routes("steering")


@routes.post("/r/{registry}/jobs/{job}/trigger", needs=Role.OPERATOR)
def trigger_job(visitor: Visit, here: Here, job: JobName, wish: Trigger) -> Done:
    """Have a job fire now, or some of its shards."""
    with operating(here, visitor) as operator:
        return done(operator.trigger(job, shards=wish.shards, parameter=wish.parameter))


@routes.post("/r/{registry}/jobs/{job}/enable", needs=Role.OPERATOR)
def enable_job(visitor: Visit, here: Here, job: JobName, wish: Letting) -> Done:
    """Let a job work again: on all its servers, on one, or one shard of it."""
    with operating(here, visitor) as operator:
        return done(operator.enable(job, server=wish.server, shard=wish.shard))


@routes.post("/r/{registry}/jobs/{job}/disable", needs=Role.OPERATOR)
def disable_job(visitor: Visit, here: Here, job: JobName, wish: Letting) -> Done:
    """Let a job rest: on all its servers, on one, or one shard of it. What runs may end."""
    with operating(here, visitor) as operator:
        return done(operator.disable(job, server=wish.server, shard=wish.shard))


@routes.post("/r/{registry}/jobs/{job}/shutdown", needs=Role.OPERATOR)
def shut_down_job(visitor: Visit, here: Here, job: JobName, wish: Stopping) -> Done:
    """Order processes to leave a job: all, those on a server, or one."""
    with operating(here, visitor) as operator:
        return done(operator.shutdown(job, server=wish.server, instance=wish.instance))


@routes.post("/r/{registry}/jobs/{job}/drain", needs=Role.OPERATOR)
def drain_job(visitor: Visit, here: Here, job: JobName, wish: Instance) -> Done:
    """Have a process give its shards of a job away."""
    with operating(here, visitor) as operator:
        return done(operator.drain(job, wish.instance))


@routes.post("/r/{registry}/jobs/{job}/undrain", needs=Role.OPERATOR)
def undrain_job(visitor: Visit, here: Here, job: JobName, wish: Instance) -> Done:
    """Let a process have shards of a job again."""
    with operating(here, visitor) as operator:
        return done(operator.undrain(job, wish.instance))


@routes.post("/r/{registry}/jobs/{job}/rerun", needs=Role.OPERATOR)
def rerun_job(visitor: Visit, here: Here, job: JobName, wish: Rerun) -> Done:
    """Have a fire of the past run once more."""
    with operating(here, visitor) as operator:
        return done(operator.rerun(job, wish.at, shards=wish.shards))


@routes.post("/r/{registry}/jobs/{job}/backfill", needs=Role.OPERATOR)
def backfill_job(visitor: Visit, here: Here, job: JobName, wish: Backfill) -> Done:
    """Have the fires of a stretch of the past run, the oldest first."""
    with operating(here, visitor) as operator:
        return done(operator.backfill(job, wish.begin, wish.end, shards=wish.shards))
