"""WEBHOOK: the alert as a JSON object, to whatever takes one; a token goes along as `Authorization: Bearer`.

    {"kind": "failed", "job": "nightly", "item": 3, "fire": "2030-01-01T02:00:00+00:00", "times": 1,
     "subject": "nightly: failed, shard 3: ValueError: …", "text": "… all of it, the details too …"}

Any status of 2xx means that it was taken.
"""

from dataclasses import dataclass

from .. import secrets
from . import post, values
from .alert import Alert
from .properties import Property
from .settings import Settings

URL = "webhook.url"
PROPERTIES = (*post.properties(URL), Property("webhook.token", fault_in=values.line_fault))


@dataclass(frozen=True)
class Webhook:
    settings: Settings

    def send(self, alert: Alert) -> None:
        body = {
            "kind": str(alert.kind),
            "job": secrets.masked(alert.job),
            "item": alert.item,
            "fire": alert.fire.isoformat() if alert.fire is not None else None,
            "times": alert.times,
            "subject": alert.subject(),
            "text": alert.text(),
        }
        post.post(self.settings, URL, body, token=self.settings.line("webhook.token"))
