"""LOG: alerts go to the log, each one, where it happens. What is done if a job says nothing else."""

import logging
from dataclasses import dataclass

from .. import logs
from .alert import Alert, Kind
from .settings import Settings

PROPERTIES = ()

log = logs.Log(__name__)

# These say that something went wrong and was made good, or will be.
_MENDED = {Kind.MISSED, Kind.FAILOVER}


@dataclass(frozen=True)
class Log:
    settings: Settings

    def send(self, alert: Alert) -> None:
        log.log(logging.WARNING if alert.kind in _MENDED else logging.ERROR, "%s", alert.text())
