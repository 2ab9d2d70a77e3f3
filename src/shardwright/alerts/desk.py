"""The desk: where alerts are handed in, from any thread and in no time, and where they are sent from.

What only concerns this process (LOG, IGNORE, THROW) is done at once, in the caller's thread, each alert by
itself. All else goes through a digest and is sent by a thread of the desk's own, one after the other; it is
there while something is to be sent or waits to be. A handler that does not come back is left behind with that
thread, and is sent nothing more until it has; another thread sees to the others. Whatever goes wrong here is
logged and counted, and reaches no run.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..clock import Clock, SystemClock
from ..egress import Egress
from ..errors import ShardwrightError
from ..jobs import JobConfig
from ..logs import Log
from . import catalogue
from .alert import LONGEST_DETAILS, Alert
from .digest import Digest, Message
from .handler import Handler, Undelivered
from .settings import Settings

log = Log(__name__)

# Characters of a text that may have to wait: several times what is shown, so that what is cut off here, be it
# in the middle of a secret, is never near the end of what is.
_KEPT = 4 * LONGEST_DETAILS

#: For how many seconds a handler may take over one message while others wait.
PATIENCE = 120.0


@dataclass(frozen=True)
class Counts:
    """What became of what the desk was told."""

    sent: int = 0
    """Messages that were delivered."""
    failed: int = 0
    """Messages that could not be."""
    collapsed: int = 0
    """Alerts that wait for, or went into, a message about several."""
    dropped: int = 0
    """Alerts that nobody was told of, as there were too many of them or the desk was closed."""
    thrown: int = 0
    """Alerts of jobs that want them thrown: see `throw`."""


class Desk:
    """Takes alerts and sees to it that they are told: see `Digest` for how many at once."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        window: float = 60.0,
        burst: int = 1,
        limit: int = 1000,
        patience: float = PATIENCE,
        egress: Egress | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._egress = egress or Egress()
        self.told: Callable[[str, str, bool], None] = lambda job, kind, delivered: None
        """Told of each message: of which job, by which type of handler, and whether it was delivered. In the
        desk's own thread."""
        self._digest = Digest(window=window, burst=burst, limit=limit)
        self._counts = Counts()
        self._handlers: dict[str, tuple[str, Mapping[str, str], JobConfig | None, Handler]] = {}
        self._strange: set[str] = set()
        self._patience = patience
        self._hung: set[str] = set()
        """The types of handler that were left behind."""
        self._thread: threading.Thread | None = None
        self._closed = False
        # Held by whoever tells and by the thread that sends, for as long as a look into the digest takes.
        self._changed = threading.Condition()

    @property
    def counts(self) -> Counts:
        with self._changed:
            return replace(self._counts, collapsed=self._digest.collapsed, dropped=self._digest.dropped)

    def tell(self, config: JobConfig, alert: Alert, declared: JobConfig | None = None) -> None:
        """Take an alert about a job. Returns at once and raises nothing.

        `declared` is the job as this program itself has it. Only what it names is taken on trust: `config` is
        what the registry has, where others may write.
        """
        message = Message(config, alert, declared)
        try:
            kind = catalogue.type_of(config)
            self._mention_if_strange(message)
            if kind in catalogue.LOCAL:
                self._tell_here(message, kind)
            else:
                self._pass_on(message)
        except Exception as error:
            log.error("an alert could not be taken (%s)", type(error).__name__)

    def settings(self, config: JobConfig, declared: JobConfig | None) -> Settings:
        """A job's settings, as its handler has them here."""
        return catalogue.settings_of(config, declared, clock=self._clock, egress=self._egress)

    def wake(self) -> None:
        """Look at the clock again: for those who set it by hand."""
        with self._changed:
            self._changed.notify_all()

    def close(self, timeout: float = 5.0) -> None:
        """Send what waits, for no longer than this, and take no more."""
        with self._changed:
            self._closed = True
            self._digest.flush()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        with self._changed:
            lost = self._digest.drop()
        if lost:
            log.warning("%d alerts were not sent: there was no more time", lost)

    # In the caller's thread

    def _mention_if_strange(self, message: Message) -> None:
        config = message.config
        name = config.error_handler or catalogue.DEFAULT
        if name not in catalogue.TYPES and name not in self._strange:
            self._strange.add(name)
            shown = self.settings(config, message.declared).hide(name)[:100]
            log.warning("%s: there is no error handler %r here; its alerts are logged", config.name, shown)

    def _tell_here(self, message: Message, kind: str) -> None:
        settings, alert = self.settings(message.config, message.declared), message.alert
        if kind == "THROW":
            with self._changed:
                self._counts = replace(self._counts, thrown=self._counts.thrown + alert.times)
        catalogue.TYPES[kind].factory(settings).send(alert.hiding(settings.hide))

    def _pass_on(self, message: Message) -> None:
        alert = message.alert
        alert = replace(alert, what=alert.what[:_KEPT], details=alert.details[:_KEPT])
        message = replace(message, alert=alert)
        with self._changed:
            if not self._closed:
                self._digest.take(message, self._clock.boot())
                self._begin()
                return
            self._digest.dropped += alert.times
        self._tell_here(message, catalogue.DEFAULT)

    def _begin(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="shardwright-alerts", daemon=True)
            thread.start()
            self._thread = thread
        self._changed.notify_all()

    # In the desk's own

    def _work(self) -> None:
        try:
            while (message := self._next()) is not None:
                kind = catalogue.type_of(message.config)
                with self._watched(kind):
                    self._send(message, kind)
                with self._changed:
                    if self._thread is not threading.current_thread():
                        self._hung.discard(kind)
                        return
        finally:
            with self._changed:  # whatever ended it: what is told next has a thread of its own again
                if self._thread is threading.current_thread():
                    self._thread = None

    @contextmanager
    def _watched(self, kind: str) -> Iterator[None]:
        """Have this thread left behind if it does not come back in time."""
        watch = threading.Timer(self._patience, self._leave_behind, (threading.current_thread(), kind))
        watch.daemon = True
        try:
            watch.start()
        except RuntimeError:  # the system has no threads left: better unwatched than not at all
            log.warning("no thread is left to watch the error handler %s by", kind)
        try:
            yield
        finally:
            watch.cancel()

    def _leave_behind(self, thread: threading.Thread, kind: str) -> None:
        """Another is to send what waits: this one may never come back."""
        with self._changed:
            if self._thread is not thread:
                return
            self._hung.add(kind)
            self._thread = None
            self._begin()
        log.error("the error handler %s has not come back for %g s: others go on", kind, self._patience)

    def _next(self) -> Message | None:
        """What to send now, waited for; None when there is nothing to wait for, and this thread is over."""
        with self._changed:
            while (message := self._digest.next(self._clock.boot())) is None:
                due = self._digest.due()
                if due is None:
                    self._thread = None  # at once: what is told from now on needs another
                    break
                self._changed.wait(due - self._clock.boot())
            return message

    def _send(self, message: Message, kind: str) -> None:
        config = message.config
        settings = self.settings(config, message.declared)
        shown = message.alert.hiding(settings.hide)
        try:
            if kind in self._hung:
                raise Undelivered("it still has the one before")
            self._handler(message, kind, settings).send(shown)
        except (Exception, SystemExit) as error:  # a user's handler may do anything but end this thread
            why = " ".join(settings.hide(_why(error)).split())[:500]
            log.error(
                "%s: an alert was not delivered by %s: %s; it was: %s", config.name, kind, why, shown.text()
            )
            self._count(failed=1)
            self.told(config.name, kind, False)
        else:
            self._count(sent=1)
            self.told(config.name, kind, True)

    def _handler(self, message: Message, kind: str, settings: Settings) -> Handler:
        name, props = message.config.name, message.config.props
        made = self._handlers.get(name)
        if made is not None and made[:3] == (kind, props, message.declared):
            return made[3]
        handler = catalogue.TYPES[kind].factory(settings)
        self._handlers[name] = (kind, props, message.declared, handler)
        return handler

    def _count(self, *, sent: int = 0, failed: int = 0) -> None:
        with self._changed:
            counts = self._counts
            self._counts = replace(counts, sent=counts.sent + sent, failed=counts.failed + failed)


def _why(error: BaseException) -> str:
    """What an error says; ours are sentences by themselves."""
    try:
        said = str(error)
    except Exception:
        said = "and does not say why"
    return said if isinstance(error, ShardwrightError) else f"{type(error).__name__}: {said}"
