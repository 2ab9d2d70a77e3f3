"""The doctor: what is not as it should be, and mending it."""

from ...errors import Overtaken
from ...ops import doctor
from ..models import Doctor, Done, Repair
from ..roles import Role
from ..routing import Routes, Visit
from .given import Here, OneJob, done, operating

routes = Routes("doctor")


@routes.get("/r/{registry}/doctor", needs=Role.VIEWER)
def examine(here: Here, job: OneJob = None) -> Doctor:
    """What is not as it should be, with one job or with all."""
    with here.registry() as registry:
        return Doctor.model_validate(doctor.examine(registry, job).as_json())


@routes.post("/r/{registry}/doctor/repair", needs=Role.OPERATOR)
def repair(visitor: Visit, here: Here, wish: Repair) -> Done:
    """Mend a finding, which must still be as it was told."""
    with operating(here, visitor) as operator:
        finding = doctor.find(operator.registry, wish.kind, wish.job, wish.where)
        if finding is not None:
            return done(operator.repair(finding))
    raise Overtaken(f"{wish.where}: the doctor does not find that any more; examine again")
