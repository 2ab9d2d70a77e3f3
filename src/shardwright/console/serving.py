"""The server: the console behind a socket, until it is told to stop."""

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..clock import Clock, SystemClock
from ..errors import ConfigError, MissingExtra, ShardwrightError
from ..ops import audit
from ..ops.audit import Action, Audit
from ..ops.opening import NoHistory
from . import gate as gates
from .accounts import Accounts
from .app import Console, build
from .desk import Desk
from .gate import Gate
from .guard import Front
from .routing import Routes
from .settings import Place, Settings
from .static import Static

log = logging.getLogger("shardwright.console")

#: Within how many seconds a call has to say what it wants, from its first byte or the connection's begin.
HEAD_WITHIN = 15.0

#: For how many seconds somebody may take none of what is sent to them.
READ_WITHIN = 30.0

#: For how many seconds calls may go on that are under way when the console is told to stop.
ENDING = 3

#: How many connections there may be at a time; whoever comes then is told that it is busy.
MOST_CONNECTIONS = 2000


class Serving:
    """A console that is about to be served, at an address that is taken already."""

    def __init__(self, settings: Settings) -> None:
        clock = SystemClock()
        accounts = Accounts(settings.accounts, clock)
        accounts.check_place()
        self.token = _token(settings, accounts)
        self._front = Front(settings.root_path, settings.proxied)
        self._desk = Desk(settings.places)
        self.gate = Gate(
            accounts,
            {place.name: place.url for place in settings.places},
            clock=clock,
            tell=teller(self._desk, settings.places),
            token=self.token,
            label=settings.oidc.label if settings.oidc else None,
        )
        more = _by_another(settings, clock)
        api = build(self.gate, self._desk, self._front, version=settings.version, more=more)
        self._config = uvicorn.Config(
            Console(api, self._front, Static()),
            http=Prompt,
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=ENDING,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
        )
        try:
            self._config.load()
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"the certificate {settings.tls_cert} with its key cannot be used: {error}"
            ) from error
        self._socket = _taken(settings.host, settings.port)
        self.address = _address(settings, self._socket.getsockname()[1])

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        try:
            with _signals_ignored():
                self._desk.start()
                _Server(self._config, self._end_streams).run(sockets=[self._socket])
        finally:
            self._socket.close()
            self._desk.close()

    def _end_streams(self) -> None:
        self.gate.close()
        self._desk.end_streams()


class _Server(uvicorn.Server):
    """A server that has the open streams end before it waits for what is under way."""

    def __init__(self, config: uvicorn.Config, closing: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._closing()
        await super().shutdown(sockets)


class Prompt(H11Protocol):
    """A connection on which somebody has to say what they want within a while, and to take what they are
    sent: uvicorn itself would wait for ever, and keep the connection."""

    _slow: asyncio.TimerHandle | None = None
    _full: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_asked():
            self._stop_waiting()
        elif self._slow is None:
            self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        # Not closed but broken off: a closing transport would go on to wait until all is taken.
        self._full = asyncio.get_running_loop().call_later(READ_WITHIN, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_pressing()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_pressing()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        """Whether a call has come in whole, all but its body, and is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._slow = asyncio.get_running_loop().call_later(HEAD_WITHIN, self._give_up)

    def _stop_waiting(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _stop_pressing(self) -> None:
        if self._full is not None:
            self._full.cancel()
            self._full = None

    def _give_up(self) -> None:
        self._slow = None
        if not self._is_asked():
            self.transport.close()


def teller(desk: Desk, places: tuple[Place, ...]) -> Audit:
    """Tell the log, and every history there is: who comes in matters to each registry."""
    rooms = [place.name for place in places if place.history is not None]

    def tell(action: Action) -> None:
        audit.to_log(action)
        for name in rooms:
            try:
                with desk.room(name).history() as store:
                    audit.note(store, action)
            except NoHistory:
                continue
            except (ShardwrightError, OSError) as error:
                log.warning("%s: this is not in the audit of the history: %s", name, error)

    return tell


def _by_another(settings: Settings, clock: Clock) -> tuple[Routes, ...]:
    """The sign-in by somebody else's word, where there is one."""
    if settings.oidc is None:
        return ()
    try:
        from . import oidc
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] != "joserfc":
            raise
        raise MissingExtra(
            "a sign-in by OpenID Connect needs an extra: pip install 'shardwright[oidc]'"
        ) from missing
    return (oidc.routes_of(oidc.Provider(settings.oidc, clock)),)


def _token(settings: Settings, accounts: Accounts) -> str | None:
    """The one-time token, if the first account is still to be made."""
    if not accounts.are_none():
        return None
    if settings.is_local:
        return gates.new_token()
    if settings.oidc is not None:
        return None
    raise ConfigError(
        f"there is no account in {settings.accounts} yet, and others than this machine could reach the "
        f"console at {settings.host}: make one first by `shardwright console user add NAME --role admin`, "
        "or leave --host away"
    )


def _taken(host: str, port: int) -> socket.socket:
    """The socket to listen at; it is ours from now on."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=256)
    except OSError as error:
        raise ConfigError(
            f"{host} port {port} cannot be listened at: {error.strerror or error}; choose another by --port"
        ) from error


def _address(settings: Settings, port: int) -> str:
    """Where people find it."""
    host = socket.gethostname() if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{settings.root_path}/"


@contextlib.contextmanager
def _signals_ignored() -> Iterator[None]:
    """uvicorn ends in order when a signal comes, and then raises it again, which would look like a death."""
    before = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
