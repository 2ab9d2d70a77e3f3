"""Dataflow: a run that fetches a batch and processes it, once or until nothing is left.

    Dataflow(fetch, process)                     one batch
    Dataflow(fetch, process, streaming=True)     batch after batch

`fetch(shard)` gives a batch, anything that has a length, and None or an empty one when there is nothing; or
it is a generator of batches. `process(shard, data)` handles one. After each batch a streaming run asks
whether to go on: it ends when its shard is to move elsewhere, and is cut short when it is told to stop.
"""

import inspect
import logging
from collections.abc import Callable, Generator, Mapping, Sized
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from itertools import takewhile
from typing import Protocol, runtime_checkable

from ..errors import Cancelled, ConfigError, Failed, JobError
from ..jobs import JobConfig
from ..shard import Shard

log = logging.getLogger(__name__)

STREAMING = "streaming.process"

ONE_BATCH = "one was asked for"
NOTHING_LEFT = "nothing is left"
MOVED = "the shard is to move"


@runtime_checkable
class Flow(Protocol):
    """Whoever has both methods."""

    @property
    def fetch(self) -> Callable[[Shard], object]:
        """Gives a batch."""

    @property
    def process(self) -> Callable[..., object]:
        """Handles one."""


@dataclass(frozen=True, slots=True)
class Flowed:
    """How far a run came."""

    batches: int
    """How many were processed."""
    ended: str
    """Why there were no more."""


@dataclass(frozen=True)
class Dataflow:
    """Fetching and processing, as what is run for a shard."""

    fetch: Callable[[Shard], object]
    process: Callable[..., object]
    _: KW_ONLY
    streaming: bool = False
    moved: Callable[[Shard], bool] | None = None
    """Whether the shard is to make room, asked after each batch; None: as the shard itself says."""

    def __post_init__(self) -> None:
        _check(self.fetch, "fetch", "shard")
        _check(self.process, "process", "shard", "data")
        if _is_one(self.process, inspect.isgeneratorfunction):
            raise JobError("a dataflow's process must not yield, as nobody takes what it gives")
        if not isinstance(self.streaming, bool):
            raise JobError(f"a dataflow's streaming must be True or False, not {self.streaming!r:.100}")
        if self.moved is not None:
            _check(self.moved, "moved", "shard")

    @classmethod
    def of(
        cls, job: Flow, *, streaming: bool = False, moved: Callable[[Shard], bool] | None = None
    ) -> "Dataflow":
        """The dataflow of an object that has the methods `fetch` and `process`."""
        if isinstance(job, type):
            raise JobError(f"a dataflow is made of an object, not of its class: give {job.__name__}()")
        if not isinstance(job, Flow):
            raise JobError(f"a dataflow needs the methods fetch and process, which {job!r:.100} has not both")
        return cls(job.fetch, job.process, streaming=streaming, moved=moved)

    def with_props(self, props: Mapping[str, str]) -> "Dataflow":
        """The same with ElasticJob's switch `streaming.process`, where it is set."""
        switch = props.get(STREAMING, "").strip().lower()
        if switch not in ("", "true", "false"):
            raise ConfigError(f"{STREAMING} must be true or false")
        return replace(self, streaming=switch == "true") if switch else self

    def with_settings(self, config: JobConfig) -> "Dataflow":
        """The same, streaming or not as the job's settings say."""
        return self.with_props(config.props)

    def __call__(self, shard: Shard) -> Flowed:
        """Let it flow."""
        batches, ended = 0, "it failed"
        try:
            with closing(self._batches(shard)) as fetched:
                for data in fetched:
                    shard.raise_if_cancelled()
                    _check_result(self.process(shard, data), "process")
                    batches += 1
                    if enough := self._enough(shard):
                        break
                else:
                    enough = NOTHING_LEFT
            ended = enough
        except Cancelled:
            ended = "it was told to stop"
            raise
        finally:
            log.info("%s: shard %d: batches processed: %d; %s", shard.job_name, shard.item, batches, ended)
        return Flowed(batches, ended)

    def _batches(self, shard: Shard) -> Generator[object, None, None]:
        """What is fetched, until that is nothing."""
        fetched = self.fetch(shard)
        if isinstance(fetched, Generator):
            with closing(fetched):
                yield from takewhile(_is_something, fetched)
            return
        while _is_something(fetched):
            yield fetched
            fetched = self.fetch(shard)

    def _enough(self, shard: Shard) -> str | None:
        """Why to fetch no more after a batch."""
        if not self.streaming:
            return ONE_BATCH
        shard.raise_if_cancelled()
        moved = self.moved(shard) if self.moved is not None else shard.to_move
        return MOVED if moved else None


def _is_something(batch: object) -> bool:
    _check_result(batch, "fetch")
    if batch is None:
        return False
    if isinstance(batch, Sized):
        return len(batch) > 0  # not its truth, which arrays and tables do not have
    raise Failed(
        f"a dataflow's fetch must give something that has a length, not {type(batch).__name__}: "
        "give a list, or make fetch a generator that yields lists"
    )


def _check_result(result: object, name: str) -> None:
    """Raise where somebody would have to await what a function gave, for nobody does."""
    if inspect.iscoroutine(result):
        result.close()  # so that Python does not complain of it besides
    if inspect.isawaitable(result):
        raise Failed(f"a dataflow's {name} gave a coroutine, which is not awaited: call asyncio.run in it")


def _check(function: Callable[..., object], name: str, *takes: str) -> None:
    if not callable(function):
        raise JobError(
            f"a dataflow's {name} must be a function of {' and '.join(takes)}, not {function!r:.100}"
        )
    if _is_one(function, inspect.iscoroutinefunction) or _is_one(function, inspect.isasyncgenfunction):
        raise JobError(
            f"a dataflow's {name} is a coroutine, which is not awaited: give a plain function, and call "
            "asyncio.run in it"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # built in, and nothing is known of it
    try:
        signature.bind(*takes)
    except TypeError:
        wanted = f"def {name}({', '.join(takes)})"
        raise JobError(f"a dataflow's {name} must be callable as {wanted}, not {signature!s:.200}") from None


def _is_one(function: Callable[..., object], question: Callable[[object], bool]) -> bool:
    """Whether a function is of a kind, or an object is called by a function that is."""
    return question(function) or question(type(function).__call__)
