"""What a history is asked: what ran where, and about the changes of a job."""

from datetime import timedelta

from shardwright.history import queries
from shardwright.history.store import Store
from tests.history.fires import ME, OTHER, T, a_run, after

ABOUT = ["reindex", "reindex, shard 1", "/prod/reindex/config", "/prod/reindex", "/reindex/leader/x"]
OTHERS = [
    "Reindex",
    "REINDEX, shard 1",
    "/prod/Reindex/config",
    "reindex2",
    "re_ndex, shard 1",
    "re%",
    "/reindexed",
]


def test_fires_are_told_of_a_server_or_of_one_of_its_processes(store: Store) -> None:
    runners = [ME, OTHER, "10.0.0.1@-@99-cc", "10.0.0.11@-@17-aa", "10.0.0.1", "10x0.0.1@-@1", "Host-A@-@1"]
    store.write([a_run(item, by=by) for item, by in enumerate(runners)])

    def found(server: str, job: str | None = None) -> list[int]:
        return sorted(each.key.item for each in queries.history(store, server=server, job=job).entries)

    assert found("10.0.0.1") == [0, 2, 4]
    assert found("10.0.0.1", job="reindex") == [0, 2, 4]
    assert found("10.0.0.1", job="other") == []
    assert found(ME) == [0]
    assert found("10.0.0.11") == [3]
    assert found("Host-A") == [6]
    for nobody in ("10.0.0", "10.0.0._", "10.0.0.%", "host-a", "10.0.0.1@-@", "10.0.0.1@-@9"):
        assert found(nobody) == [], nobody


def test_fires_of_a_server_are_told_in_pages(store: Store) -> None:
    store.write([a_run(0, at=T + timedelta(hours=hour), by=ME if hour % 2 else OTHER) for hour in range(6)])
    first = queries.history(store, server="10.0.0.1", limit=2)
    rest = queries.history(store, server="10.0.0.1", limit=2, after=first.after)
    assert [each.due for page in (first, rest) for each in page.entries] == [
        T + timedelta(hours=hour) for hour in (5, 3, 1)
    ]
    assert rest.after is None


def test_changes_are_told_of_a_job_and_of_no_other_whose_name_is_alike(store: Store) -> None:
    for number, target in enumerate(ABOUT + OTHERS):
        store.audit(at=after(number), who="ann", what="disable", target=target)
    assert targets(store, "reindex") == ABOUT
    assert targets(store, "re%") == ["re%"]
    assert targets(store, "re_ndex") == ["re_ndex, shard 1"]
    assert targets(store, "nobody") == []


def test_of_the_changes_of_a_job_the_latest_are_told_and_at_least_one(store: Store) -> None:
    for number, target in enumerate(ABOUT + OTHERS):
        store.audit(at=after(number), who="ann", what="disable", target=target)
    assert targets(store, "reindex", limit=2) == ABOUT[-2:]
    assert targets(store, "reindex", limit=0) == ABOUT[-1:]


def targets(store: Store, job: str, limit: int = 100) -> list[str]:
    """What the changes of a job were of, in the order that they were made."""
    return [note.target for note in reversed(queries.audit(store, job=job, limit=limit))]
