"""What a history is asked about the changes of a job."""

from shardwright.history import queries
from shardwright.history.store import Store
from tests.history.fires import after

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
