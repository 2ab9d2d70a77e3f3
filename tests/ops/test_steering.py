"""Each change has the effect on the nodes that ElasticJob's own operations have, and no other."""

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from shardwright.coordination.claim import Cursor, Tenure
from shardwright.errors import OperationError
from shardwright.ops import steering
from shardwright.registry import Delete, Node, Put
from tests.zookeeper_server import Server

from .bureau import JAVA, JAVA2, PY, PY2, Bureau
from .races import just_before


@pytest.fixture
def two_jobs(any_bureau: Bureau) -> Bureau:
    """Two jobs on two servers; a third that knows neither."""
    any_bureau.of(JAVA, JAVA2, job="a", shards=2, owners={0: JAVA, 1: JAVA2})
    any_bureau.of(JAVA, JAVA2, job="b", shards=2, owners={0: JAVA, 1: JAVA2})
    any_bureau.of(PY, job="c", owners={0: PY})
    return any_bureau


def data(nodes: dict[str, Node]) -> dict[str, str]:
    return {path: node.data for path, node in nodes.items()}


def effect(before: dict[str, Node], after: dict[str, Node]) -> dict[str, str | None]:
    """Which nodes hold something else, were made, or are gone."""
    old, new = data(before), data(after)
    return {path: new.get(path) for path in sorted({*old, *new}) if old.get(path) != new.get(path)}


# Letting work, and not


