"""Dataflow: batches are fetched and processed, once or in a stream, and every way out is an orderly one."""

import contextlib
import functools
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled, ConfigError, Failed, JobError
from shardwright.executors.dataflow import MOVED, NOTHING_LEFT, ONE_BATCH, Dataflow, Flowed
from tests.test_shard import a_shard


class Orders:
    """A store with batches in it that remembers what was done with them."""

    def __init__(self, *batches: object) -> None:
        self.waiting = deque(batches)
        self.processed: list[object] = []
        self.fetches = 0
        self.closed = 0

    def fetch(self, shard: Shard) -> object:
        self.fetches += 1
        return self.waiting.popleft() if self.waiting else None

    def generate(self, shard: Shard) -> Iterator[object]:
        try:
            while self.waiting:
                yield self.waiting.popleft()
        finally:
            self.closed += 1

    def process(self, shard: Shard, data: object) -> None:
        self.processed.append(data)


FETCHES: list[Callable[[Orders], Callable[[Shard], object]]] = [
    lambda orders: orders.fetch,
    lambda orders: orders.generate,
    lambda orders: lambda shard: orders.generate(shard),
    lambda orders: functools.partial(Orders.generate, orders),
]
each_way_to_fetch = pytest.mark.parametrize(
    "how", FETCHES, ids=["function", "generator", "wrapped generator", "partial"]
)
How = Callable[[Orders], Callable[[Shard], object]]


@each_way_to_fetch
def test_one_batch_is_processed_unless_a_stream_is_asked_for(how: How) -> None:
    orders = Orders([1, 2], [3])
    assert Dataflow(how(orders), orders.process)(a_shard()) == Flowed(1, ONE_BATCH)
    assert orders.processed == [[1, 2]]
    assert list(orders.waiting) == [[3]]


@each_way_to_fetch
def test_a_stream_goes_on_until_nothing_is_fetched(how: How) -> None:
    orders = Orders([1, 2], (3,), {"four": 4})
    assert Dataflow(how(orders), orders.process, streaming=True)(a_shard()) == Flowed(3, NOTHING_LEFT)
    assert orders.processed == [[1, 2], (3,), {"four": 4}]


@each_way_to_fetch
@pytest.mark.parametrize("nothing", [None, [], (), "", {}])
def test_nothing_is_not_processed_and_ends_the_stream(how: How, nothing: object) -> None:
    orders = Orders([1], nothing, [2])
    assert Dataflow(how(orders), orders.process, streaming=True)(a_shard()) == Flowed(1, NOTHING_LEFT)
    assert orders.processed == [[1]]


def test_a_run_without_anything_to_do_is_one_of_no_batches() -> None:
    assert Dataflow(Orders().fetch, Orders().process)(a_shard()) == Flowed(0, NOTHING_LEFT)


def test_a_batch_is_something_by_its_length_whatever_its_truth_is() -> None:
    class Table(list[int]):
        def __bool__(self) -> bool:
            raise ValueError("the truth of a table is ambiguous")

    orders = Orders(Table([1]), Table())
    assert Dataflow(orders.fetch, orders.process, streaming=True)(a_shard()) == Flowed(1, NOTHING_LEFT)


@each_way_to_fetch
def test_a_stream_that_is_told_to_stop_does_after_the_batch_and_is_cut_short(how: How) -> None:
    orders, shard = Orders([1], [2], [3]), a_shard()

    def process(shard: Shard, data: object) -> None:
        orders.process(shard, data)
        if data == [2]:
            shard.cancel()

    with pytest.raises(Cancelled, match="told to stop"):
        Dataflow(how(orders), process, streaming=True)(shard)
    assert orders.processed == [[1], [2]]
    assert list(orders.waiting) == [[3]]


def test_what_is_fetched_while_the_run_is_told_to_stop_is_not_processed() -> None:
    orders, shard = Orders([1]), a_shard()

    def fetch(shard: Shard) -> object:
        shard.cancel()
        return orders.fetch(shard)

    with pytest.raises(Cancelled):
        Dataflow(fetch, orders.process)(shard)
    assert orders.processed == []


@each_way_to_fetch
def test_a_stream_whose_shard_is_to_move_ends_after_the_batch_and_is_no_failure(how: How) -> None:
    orders = Orders([1], [2], [3])
    flow = Dataflow(
        how(orders), orders.process, streaming=True, moved=lambda shard: len(orders.processed) == 2
    )
    assert flow(a_shard()) == Flowed(2, MOVED)
    assert list(orders.waiting) == [[3]]


def test_who_wants_to_know_whether_the_shard_moves_asks_after_each_batch_of_a_stream_only() -> None:
    asked: list[int] = []

    def moved(shard: Shard) -> bool:
        asked.append(shard.item)
        return False

    orders = Orders([1], [2], [3])
    Dataflow(orders.fetch, orders.process, moved=moved)(a_shard(item=0))
    Dataflow(orders.fetch, orders.process, streaming=True, moved=moved)(a_shard(item=2))
    assert asked == [2, 2]


def stopping(shard: Shard, data: object) -> None:
    shard.cancel()


