"""EMAIL: a letter by SMTP, with ElasticJob's settings.

`email.useSsl` (true unless said otherwise) is TLS from the first byte, usually on port 465. Without it the
connection is made safe when the server offers to (STARTTLS, usually on port 587). Certificates are checked,
unless `email.ssl.trust` has `*` or the host among its words, as JavaMail has it; it may also be the path of a
file with authorities to trust. `email.subject` is the subject of every letter; without it each has its own.
"""

from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid

from . import smtp, values
from .alert import Alert
from .properties import Property
from .settings import Settings

PROPERTIES = (
    Property("email.host", needed=True, fault_in=values.host_fault, place=True),
    Property("email.port", needed=True, fault_in=values.port_fault, place=True),
    Property("email.username", needed=True, fault_in=values.line_fault),
    Property("email.password", needed=True, fault_in=values.line_fault),
    Property("email.from", needed=True, fault_in=values.address_fault),
    Property("email.to", needed=True, fault_in=values.addresses_fault),
    Property("email.cc", fault_in=values.addresses_fault),
    Property("email.bcc", fault_in=values.addresses_fault),
    Property("email.subject", fault_in=values.line_fault),
    Property("email.useSsl", fault_in=values.flag_fault, place=True),
    Property("email.ssl.trust", fault_in=values.line_fault, place=True),
    Property("email.debug", fault_in=values.flag_fault),
)


@dataclass(frozen=True)
class Mail:
    settings: Settings

    def send(self, alert: Alert) -> None:
        smtp.deliver(self.settings, letter(self.settings, alert))


def letter(settings: Settings, alert: Alert) -> EmailMessage:
    """What goes into the mail. Every header is one line: see `values` and `Alert.subject`."""
    message = EmailMessage(policy=policy.SMTP)
    message["From"] = settings.valid("email.from", "", values.address_fault)
    message["To"] = settings.valid("email.to", "", values.addresses_fault)
    for header in ("Cc", "Bcc"):
        if settings.text(f"email.{header.lower()}"):
            message[header] = settings.valid(f"email.{header.lower()}", "", values.addresses_fault)
    message["Subject"] = settings.line("email.subject") or alert.subject()
    message["Date"] = format_datetime(settings.clock.wall())
    message["Message-ID"] = make_msgid("shardwright", domain="shardwright.invalid")
    message["Auto-Submitted"] = "auto-generated"  # so that nobody's holiday answers it
    # Encoded, no line is too long for SMTP, and none can be taken for the end of the letter.
    message.set_content(alert.text(), cte="base64")
    return message
