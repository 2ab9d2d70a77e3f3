"""Alerts: telling people what happened to a job, by the error handler that it names.

    desk = alerts.Desk()
    desk.tell(config, Alert(Kind.FAILED, config.name, "ValueError: no such customer", item=3), declared)
    desk.close()

`check` says at declaration what is wrong with a job's handler; `register` adds one of your own:

    class Pager:
        def __init__(self, settings: alerts.Settings) -> None:
            self.settings = settings

        def send(self, alert: alerts.Alert) -> None:
            page(self.settings.text("pager.number"), alert.subject())

    alerts.register("PAGER", Pager)
"""

from .alert import Alert, Kind
from .catalogue import check, register
from .desk import Counts, Desk
from .handler import Handler, Undelivered
from .settings import Settings

__all__ = ["Alert", "Counts", "Desk", "Handler", "Kind", "Settings", "Undelivered", "check", "register"]
