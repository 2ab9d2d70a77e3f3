"""SMTP: handing a letter over to a mail server.

What goes wrong is told in our own words and in the server's, as far as they hold none of our secrets. A
failure is returned and raised afterwards, since a raised one would carry along the error it came from.
"""

import logging
import smtplib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage

from .. import egress
from ..errors import ConfigError
from . import reach, values
from .handler import Undelivered
from .settings import Settings

log = logging.getLogger(__name__)

#: How long a server may take over each answer, in seconds.
PATIENCE = 10.0


@dataclass(frozen=True)
class Server:
    """Where a letter is handed over."""

    host: str
    addresses: Sequence[str]
    """Where to connect to, the first that takes a connection; its name is an address, too."""
    port: int
    trust: ssl.SSLContext


def deliver(settings: Settings, letter: EmailMessage) -> None:
    """Hand it over to the server that the settings name, or raise `Undelivered`."""
    host = settings.valid("email.host", "", values.host_fault)
    port = int(settings.valid("email.port", "", values.port_fault))
    trust = _trust(host, settings.line("email.ssl.trust"))
    addresses = reach.addresses(settings, "email.host", lambda: egress.server(host, port))
    server = Server(host, addresses or (host,), port, trust)
    if failure := _failure(settings, letter, server):
        raise Undelivered(failure)


def _trust(host: str, words: str) -> ssl.SSLContext:
    if words.startswith("/"):
        return _trust_in(words)
    context = ssl.create_default_context()
    if {"*", host} & set(words.split()):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _trust_in(path: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        why = error.strerror or type(error).__name__
    raise Undelivered(f"the file in email.ssl.trust cannot be used: {why}")


def _failure(settings: Settings, letter: EmailMessage, at: Server) -> str | None:
    """Why it could not be handed over; None if it was."""
    server = "the server in email.host"
    try:
        refused = _converse(settings, letter, at)
    except ConfigError as error:
        return str(error)
    except smtplib.SMTPAuthenticationError as error:
        return f"{server} does not take email.username and email.password: status {error.smtp_code}"
    except smtplib.SMTPNotSupportedError:
        return f"{server} takes no addresses beyond ASCII, or no login that we know"
    except UnicodeEncodeError:
        return f"{server} cannot be told: email.username and email.password must be ASCII"
    except smtplib.SMTPRecipientsRefused as error:
        return f"{server} refused every recipient: {_answers(settings, error.recipients)}"
    except smtplib.SMTPResponseException as error:
        return f"{server} refused it: {error.smtp_code} {_said(settings, error.smtp_error)}"
    except ssl.SSLCertVerificationError:
        return f"{server} has a certificate that is not trusted: see email.ssl.trust"
    except ssl.SSLError:
        return f"{server} does not speak TLS on this port: where it begins without, set email.useSsl to false"
    except smtplib.SMTPServerDisconnected:
        return f"{server} broke off, or did not answer within {PATIENCE:g} s"
    except TimeoutError:
        return f"{server} did not answer within {PATIENCE:g} s"
    except ConnectionRefusedError:
        return f"{server} does not take connections on the port in email.port"
    except (OSError, ValueError) as error:  # smtplib's own are OSErrors; their words may hold anything
        return f"{server} could not be talked to ({type(error).__name__})"
    return f"{server} refused some recipients: {_answers(settings, refused)}" if refused else None


Refusals = dict[str, tuple[int, bytes]]


def _converse(settings: Settings, letter: EmailMessage, at: Server) -> Refusals:
    """Connect, log in where one can, hand it over; those of its recipients that were refused."""
    # Never the words of the conversation, also for `email.debug`: the password is among them.
    level = logging.INFO if settings.flag("email.debug", False) else logging.DEBUG
    with _connected(at, tls=settings.flag("email.useSsl", True)) as server:
        log.log(level, "mail server: connected")
        server.ehlo()
        if not isinstance(server, smtplib.SMTP_SSL) and server.has_extn("starttls"):
            server.starttls(context=at.trust)
            server.ehlo()
            log.log(level, "mail server: made safe by STARTTLS")
        # A relay of one's own may not ask who we are; JavaMail does not insist either.
        if server.has_extn("auth"):
            server.login(settings.needed("email.username"), settings.needed("email.password"))
            log.log(level, "mail server: logged in")
        refused = server.send_message(letter)
        log.log(level, "mail server: letter taken")
    return refused


def _connected(at: Server, *, tls: bool) -> smtplib.SMTP:
    failure = OSError()
    for address in at.addresses:
        server = (
            smtplib.SMTP_SSL(timeout=PATIENCE, context=at.trust) if tls else smtplib.SMTP(timeout=PATIENCE)
        )
        # What its certificate must name. Were smtplib to forget about it, TLS would fail for want of a name.
        server._host = at.host  # type: ignore[attr-defined]
        try:
            code, said = server.connect(address, at.port)
        except OSError as error:
            server.close()
            failure = error
            continue
        if code == 220:
            return server
        server.close()
        failure = smtplib.SMTPConnectError(code, said)
    raise failure


def _answers(settings: Settings, refusals: Refusals) -> str:
    """What a server says about recipients, each thing once."""
    return "; ".join(sorted({f"{code} {_said(settings, answer)}" for code, answer in refusals.values()}))


def _said(settings: Settings, answer: bytes | str) -> str:
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    return repr(" ".join(settings.hide(text).split())[:200])
