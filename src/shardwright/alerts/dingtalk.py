"""DINGTALK: a message of a group robot of DingTalk, as ElasticJob sends it.

The robot takes only what has its keyword in it, or is signed with its secret, as its owner chose.
"""

import base64
import hmac
from dataclasses import dataclass
from urllib.parse import quote_plus

from . import post, values
from .alert import Alert
from .properties import Property
from .settings import Settings

URL = "dingtalk.webhook"
PROPERTIES = (
    *post.properties(URL),
    Property("dingtalk.keyword", fault_in=values.line_fault),
    Property("dingtalk.secret", fault_in=values.line_fault),
)

_LONGEST = 16_000  # bytes; a whole request may have 20,000


@dataclass(frozen=True)
class DingTalk:
    settings: Settings

    def send(self, alert: Alert) -> None:
        keyword, secret = self.settings.text("dingtalk.keyword"), self.settings.text("dingtalk.secret")
        text = post.fitted(alert, _LONGEST)
        content = f"{keyword}\n{text}" if keyword else text
        now = int(self.settings.clock.wall().timestamp() * 1000)
        answer = post.post(
            self.settings,
            URL,
            {"msgtype": "text", "text": {"content": content}},
            query=f"timestamp={now}&sign={signature(now, secret)}" if secret else "",
        )
        post.accepted(self.settings, URL, answer, ("errcode", "errmsg"))


def signature(now: int, secret: str) -> str:
    """What shows that we know the secret, as it stands in the URL; `now` is in milliseconds."""
    digest = hmac.digest(secret.encode(), f"{now}\n{secret}".encode(), "sha256")
    return quote_plus(base64.b64encode(digest))
