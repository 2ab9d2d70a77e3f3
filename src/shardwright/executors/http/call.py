"""The call: what a job says of it, checked when it is said, and made for a shard."""

import logging
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from ... import egress as ways
from ...egress import Egress
from ...errors import Failed, JobError
from ...shard import Shard
from . import redirect, settings
from .connection import Line, alarm, connected, told
from .exchange import Reply, exchange
from .hidden import BEGINNING, shown_url
from .request import Request, made
from .settings import METHODS, WITH_DATA, Headers

log = logging.getLogger(__package__)

MOST_REDIRECTS = 5
#: Seconds for everything together beyond the other timeouts, where nothing else is said.
TO_SPARE = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    content: bytes = field(repr=False)


@dataclass(frozen=True, repr=False)
class Http:
    """A call to a server, as what is run for a shard."""

    uri: str
    method: str = "GET"
    _: KW_ONLY
    data: str | None = None
    """What is sent, in UTF-8."""
    content_type: str | None = None
    """Of the data; None: that of a form, as ElasticJob has it."""
    headers: Headers = ()
    connect_timeout: float = 3.0
    read_timeout: float = 5.0
    """How long the server may be silent."""
    total_timeout: float | None = None
    """How long everything may take together; None: a minute more than the other two. Only the system's
    resolver is not held to it."""
    egress: Egress = Egress()  # noqa: RUF009 - frozen
    response_limit: int = 1024 * 1024
    redirects: bool = False

    def __post_init__(self) -> None:
        try:
            headers = tuple((name, value) for name, value in settings.pairs(self.headers))
        except (TypeError, ValueError):
            raise JobError("an HTTP job's headers are pairs of a name and a value") from None
        object.__setattr__(self, "headers", headers)
        if isinstance(self.method, str):
            object.__setattr__(self, "method", self.method.strip().upper())
        found = [f"{setting} {why}" for setting, why in settings.faults(vars(self))]
        if self.data and self.method in METHODS and self.method not in WITH_DATA:
            found.append(
                f"{self.method} sends no data: use one of {', '.join(WITH_DATA)}, or leave the data out"
            )
        if found:
            raise JobError(f"an HTTP job cannot be like this: {'; '.join(found)}")

    @classmethod
    def of_props(cls, props: Mapping[str, str], egress: Egress = Egress()) -> "Http":  # noqa: B008 - frozen
        """The call that ElasticJob's properties describe."""
        return cls(**settings.of_props(props), egress=egress)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Http({shown_url(self.uri)!r}, {self.method!r})"

    def __call__(self, shard: Shard) -> Answer:
        """Call the server for a shard."""
        line, total = Line(), self.total_timeout
        if total is None:
            total = self.connect_timeout + self.read_timeout + TO_SPARE
        why = ""
        with shard.on_cancel(line.cut), alarm(total, line.cut):
            request = self._request(shard)
            try:
                answer = self._answered(line, request)
            except Failed as error:
                why = request.hidden.taken_from(str(error))
        if line.is_cut:
            # Whatever else went wrong: an answer that ends with its connection looks whole when that is cut.
            shard.raise_if_cancelled()
            why = f"it was not over after {total:g} s altogether"
        if why:
            raise Failed(f"{self.method} {shown_url(self.uri)}: {why}")
        log.debug("%s: shard %d: the server answered %d", shard.job_name, shard.item, answer.status)
        return answer

    def _request(self, shard: Shard) -> Request:
        headers = settings.pairs(self.headers)
        return made(self.method, self.uri, headers, self.data, self.content_type, shard)

    def _answered(self, line: Line, request: Request) -> Answer:
        """What the server says, or the one it sends us to."""
        for _ in range(MOST_REDIRECTS + 1):
            reply = self._exchanged(line, request)
            if not 300 <= reply.status < 400:
                return self._accepted(reply, request)
            if not self.redirects:
                raise Failed(
                    f"it answered {reply.status}{redirect.pointing(reply, request)}: "
                    "give the address that is meant, or allow redirects"
                )
            request = redirect.followed(request, reply)
        raise Failed(f"it was sent elsewhere more than {MOST_REDIRECTS} times")

    def _accepted(self, reply: Reply, request: Request) -> Answer:
        if reply.status < 200 or reply.status >= 400:
            said = request.hidden.masked(reply.content.decode(errors="replace"), is_whole=reply.is_whole)
            raise Failed(f"it answered {reply.status}: {said[:BEGINNING] or '(nothing)'}")
        if not reply.is_whole:
            raise Failed(f"its answer is longer than {self.response_limit:,} bytes: let it say less")
        return Answer(reply.status, reply.content)

    def _exchanged(self, line: Line, request: Request) -> Reply:
        """What the server at one URL says."""
        try:
            place = ways.read(request.url)
        except ValueError as error:
            raise Failed(str(error)) from None
        addresses = self.egress.addresses(place)
        try:
            with connected(line, place, addresses, self.connect_timeout) as connection:
                connection.settimeout(self.read_timeout)
                return exchange(connection, place, request, self.response_limit)
        except OSError as error:
            raise Failed(told(error)) from None
