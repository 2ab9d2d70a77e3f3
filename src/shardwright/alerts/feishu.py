"""FEISHU: a message of a group robot of Feishu (Lark), signed if the robot has a secret."""

import base64
import hmac
import re
from dataclasses import dataclass

from . import post, values
from .alert import Alert
from .properties import Property
from .settings import Settings

URL = "feishu.webhook"
PROPERTIES = (*post.properties(URL), Property("feishu.secret", fault_in=values.line_fault))

_LONGEST = 16_000  # bytes; a whole request may have 20 KB

# `<at user_id="all">` in a text calls the whole group; what a job says about itself may not.
_CALL = re.compile(r"<(?=\s*/?\s*at\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Feishu:
    settings: Settings

    def send(self, alert: Alert) -> None:
        text = _CALL.sub("‹", post.fitted(alert, _LONGEST))
        body: dict[str, object] = {"msg_type": "text", "content": {"text": text}}
        if secret := self.settings.text("feishu.secret"):
            now = int(self.settings.clock.wall().timestamp())
            body |= {"timestamp": str(now), "sign": signature(now, secret)}
        answer = post.post(self.settings, URL, body)
        post.accepted(self.settings, URL, answer, ("code", "msg"), ("StatusCode", "StatusMessage"))


def signature(now: int, secret: str) -> str:
    """What shows that we know the secret. Both it and the time are the key; there is no text to sign."""
    return base64.b64encode(hmac.digest(f"{now}\n{secret}".encode(), b"", "sha256")).decode()
