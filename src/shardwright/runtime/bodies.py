"""Bodies: a job's function, checked where it is declared, as one that takes the shard."""

import inspect
from collections.abc import Callable

from ..errors import JobError
from ..shard import Shard

#: What is run for a shard.
Body = Callable[[Shard], object]


def of(function: object, job: str) -> Body:
    """A function that takes the shard, or nothing; refused where it wants anything else."""
    if not callable(function):
        raise JobError(f"job {job!r}: {function!r} is no function")
    if _yields(function):
        raise JobError(
            f"job {job!r}: its function yields, so calling it runs nothing of it: have it return, or give "
            "Dataflow(fetch, process) where fetch yields"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function  # built in, and nothing is known of it
    needed = [each for each in signature.parameters.values() if _is_needed(each)]
    if not needed and not _takes_any(signature):
        return _without_shard(function)
    if len(needed) <= 1 and all(each.kind is not each.KEYWORD_ONLY for each in needed):
        return function
    raise JobError(f"job {job!r}: its function must take the shard or nothing, not {signature}")


def _yields(function: Callable[..., object]) -> bool:
    """Of an object, what counts is how it is called."""
    called = (function, type(function).__call__)
    return any(inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in called)


def _without_shard(function: Callable[..., object]) -> Body:
    if not inspect.iscoroutinefunction(function):
        return lambda shard: function()

    async def run(shard: Shard) -> object:
        return await function()

    return run


def _is_needed(parameter: inspect.Parameter) -> bool:
    more = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not more


def _takes_any(signature: inspect.Signature) -> bool:
    return any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())
