"""Who owns each shard, how it is, and what its cursor tells."""

import json
from datetime import UTC, datetime, timedelta

from shardwright.coordination.claim import Cursor, Tenure
from shardwright.ops import shards
from shardwright.ops.shards import Item, State

from .bureau import JAVA, JAVA2, PY, SMALLEST, Bureau

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def states(bureau: Bureau) -> list[State]:
    return [item.state for item in shards.of(bureau.registry, "j")]


def test_a_shard_that_is_disabled_is_so_whatever_else_it_is(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST, JAVA, owners={0: JAVA2})
    any_bureau.put({"sharding/0/disabled": "", "sharding/0/running": JAVA})
    assert states(any_bureau) == [State.DISABLED]


def test_a_shard_that_is_marked_is_running_whoever_owns_it(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST, JAVA, owners={0: JAVA2})
    any_bureau.put({"sharding/0/running": JAVA}, ephemeral=True)
    assert states(any_bureau) == [State.RUNNING]


def test_a_shard_whose_owner_is_not_there_is_flagged_and_shown_all_the_same(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST, JAVA, owners={0: JAVA2})
    (item,) = shards.of(any_bureau.registry, "j")
    assert (item.state, item.owner, item.server) == (State.SHARDING_FLAG, JAVA2, "192.0.2.3")


def test_a_shard_whose_owner_is_there_and_that_does_nothing_is_pending(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST, JAVA, owners={0: JAVA})
    assert states(any_bureau) == [State.PENDING]


def test_a_shard_that_nobody_was_given_is_flagged(bureau: Bureau) -> None:
    bureau.job(SMALLEST, JAVA)
    (item,) = shards.of(bureau.registry, "j")
    assert (item.state, item.owner, item.server) == (State.SHARDING_FLAG, "", "")


def test_a_shard_that_runs_is_told_with_who_runs_it_for_which_fire_and_since_when(bureau: Bureau) -> None:
    bureau.of(PY, JAVA, shards=2, item_parameters={1: "north"}, owners={0: JAVA, 1: JAVA})
    bureau.put({"sharding/1/running": PY, "sharding/1/failover": PY, "~next/1": JAVA})
    run = Tenure(PY, "3", NOON.isoformat(), "failover", 2)
    bureau.cursor(1, Cursor(at=NOON, run=run, last="failed: no disk", began=NOON, ended=NOON))
    assert shards.of(bureau.registry, "j")[1] == Item(
        item=1,
        state=State.RUNNING,
        owner=JAVA,
        server="192.0.2.2",
        failover=True,
        parameter="north",
        running_by=PY,
        running_fire=NOON.isoformat(),
        running_since=NOON,
        attempt=2,
        last_fire=None,
        last_outcome="failed: no disk",
        last_ended=NOON,
        next_owner=JAVA,
    )


def test_the_fire_that_runs_is_not_told_as_the_last_one_and_runs_since_its_time(bureau: Bureau) -> None:
    """A claim is made a moment ahead, and moves the cursor; how the last run ended is still that of the one
    before."""
    bureau.of(PY, shards=2, owners={0: PY, 1: PY})
    ahead, before = NOON - timedelta(seconds=1), NOON - timedelta(seconds=10)
    timed, asked = Tenure(PY, "3", NOON.isoformat(), "scheduled", 1), Tenure(PY, "4", "#7", "trigger", 1)
    bureau.cursor(0, Cursor(at=NOON, run=timed, last="ok", began=ahead, ended=before))
    bureau.cursor(1, Cursor(at=before, run=asked, last="ok", began=ahead, ended=before))
    first, second = shards.of(bureau.registry, "j")
    assert (first.running_since, first.last_fire, first.last_ended) == (NOON, None, before)
    assert (second.running_since, second.last_fire, second.last_ended) == (ahead, before, before)


def test_a_shard_without_a_mark_that_somebody_alive_has_claimed_is_running(bureau: Bureau) -> None:
    bureau.of(PY, monitor_execution=False, owners={0: PY})
    bureau.cursor(0, Cursor(run=Tenure(PY, "1", "#7", "trigger", 1), began=NOON))
    (item,) = shards.of(bureau.registry, "j")
    assert (item.state, item.running_by, item.running_fire) == (State.RUNNING, PY, "#7")


def test_a_claim_of_the_dead_is_no_run(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.cursor(0, Cursor(run=Tenure("192.0.2.9@-@1-x", "1", "#7", "trigger", 1), began=NOON))
    (item,) = shards.of(bureau.registry, "j")
    assert (item.state, item.running_by, item.running_since) == (State.PENDING, "", None)


def test_a_cursor_from_a_job_of_that_name_that_was_removed_tells_nothing(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({"~~cursor/0": Cursor(made=1_000_000, at=NOON, last="ok").text()})
    (item,) = shards.of(bureau.registry, "j")
    assert (item.last_fire, item.last_outcome) == (None, "")


def test_the_shards_of_a_job_whose_settings_make_no_sense_are_those_that_are_there(bureau: Bureau) -> None:
    bureau.job("no: settings", JAVA, owners={0: JAVA, 1: JAVA})
    bureau.put({"sharding/x": ""})
    assert [item.item for item in shards.of(bureau.registry, "j")] == [0, 1]


def test_a_secret_in_what_a_shard_was_handed_or_ended_with_is_not_shown(bureau: Bureau) -> None:
    bureau.of(PY, item_parameters={0: "https://ann:pa55word@host"}, owners={0: PY})
    bureau.cursor(0, Cursor(last="failed: password=pa55word"))
    (item,) = shards.of(bureau.registry, "j")
    assert (item.parameter, item.last_outcome) == ("https://***@host", "failed: password=***")


def test_a_shard_can_be_told_in_json(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.cursor(0, Cursor(at=NOON))
    (item,) = shards.of(bureau.registry, "j")
    told = json.loads(json.dumps(item.as_json()))
    assert (told["state"], told["last_fire"]) == ("PENDING", "2030-01-01T12:00:00+00:00")