def failing(shard: Shard, data: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("process", [Orders().process, stopping, failing])
def test_a_generator_is_closed_whichever_way_out_is_taken(
    process: Callable[[Shard, object], None], streaming: bool
) -> None:
    orders = Orders([1], [2])
    flow = Dataflow(orders.generate, process, streaming=streaming)
    with contextlib.suppress(Cancelled, ZeroDivisionError):
        flow(a_shard())
    assert orders.closed == 1


def test_a_generator_that_cannot_be_closed_fails_the_run() -> None:
    def fetch(shard: Shard) -> Iterator[list[int]]:
        try:
            yield [1]
        finally:
            raise OSError("the cursor is gone")

    with pytest.raises(OSError, match="the cursor is gone"):
        Dataflow(fetch, Orders().process)(a_shard())


@pytest.mark.parametrize(
    ("process", "streaming", "outcome"),
    [
        (Orders().process, True, "2; nothing is left"),
        (Orders().process, False, "1; one was asked for"),
        (stopping, True, "1; it was told to stop"),
        (failing, True, "0; it failed"),
    ],
)
def test_how_many_batches_there_were_is_logged_once(
    process: Callable[[Shard, object], None],
    streaming: bool,
    outcome: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with contextlib.suppress(Cancelled, ZeroDivisionError):
        Dataflow(Orders([1], [2]).fetch, process, streaming=streaming)(a_shard())
    assert caplog.messages == [f"reindex: shard 1: batches processed: {outcome}"]


def test_elasticjobs_property_switches_streaming_on_and_off() -> None:
    once = Dataflow(Orders().fetch, Orders().process)
    stream = Dataflow(Orders().fetch, Orders().process, streaming=True)
    assert once.with_props({"streaming.process": "true"}).streaming
    assert not stream.with_props({"streaming.process": " False "}).streaming
    assert stream.with_props({"email.host": "h"}) == stream
    assert not once.with_props({"streaming.process": ""}).streaming
    with pytest.raises(ConfigError, match=r"^streaming\.process must be true or false$"):
        once.with_props({"streaming.process": "yes"})


def test_an_object_with_both_methods_is_a_dataflow() -> None:
    orders = Orders([1], [2])
    assert Dataflow.of(orders, streaming=True)(a_shard()) == Flowed(2, NOTHING_LEFT)
    assert orders.processed == [[1], [2]]


class HasFetchOnly:
    def fetch(self, shard: Shard) -> None: ...


@pytest.mark.parametrize(
    ("job", "complaint"),
    [
        (Orders, r"made of an object, not of its class: give Orders\(\)"),
        (HasFetchOnly(), "needs the methods fetch and process, which .* has not both"),
        (None, "needs the methods fetch and process"),
    ],
)
def test_what_has_not_both_methods_is_told_so(job: object, complaint: str) -> None:
    with pytest.raises(JobError, match=complaint):
        Dataflow.of(job)  # type: ignore[arg-type]


async def a_coroutine(shard: Shard, data: object = None) -> None: ...


async def an_async_generator(shard: Shard, data: object = None) -> AsyncIterator[object]:
    yield None


class CalledByCoroutine:
    async def __call__(self, shard: Shard, data: object = None) -> None: ...


def fetching(shard: Shard) -> None: ...


def processing(shard: Shard, data: object) -> None: ...


def yielding(shard: Shard, data: object) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("fetch", "process", "complaint"),
    [
        ("fetch", processing, "fetch must be a function of shard, not 'fetch'"),
        (fetching, None, "process must be a function of shard and data, not None"),
        (lambda: None, processing, r"fetch must be callable as def fetch\(shard\), not \(\)"),
        (
            lambda shard, more: None,
            processing,
            r"fetch must be callable as def fetch\(shard\), not \(shard, more\)",
        ),
        (fetching, lambda data: None, r"callable as def process\(shard, data\), not \(data\)"),
        (fetching, lambda shard, *, data: None, r"callable as def process\(shard, data\)"),
        (a_coroutine, processing, "fetch is a coroutine, .*asyncio.run"),
        (fetching, a_coroutine, "process is a coroutine, .*asyncio.run"),
        (an_async_generator, processing, "fetch is a coroutine"),
        (CalledByCoroutine(), processing, "fetch is a coroutine"),
        (functools.partial(a_coroutine), processing, "fetch is a coroutine"),
        (fetching, yielding, "process must not yield"),
    ],
)
def test_functions_that_cannot_be_used_are_refused_where_they_are_declared(
    fetch: object, process: object, complaint: str
) -> None:
    with pytest.raises(JobError, match=complaint):
        Dataflow(fetch, process)  # type: ignore[arg-type]


def test_a_switch_or_a_question_that_is_none_is_refused_too() -> None:
    with pytest.raises(JobError, match="streaming must be True or False, not 'no'"):
        Dataflow(fetching, processing, streaming="no")  # type: ignore[arg-type]
    with pytest.raises(JobError, match=r"moved must be callable as def moved\(shard\)"):
        Dataflow(fetching, processing, moved=lambda: True)  # type: ignore[misc, arg-type]


def test_functions_of_which_nothing_is_known_and_those_with_more_to_choose_from_are_taken() -> None:
    Dataflow(lambda *all: None, lambda shard, data, retry=3: None)
    Dataflow(dict.fromkeys, max)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fetch", "process", "complaint"),
    [
        (lambda shard: map(str, [1]), processing, "fetch must give something that has a length, not map: "),
        (lambda shard: 7, processing, "has a length, not int"),
        (lambda shard: a_coroutine(shard), processing, "fetch gave a coroutine, which is not awaited"),
        (lambda shard: [1], lambda shard, data: a_coroutine(shard), "process gave a coroutine"),
    ],
)
def test_a_function_that_gives_what_nobody_can_use_fails_the_run_with_what_to_do(
    fetch: Callable[[Shard], object], process: Callable[[Shard, object], object], complaint: str
) -> None:
    with pytest.raises(Failed, match=complaint):
        Dataflow(fetch, process)(a_shard())