def test_a_job_is_disabled_on_all_its_servers(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    done = two_jobs.operator.disable("a")
    assert effect(before, two_jobs.everything()) == {
        two_jobs.path("servers/192.0.2.2", "a"): "DISABLED",
        two_jobs.path("servers/192.0.2.3", "a"): "DISABLED",
    }
    assert done.changed == (
        "192.0.2.2 is DISABLED for the job 'a'",
        "192.0.2.3 is DISABLED for the job 'a'",
    )
    two_jobs.operator.enable("a")
    assert data(two_jobs.everything()) == data(before)


def test_a_server_is_disabled_in_every_job_that_knows_it(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    two_jobs.operator.disable(server="192.0.2.2")
    assert effect(before, two_jobs.everything()) == {
        two_jobs.path("servers/192.0.2.2", "a"): "DISABLED",
        two_jobs.path("servers/192.0.2.2", "b"): "DISABLED",
    }
    two_jobs.operator.enable(server="192.0.2.2")
    assert data(two_jobs.everything()) == data(before)


def test_a_job_is_disabled_on_one_server(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    two_jobs.operator.disable("b", server="192.0.2.3")
    assert effect(before, two_jobs.everything()) == {two_jobs.path("servers/192.0.2.3", "b"): "DISABLED"}


def test_a_shard_is_disabled_by_a_node_and_enabled_without_it(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    assert two_jobs.operator.disable("a", shard=1).changed == ("shard 1 of the job 'a' is DISABLED",)
    assert effect(before, two_jobs.everything()) == {two_jobs.path("sharding/1/disabled", "a"): ""}
    two_jobs.operator.enable("a", shard=1)
    assert data(two_jobs.everything()) == data(before)


def test_what_is_disabled_already_is_not_written_again(bureau: Bureau) -> None:
    bureau.of(JAVA)
    bureau.operator.disable("j")
    bureau.operator.disable("j", shard=0)
    before = bureau.everything()
    assert bureau.operator.disable("j").changed == ()
    assert bureau.operator.disable("j", shard=0).changed == ()
    assert bureau.everything() == before


# Asking for runs


def test_every_instance_is_asked_to_fire_and_requests_from_before_go(any_bureau: Bureau) -> None:
    any_bureau.of(JAVA, PY)
    any_bureau.put({f"trigger/{JAVA}": "", "trigger/192.0.2.9@-@1": ""})
    before = any_bureau.everything()
    done = any_bureau.operator.trigger("j")
    assert done.changed == (f"{JAVA} was asked to fire", f"{PY} was asked to fire")
    assert any_bureau.names("trigger") == (JAVA, PY)
    path = any_bureau.path(f"trigger/{JAVA}")
    assert any_bureau.everything()[path].made > before[path].made


def test_single_shards_are_asked_for_by_a_request_that_is_later_than_the_last_answered(
    any_bureau: Bureau,
) -> None:
    any_bureau.of(PY, shards=3, owners={0: PY, 1: PY, 2: PY})
    any_bureau.cursor(1, Cursor(asked=2))
    before = any_bureau.everything()
    done = any_bureau.operator.trigger("j", shards=[2, 1])
    assert done.changed == ("shard 1 was asked to run", "shard 2 was asked to run")
    after = any_bureau.everything()
    cursor, owner = any_bureau.path("~~cursor/1"), any_bureau.path("sharding/2/instance")
    assert effect(before, after) == {
        any_bureau.path("~owed"): "",
        any_bureau.path("~owed/1"): str(before[cursor].written),
        any_bureau.path("~owed/2"): str(before[owner].written),
    }
    any_bureau.operator.trigger("j", shards=[1])
    assert data(any_bureau.everything()) == data(after)


def test_the_parameter_of_one_shard_is_not_lost_to_a_request_for_all_that_still_waits(
    any_bureau: Bureau,
) -> None:
    any_bureau.of(PY, shards=2, owners={0: PY, 1: PY})
    any_bureau.cursor(1, Cursor(asked=2))
    any_bureau.operator.trigger("j")
    waits = any_bureau.everything()[any_bureau.path(f"trigger/{PY}")].made
    any_bureau.operator.trigger("j", shards=[1], parameter="page 7")
    assert any_bureau.everything()[any_bureau.path("~owed/1")].data == f"{waits} page 7"


def test_the_parameter_of_a_trigger_is_told_once_without_its_secrets(any_bureau: Bureau) -> None:
    any_bureau.of(PY, PY2, shards=2, owners={0: PY, 1: PY2})
    told = "with the parameter 'page 7, password=***'"
    done = any_bureau.operator.trigger("j", parameter="page 7, password=hunter2")
    assert done.changed == (f"{PY} was asked to fire", f"{PY2} was asked to fire", told)
    done = any_bureau.operator.trigger("j", shards=[0, 1], parameter="page 7, password=hunter2")
    assert done.changed == ("shard 0 was asked to run", "shard 1 was asked to run", told)
    done = any_bureau.operator.trigger("j", parameter="x" * 2000)
    assert len(done.changed[-1]) < 250


# Having instances stop


def test_all_instances_of_a_job_are_ordered_to_stop_by_taking_their_nodes(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    two_jobs.operator.shutdown("a")
    assert effect(before, two_jobs.everything()) == {
        two_jobs.path(f"instances/{JAVA}", "a"): None,
        two_jobs.path(f"instances/{JAVA2}", "a"): None,
    }


def test_all_instances_on_a_server_are_ordered_to_stop(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    two_jobs.operator.shutdown(server="192.0.2.3")
    assert effect(before, two_jobs.everything()) == {
        two_jobs.path(f"instances/{JAVA2}", "a"): None,
        two_jobs.path(f"instances/{JAVA2}", "b"): None,
    }


def test_the_instances_of_a_job_on_a_server_and_a_single_one_are_ordered_to_stop(bureau: Bureau) -> None:
    bureau.of(JAVA, JAVA2, PY)
    bureau.operator.shutdown("j", server="192.0.2.3")
    assert bureau.names("instances") == (JAVA, PY)
    bureau.operator.shutdown("j", instance=PY)
    assert bureau.names("instances") == (JAVA,)
    assert bureau.names("~alive") == (PY,)


def test_an_instance_whose_server_is_forgotten_is_found_by_what_it_says_itself(bureau: Bureau) -> None:
    bureau.of(JAVA, JAVA2)
    bureau.land(Delete(bureau.path("servers/192.0.2.2")))
    with pytest.raises(OperationError, match=r"the job 'j' knows no server '192.0.2.2'"):
        bureau.operator.disable("j", server="192.0.2.2")
    bureau.operator.shutdown(server="192.0.2.2")
    assert bureau.names("instances") == (JAVA2,)


def test_a_server_is_removed_with_all_that_is_on_it(two_jobs: Bureau) -> None:
    before = two_jobs.everything()
    two_jobs.operator.remove_server("192.0.2.2")
    assert effect(before, two_jobs.everything()) == {
        two_jobs.path(path, job): None
        for job in ("a", "b")
        for path in (f"instances/{JAVA}", "servers/192.0.2.2")
    }
    two_jobs.operator.remove_server("192.0.2.3", job="a")
    assert two_jobs.names("servers", "a") == ()
    assert two_jobs.names("servers", "b") == ("192.0.2.3",)


# Removing a job


def test_a_job_that_nobody_is_in_is_removed_from_both_trees(any_bureau: Bureau) -> None:
    any_bureau.of(PY, PY2, job="other")
    before = data(any_bureau.everything())
    any_bureau.of(shards=2, owners={0: JAVA, 1: JAVA})
    any_bureau.put({"instances": "", "~alive": "", "~term": PY, "trigger/x": ""})
    any_bureau.cursor(0, Cursor(last="ok"))
    assert any_bureau.operator.remove("j").changed == ("the job 'j' is removed",)
    assert data(any_bureau.everything()) == before


def test_a_job_is_removed_that_never_was_ours(bureau: Bureau) -> None:
    bureau.job()
    bureau.operator.remove("j")
    assert bureau.names("") == ()


def test_a_job_that_somebody_is_in_is_not_removed(any_bureau: Bureau) -> None:
    any_bureau.of(JAVA)
    before = any_bureau.everything()
    with pytest.raises(
        OperationError, match=rf"'j' is not removed: {JAVA} is still in it; shut it down first"
    ):
        any_bureau.operator.remove("j")
    assert any_bureau.everything() == before


def test_a_job_that_somebody_joins_meanwhile_is_not_removed(
    any_bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    any_bureau.of()
    for who in (JAVA, PY):
        just_before(any_bureau.registry, lambda *writes: any_bureau.join(who), monkeypatch)  # noqa: B023
        with pytest.raises(OperationError, match="remove j: nothing was changed"):
            any_bureau.operator.remove("j")
        assert any_bureau.names("instances") == (who,)
        any_bureau.land(Delete(any_bureau.path(f"instances/{who}")))


def test_one_who_is_not_among_the_instances_any_more_keeps_the_job_while_it_lives(bureau: Bureau) -> None:
    bureau.of(PY)
    bureau.land(Delete(bureau.path(f"instances/{PY}")))
    with pytest.raises(OperationError, match="is still in it"):
        bureau.operator.remove("j")


def test_what_is_ours_of_a_job_stays_while_somebody_has_not_stopped(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    done = bureau.operator.remove("j", force=True, patience=0.01)
    assert done.changed[-1].startswith("our own nodes of it are left for the doctor: waited")
    assert bureau.read("") is None
    assert bureau.names("~alive") == (PY,)


# What is refused


REFUSED = [
    (lambda op: op.trigger("x"), "there is no job 'x' in /prod"),
    (lambda op: op.trigger("j", parameter="x"), "a Java process, and would run without the parameter"),
    (lambda op: op.trigger("j", parameter="x" * 2001), "a parameter may have up to 2,000 characters"),
    (lambda op: op.trigger("off", shards=[0], parameter="\0"), "a text of printable characters"),
    (lambda op: op.trigger("empty"), "nobody is in the job 'empty', so nobody can be asked to fire"),
    (lambda op: op.trigger("j", shards=[2]), "the job 'j' has no shard 2; it has 0 to 1"),
    (lambda op: op.trigger("j", shards=[]), "name the shards that are to run"),
    (lambda op: op.trigger("j", shards=[0]), f"shard 0 belongs to {JAVA}, a Java process"),
    (lambda op: op.trigger("j", shards=[1]), "shard 1 belongs to nobody yet"),
    (lambda op: op.trigger("off", shards=[1]), "shard 1 belongs to 192.0.2.9@-@9-x, which is not there"),
    (lambda op: op.trigger("off", shards=[0]), "shard 0 is disabled; enable it first"),
    (lambda op: op.enable("x"), "there is no job 'x'"),
    (lambda op: op.disable("empty"), "it has no server yet"),
    (
        lambda op: op.disable("j", server="192.0.2.99"),
        "the job 'j' knows no server '192.0.2.99'; did you mean",
    ),
    (lambda op: op.disable(server="10.0.0.1"), "no job knows a server '10.0.0.1'"),
    (lambda op: op.disable("j", shard=9), "the job 'j' has no shard 9"),
    (lambda op: op.disable("j", shard=True), "the job 'j' has no shard True"),
    (lambda op: op.disable(shard=1), "name the job and the shard"),
    (lambda op: op.disable("j", shard=1, server="192.0.2.2"), "name the job and the shard"),
    (lambda op: op.disable(), "name a job, a server, or both"),
    (lambda op: op.shutdown(), "name a job, a server, or both"),
    (lambda op: op.shutdown("empty"), "nobody is in the job 'empty', so nobody can be shut down"),
    (lambda op: op.shutdown("j", instance="nobody"), "no instance 'nobody' is in the job 'j'"),
    (lambda op: op.shutdown(instance=JAVA), "name the job that it is to stop"),
    (lambda op: op.shutdown(server="192.0.2.77"), "no instance is on the server '192.0.2.77'"),
    (lambda op: op.remove_server("10.0.0.1"), "no job knows a server '10.0.0.1'"),
    (lambda op: op.remove("x"), "there is no job 'x'"),
    (lambda op: op.remove("j"), "the job 'j' is not removed"),
    (lambda op: op.drain("j", JAVA), "is a Java process, which cannot be drained"),
    (lambda op: op.drain("off", PY), "so nothing would run any more; start or enable another first"),
    (lambda op: op.drain("static", PY), "so '192.0.2.4@-@11-a' would keep its own; shut it down instead"),
    (lambda op: op.drain("java", PY), "a Java process leads it"),
    (lambda op: op.update("j", {"shards": 3}, version=9), "were changed since they were read"),
    (lambda op: op.drain("off", "gone"), "no instance 'gone' is in the job 'off'"),
    (lambda op: op.undrain("off", "gone"), "no instance 'gone' is in the job 'off'"),
]


@pytest.mark.parametrize(("change", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_cannot_be_is_refused_in_a_sentence_and_changes_nothing(
    bureau: Bureau, change: object, why: str
) -> None:
    bureau.of(JAVA, shards=2, owners={0: JAVA})
    bureau.put({"servers/192.0.2.77": "ENABLED"})
    bureau.of(PY, job="off", shards=2, owners={0: PY, 1: "192.0.2.9@-@9-x"})
    bureau.put({"sharding/0/disabled": ""}, "off")
    bureau.of(PY, PY2, job="static", static_sharding=True)
    bureau.of(PY, JAVA2, job="java")
    bureau.put({"leader/election/instance": JAVA2}, "java", ephemeral=True)
    bureau.of(job="empty")
    before = bureau.everything()
    with pytest.raises(OperationError) as refused:
        change(bureau.operator)  # type: ignore[operator]
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert bureau.everything() == before
    ((_, _, outcome),) = bureau.said()
    assert outcome == str(refused.value)


def test_a_change_that_comes_too_late_is_refused_whole(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two servers is written by somebody else between the look and the commit."""
    bureau.of(JAVA, JAVA2)
    changed = Put(bureau.path("servers/192.0.2.3"), "ENABLED")
    just_before(bureau.registry, lambda *writes: bureau.land(changed), monkeypatch)
    with pytest.raises(OperationError, match=r"disable j: nothing was changed: .*; look again and try again"):
        bureau.operator.disable("j")
    assert [bureau.read(f"servers/192.0.2.{number}") for number in (2, 3)] == ["ENABLED", "ENABLED"]


def test_nobody_is_asked_to_fire_where_one_of_them_has_gone_meanwhile(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    bureau.of(JAVA, JAVA2)
    gone = Delete(bureau.path(f"instances/{JAVA}"))
    just_before(bureau.registry, lambda *writes: bureau.land(gone), monkeypatch)
    with pytest.raises(OperationError, match="trigger j: nothing was changed"):
        bureau.operator.trigger("j")
    assert bureau.names("trigger") == ()


def test_who_comes_while_all_are_asked_to_fire_is_asked_too(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may have been given a shard of one who was asked, which then would not run."""
    bureau.of(JAVA, shards=2, owners={0: JAVA, 1: JAVA})
    just_before(bureau.registry, lambda *writes: bureau.join(PY), monkeypatch)
    done = bureau.operator.trigger("j")
    assert done.changed == (f"{JAVA} was asked to fire", f"{PY} was asked to fire")
    assert bureau.names("trigger") == (JAVA, PY)
    assert [each.detail for each in bureau.audit] == [f"{who} was asked to fire" for who in (JAVA, PY)]


@pytest.mark.zookeeper
def test_who_is_kept_from_us_is_looked_for_once_when_all_are_asked_to_fire(zookeeper: Server) -> None:
    """Replicas that log in, one after the other, make nodes that nobody else may see."""
    with Bureau.on_zookeeper(zookeeper.hosts) as bureau:
        bureau.of(PY, PY2)
        other = KazooClient(zookeeper.hosts)
        other.start()
        theirs = [make_digest_acl("they", "s3cret", all=True)]
        other.set_acls(bureau.path(f"instances/{PY2}"), theirs)
        other.stop()
        other.close()
        done = bureau.operator.trigger("j")
        assert done.changed == (f"{PY} was asked to fire",)
        assert len(bureau.audit) <= 2


def test_where_who_came_cannot_be_asked_any_more_it_is_said_that_the_others_were(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    def come(*_: object) -> None:
        bureau.join(PY)
        gone = Delete(bureau.path(f"instances/{PY}"))
        just_before(bureau.registry, lambda *writes: bureau.land(gone), monkeypatch)

    bureau.of(JAVA)
    just_before(bureau.registry, come, monkeypatch)
    with pytest.raises(
        OperationError, match=f"{JAVA} was asked to fire; who came meanwhile may not have been"
    ):
        bureau.operator.trigger("j")
    assert bureau.names("trigger") == (JAVA,)


def test_a_shard_of_a_job_that_was_removed_meanwhile_brings_it_not_back(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    bureau.of(shards=2)
    gone = Delete(bureau.path(""), recursive=True)
    just_before(bureau.registry, lambda *writes: bureau.land(gone), monkeypatch)
    with pytest.raises(OperationError, match="nothing was changed"):
        bureau.operator.disable("j", shard=0)
    assert bureau.read("") is None


def test_a_shard_that_has_answered_another_request_meanwhile_is_not_asked_in_vain(
    any_bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had never run before, and by now has answered one that is later than ours would be."""
    any_bureau.of(PY, owners={0: PY})
    just_before(any_bureau.registry, lambda *writes: any_bureau.cursor(0, Cursor(asked=10**6)), monkeypatch)
    with pytest.raises(OperationError, match="nothing was changed"):
        any_bureau.operator.trigger("j", shards=[0], parameter="page 7")
    assert any_bureau.names("~owed") == ()


def test_who_was_ordered_to_stop_is_not_drained_before_what_it_runs_has_ended(any_bureau: Bureau) -> None:
    any_bureau.of(PY, PY2, owners={0: PY2})
    any_bureau.put({"sharding/0/running": PY}, ephemeral=True)
    any_bureau.cursor(0, Cursor(run=Tenure(PY, "1", "#7", "trigger", 1)))
    any_bureau.land(Delete(any_bureau.path(f"instances/{PY}")))
    assert not steering.drained(any_bureau.registry, "j", PY)
    any_bureau.land(Delete(any_bureau.path(f"~alive/{PY}")))
    assert steering.drained(any_bureau.registry, "j", PY)
