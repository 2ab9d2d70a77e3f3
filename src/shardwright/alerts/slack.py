"""SLACK: a message by an incoming webhook of Slack, or of what speaks as it does (such as Mattermost)."""

from dataclasses import dataclass

from . import post
from .alert import Alert
from .settings import Settings

URL = "slack.webhook"
PROPERTIES = post.properties(URL)

_LONGEST = 12_000  # bytes; a text may have 40,000 characters, and nobody reads them


@dataclass(frozen=True)
class Slack:
    settings: Settings

    def send(self, alert: Alert) -> None:
        post.post(self.settings, URL, {"text": escaped(alert.text(most=_LONGEST))})


def escaped(text: str) -> str:
    """A text that is only a text: `<!channel>` would call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
