"""What would move is what the leader would move, and nothing is written for it."""

import json

import pytest

from shardwright.errors import OperationError
from shardwright.ops import preview
from shardwright.ops.preview import Move

from .bureau import JAVA, JAVA2, PY, PY2, Bureau


def test_one_that_leaves_gives_its_shards_to_the_others_and_no_other_moves(bureau: Bureau) -> None:
    bureau.of(PY, PY2, shards=4, owners={0: PY, 1: PY, 2: PY2, 3: PY2})
    bureau.put({"sharding/3/running": PY2})
    before = bureau.everything()
    found = preview.leave(bureau.registry, "j", PY2)
    assert found.what == f"if {PY2} left"
    assert found.moves == (Move(2, PY2, PY, False), Move(3, PY2, PY, True))
    assert found.counts == {PY: 4}
    assert found.note == ""
    assert bureau.everything() == before


def test_one_that_comes_takes_its_share_and_no_more(bureau: Bureau) -> None:
    bureau.of(PY, shards=4, owners=dict.fromkeys(range(4), PY))
    found = preview.join(bureau.registry, "j")
    assert found.what == "if 1 more process came"
    assert sorted(found.counts.values()) == [2, 2]
    assert len(found.moves) == 2
    assert len(preview.join(bureau.registry, "j", 3).moves) == 3


def test_one_that_comes_to_a_disabled_server_takes_nothing(bureau: Bureau) -> None:
    bureau.of(PY, PY2, shards=4, owners=dict.fromkeys(range(4), PY))
    bureau.set("servers/192.0.2.5", "DISABLED")
    assert preview.join(bureau.registry, "j", server="192.0.2.5").moves == ()


def test_more_shards_are_shared_out_and_fewer_are_let_go(bureau: Bureau) -> None:
    bureau.of(PY, PY2, shards=2, owners={0: PY, 1: PY2})
    more = preview.resize(bureau.registry, "j", 4)
    assert [(move.item, move.before) for move in more.moves] == [(2, ""), (3, "")]
    assert more.counts == {PY: 2, PY2: 2}
    fewer = preview.resize(bureau.registry, "j", 1)
    assert fewer.moves == (Move(1, PY2, "", False),)


def test_shards_that_stay_where_they_are_move_only_from_one_that_leaves(bureau: Bureau) -> None:
    bureau.of(PY, PY2, shards=4, static_sharding=True, owners={0: PY, 1: PY, 2: PY, 3: PY2})
    assert preview.join(bureau.registry, "j").moves == ()
    assert preview.leave(bureau.registry, "j", PY2).moves == (Move(3, PY2, PY, False),)


def test_elasticjobs_strategies_move_as_theirs_do(bureau: Bureau) -> None:
    three = [f"192.0.2.{number}@-@1" for number in (1, 2, 3)]
    shared = {item: three[2 - item // 3] for item in range(9)}
    bureau.of(*three, shards=9, strategy="AVG_ALLOCATION", owners=shared)
    found = preview.leave(bureau.registry, "j", three[2])
    assert found.owners == {
        **dict.fromkeys(range(4), three[1]),
        **dict.fromkeys(range(4, 8), three[0]),
        8: three[1],
    }
    assert len(found.moves) == 6


def test_a_java_leader_goes_by_its_own_default_where_it_does_not_know_the_strategy(bureau: Bureau) -> None:
    bureau.of(JAVA, JAVA2, shards=4, owners={0: JAVA, 1: JAVA2, 2: JAVA, 3: JAVA2})
    bureau.put({"leader/election/instance": JAVA}, ephemeral=True)
    found = preview.resize(bureau.registry, "j", 4)
    assert found.owners == {0: JAVA2, 1: JAVA2, 2: JAVA, 3: JAVA}
    assert found.note == "the strategy 'sticky' is not known here: asked was 'AVG_ALLOCATION'"


def test_a_strategy_of_a_users_own_is_stood_in_for_and_that_is_said(bureau: Bureau) -> None:
    bureau.of(PY, shards=2, strategy="by_tenant", owners={0: PY, 1: PY})
    found = preview.join(bureau.registry, "j")
    assert found.note == "the strategy 'by_tenant' is not known here: asked was 'sticky'"


def test_where_nobody_is_left_nothing_would_run(bureau: Bureau) -> None:
    bureau.of(PY, shards=2, owners={0: PY, 1: PY})
    found = preview.leave(bureau.registry, "j", PY)
    assert [move.after for move in found.moves] == ["", ""]
    assert found.note == "nobody may work then, so no shard would run"


def test_a_preview_can_be_told_in_json(bureau: Bureau) -> None:
    bureau.of(PY, shards=1, owners={0: PY})
    told = json.loads(json.dumps(preview.leave(bureau.registry, "j", PY).as_json()))
    assert told["moves"] == [{"item": 0, "before": PY, "after": "", "running": False}]


def test_what_cannot_be_previewed_is_refused(bureau: Bureau) -> None:
    bureau.of(PY)
    with pytest.raises(OperationError, match="no instance 'x' is in the job 'j'"):
        preview.leave(bureau.registry, "j", "x")
    with pytest.raises(OperationError, match="name the instances"):
        preview.leave(bureau.registry, "j")
    with pytest.raises(OperationError, match="shards must be at least 1, not 0"):
        preview.resize(bureau.registry, "j", 0)
    with pytest.raises(OperationError, match="between 1 and 1000 processes"):
        preview.join(bureau.registry, "j", 0)
    with pytest.raises(OperationError, match="there is no job 'k'"):
        preview.join(bureau.registry, "k")


@pytest.mark.parametrize("server", ["a/b", "/", "\udcff", ""])
def test_who_comes_on_a_server_that_cannot_be_is_refused(bureau: Bureau, server: str) -> None:
    bureau.of(PY, owners={0: PY})
    with pytest.raises(OperationError, match="is no address that a server could have"):
        preview.join(bureau.registry, "j", 1, server)
