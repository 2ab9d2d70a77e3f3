"""THROW: alerts are thrown at whoever watches this process, as loudly as can be without breaking anything.

ElasticJob raises in the thread of the fire, which ends the fire; with several shards the exception dies in
the pool, seen by nobody. With us a shard that fails is its own matter: its siblings and the next fire go on.
So what is thrown is logged as an ERROR, whatever its kind, with all its details (the traceback, for a run
that failed), and counted by the desk as `thrown`, for a process that wants to end itself by it, or a test
that wants to fail.
"""

from dataclasses import dataclass

from .. import logs
from .alert import Alert
from .settings import Settings

PROPERTIES = ()

log = logs.Log(__name__)


@dataclass(frozen=True)
class Throw:
    settings: Settings

    def send(self, alert: Alert) -> None:
        log.error("%s", alert.text())
