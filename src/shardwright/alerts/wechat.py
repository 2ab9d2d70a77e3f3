"""WECHAT: a message of a group robot of WeCom, as ElasticJob sends it."""

from dataclasses import dataclass

from . import post
from .alert import Alert
from .settings import Settings

URL = "wechat.webhook"
PROPERTIES = post.properties(URL)

_LONGEST = 2048  # bytes, of a text; WeCom refuses longer ones


@dataclass(frozen=True)
class WeChat:
    settings: Settings

    def send(self, alert: Alert) -> None:
        body = {"msgtype": "text", "text": {"content": alert.text(most=_LONGEST)}}
        answer = post.post(self.settings, URL, body)
        post.accepted(self.settings, URL, answer, ("errcode", "errmsg"))
