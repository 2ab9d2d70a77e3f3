"""Strategies: how a job's shards are shared out among those that may work. Pure: the same question, the same
answer, whoever leads.

A strategy is asked with a `Question` and answers with an owner for every shard. ElasticJob's four answer
exactly as theirs do; `sticky`, the default, moves only what must move. Users register their own by name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import ConfigError
from ..kinds import ELASTICJOB_STRATEGIES, FOREIGN


@dataclass(frozen=True, slots=True)
class Question:
    """Who may be given shards, how many there are, and how things stand now."""

    job: str
    workers: Sequence[str]
    """Instance ids in ElasticJob's order: descending as text."""
    shards: int
    now: datetime
    owners: Mapping[int, str] = field(default_factory=dict)
    """Who owns which shard today, the dead included."""


Strategy = Callable[[Question], dict[int, str]]


def in_elasticjob_order(instances: Sequence[str]) -> list[str]:
    """Descending, as Java compares texts: by UTF-16 units."""
    return sorted(instances, key=lambda each: each.encode("utf-16-be"), reverse=True)


def average(question: Question) -> dict[int, str]:
    """Equal blocks one after the other; what is left over goes one each to the first in the list."""
    return _blocks(question.workers, question.shards)


def odevity(question: Question) -> dict[int, str]:
    """As average, the list turned round where the job's name has an even hash."""
    workers = list(question.workers)
    if java_hash(question.job) % 2 == 0:
        workers.reverse()
    return _blocks(workers, question.shards)


def round_robin(question: Question) -> dict[int, str]:
    """As average, the list rotated by the hash of the job's name."""
    return _blocks(_rotated(question.workers, abs(java_hash(question.job))), question.shards)


def single_sharding_balance(question: Question) -> dict[int, str]:
    """As average, the list rotated by the hash of the job's name and the time."""
    millis = int(question.now.timestamp() * 1000)
    return _blocks(_rotated(question.workers, abs(java_hash(question.job) + millis)), question.shards)


def sticky(question: Question) -> dict[int, str]:
    """As few moves as possible to a balance within one.

    Everybody keeps what they have up to their fair share; where shares cannot be equal, the larger ones stay
    with those that have most already. What is over goes, in order, to those that have least.
    """
    if not question.workers:
        return {}
    held: dict[str, list[int]] = {worker: [] for worker in question.workers}
    for item in range(question.shards):
        owner = question.owners.get(item)
        if owner in held:
            held[owner].append(item)
    share, larger = divmod(question.shards, len(held))
    by_load = sorted(held, key=lambda worker: -len(held[worker]))
    fair = {worker: share + (rank < larger) for rank, worker in enumerate(by_load)}
    answer = {item: worker for worker, items in held.items() for item in items[: fair[worker]]}
    counts = Counter(answer.values())
    room = (worker for worker in question.workers for _ in range(fair[worker] - counts[worker]))
    for item in range(question.shards):
        if item not in answer:
            answer[item] = next(room)
    return dict(sorted(answer.items()))


def java_hash(text: str) -> int:
    """What Java calls the hash of a text.

    >>> java_hash("a"), java_hash("polygenelubricants")
    (97, -2147483648)
    """
    units = text.encode("utf-16-be")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


_BY_NAME: dict[str, Strategy] = {
    "sticky": sticky,
    "AVG_ALLOCATION": average,
    "ODEVITY": odevity,
    "ROUND_ROBIN": round_robin,
    "SINGLE_SHARDING_BALANCE": single_sharding_balance,
}


def register(name: str, strategy: Strategy) -> None:
    """Make a strategy of your own known in this process; every member that may lead must know it."""
    if name in _BY_NAME and _BY_NAME[name] is not strategy:
        raise ConfigError(f"there is a sharding strategy called {name!r} already: choose another name")
    _BY_NAME[name] = strategy


def known(name: str) -> bool:
    return name in _BY_NAME


def of_java(name: str) -> str | None:
    """By which one a Java leader goes: it knows none of ours and takes its default. None for one of its own
    that we do not know."""
    if name.startswith(FOREIGN):
        return None
    return name if name in ELASTICJOB_STRATEGIES else "AVG_ALLOCATION"


def answer(name: str, question: Question) -> dict[int, str]:
    """Ask a strategy. One that leaves a shard out, or names somebody else, is at fault and is told so."""
    found = _BY_NAME[name](question)
    able = set(question.workers)
    if able and (found.keys() != set(range(question.shards)) or not able.issuperset(found.values())):
        raise ConfigError(
            f"job {question.job!r}: the sharding strategy {name!r} must give each of the {question.shards} "
            "shards to one of the instances it was asked about"
        )
    return found


def _blocks(workers: Sequence[str], shards: int) -> dict[int, str]:
    if not workers:
        return {}
    size = shards // len(workers)
    whole = size * len(workers)
    owners = {item: workers[item // size] for item in range(whole)} if size else {}
    owners.update({item: workers[item - whole] for item in range(whole, shards)})
    return owners


def _rotated(workers: Sequence[str], by: int) -> list[str]:
    if not workers:
        return []
    by %= len(workers)
    return [*workers[by:], *workers[:by]]
