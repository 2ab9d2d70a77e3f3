"""Overviews: rows, what they come to, and machines, in step with what single looks tell."""

import pytest

from shardwright.errors import NotThere, NotValid, OperationError, Overtaken
from shardwright.ops import (
    browsing,
    doctor,
    jobs,
    looking,
    overview,
    servers,
    settings,
    shards,
    slices,
    statistics,
)
from shardwright.ops.overview import Totals
from shardwright.registry import Create, Delete, Landed, Tree
from shardwright.registry.tree import Branch, Unread

from .bureau import JAVA, PY, PY2, Bureau
from .races import just_before


def sights(bureau: Bureau) -> list[looking.Sight]:
    return looking.all_at(bureau.registry, looking.jobs(bureau.registry))


def test_totals_are_the_statistics_of_all_rows_however_they_came_about(any_bureau: Bureau) -> None:
    bureau, totals = any_bureau, Totals()
    known: dict[str, overview.Row] = {}

    def look() -> None:
        found = {sight.name: overview.row(sight) for sight in sights(bureau)}
        for name in {*found, *known}:
            totals.change(known.get(name), found.get(name))
        known.clear()
        known.update(found)
        assert totals.statistics() == statistics.gather(bureau.registry)

    look()
    bureau.of(PY, PY2, job="a", shards=3, owners={0: PY, 1: PY2})
    bureau.of(JAVA, job="b", owners={0: JAVA})
    look()
    bureau.put({"sharding/0/running": PY}, "a")
    bureau.set("servers/192.0.2.2", "DISABLED", "b")
    look()
    bureau.land(Delete(bureau.path("", "a"), recursive=True))
    look()


def test_loads_are_the_servers_with_what_they_own_and_run(bureau: Bureau) -> None:
    bureau.of(PY, PY2, job="a", shards=3, owners={0: PY, 1: PY, 2: PY2})
    bureau.of(PY, job="b", owners={0: PY})
    bureau.put({"sharding/1/running": PY2}, "a")
    bureau.operator.drain("a", PY)
    rows = {sight.name: overview.row(sight) for sight in sights(bureau)}
    loads = overview.loads(rows)
    listed = servers.listing(bureau.registry)
    assert [(each.address, each.instances, each.jobs, each.disabled) for each in loads] == [
        (each.address, each.instances, each.jobs, each.disabled) for each in listed
    ]
    assert [(each.owns, each.runs, each.draining) for each in loads] == [(3, 0, 1), (1, 1, 0)]
    told = overview.at_server(rows, "192.0.2.4")
    assert [(each.job, each.status, each.instances) for each in told] == [
        (each.job, each.status, each.instances) for each in servers.jobs_of(bureau.registry, "192.0.2.4")
    ]
    assert [(each.job, member.owns) for each in told for member in each.members] == [("a", 2), ("b", 1)]
    with pytest.raises(NotThere, match=r"no job knows a server '192\.0\.2\.77'; did you mean '192\.0\.2\."):
        overview.at_server(rows, "192.0.2.77")


def test_a_map_says_of_each_shard_what_its_item_does(bureau: Bureau) -> None:
    bureau.of(PY, shards=4, owners={0: PY, 1: PY2})
    bureau.put({"sharding/0/running": PY, "sharding/3/disabled": ""})
    sight = looking.at(bureau.registry, "j")
    told, items = shards.mapped(sight), shards.seen(sight)
    assert told.state == "".join(item.state.value[0] for item in items)
    named = dict(enumerate(told.members)) | {shards.NOBODY: ""}
    assert [named[place] for place in told.owner] == [item.owner for item in items]
    assert [named[place] for place in told.running] == [item.running_by for item in items]


def test_a_branch_of_a_mirror_is_the_tree_of_a_job(any_bureau: Bureau) -> None:
    bureau = any_bureau
    bureau.of(PY, shards=2, owners={0: PY}, job="a")
    bureau.of(job="b")
    mirror = bureau.registry.mirror(bureau.registry.namespace)
    bureau.registry.wait_for(lambda: mirror.synced)
    branch, tree = Branch(mirror, "a"), looking.at(bureau.registry, "a").job
    assert sorted(branch) == sorted(tree)
    assert len(branch) == len(tree)
    assert (branch.root, branch.full("config")) == (tree.root, tree.full("config"))
    for path in tree:
        assert (branch.node(path), branch.get(path), path in branch) == (
            tree.node(path),
            tree.get(path),
            True,
        )
        assert list(branch.children(path)) == list(tree.children(path))
    assert (branch.get("nowhere"), "nowhere" in branch) == (None, False)
    assert list(Branch(mirror, "c")) == []
    with pytest.raises(KeyError):
        branch.node("nowhere")


def test_a_mirror_notes_which_paths_have_changed_for_who_asks(any_bureau: Bureau) -> None:
    bureau = any_bureau
    bureau.of(PY, job="a")
    mirror: Tree = bureau.registry.mirror(bureau.registry.namespace)
    bureau.registry.wait_for(lambda: mirror.synced)
    mirror.journal = set()
    bureau.set("servers/192.0.2.4", "DISABLED", "a")
    bureau.of(job="b")
    bureau.land(Delete(bureau.path(f"instances/{PY}", "a")))
    bureau.registry.wait_for(lambda: mirror.journal is not None and f"a/instances/{PY}" in mirror.journal)
    assert {"a/servers/192.0.2.4", "b", "b/config"} <= mirror.journal
    assert "a/config" not in mirror.journal
    try:
        assert mirror.get("a/servers/192.0.2.4") == "DISABLED"
    except Unread as unread:
        bureau.registry.wait(bureau.registry.read(unread.paths))
        assert mirror.get("a/servers/192.0.2.4") == "DISABLED"


def test_answers_that_come_back_as_they_were_shown_change_nothing(bureau: Bureau) -> None:
    bureau.of(
        props={"password": "x", "a": "1"}, shards=2, item_parameters={0: "token:t", 1: "y"}, timeout="5m"
    )
    config = settings.get(bureau.registry, "j").config
    shown = {name: value for name, value in config.masked().items() if name != "extra_configurations"}
    assert settings.after(config, settings.answered(config, shown)) == config
    changed = settings.after(config, settings.answered(config, {"props.a": None, "props.b": "2"}))
    assert changed.props == {"password": "x", "b": "2"}
    with pytest.raises(NotValid, match="one by one, or all of them"):
        settings.answered(config, {"props": {}, "props.a": "2"})


def test_settings_that_were_changed_since_are_overtaken(bureau: Bureau) -> None:
    bureau.of()
    found = settings.get(bureau.registry, "j")
    settings.check_version(found, None)
    settings.check_version(found, found.version)
    with pytest.raises(Overtaken, match="were changed since they were read"):
        settings.check_version(found, found.version + 1)


def test_a_server_is_drained_of_every_job_or_of_none(bureau: Bureau) -> None:
    bureau.of(PY, PY2, job="a", owners={0: PY})
    bureau.of(PY, PY2, job="b", owners={0: PY})
    done = bureau.operator.drain_server("192.0.2.4")
    assert (len(done.changed), bureau.audit[-1].target) == (2, "server 192.0.2.4")
    assert [each.draining for each in jobs.detail(bureau.registry, "a").members] == [True, False]
    with pytest.raises(NotThere, match="no job knows a server"):
        bureau.operator.drain_server("192.0.2.99")


def test_a_server_with_all_who_may_work_is_not_drained(bureau: Bureau) -> None:
    neighbour = f"{PY}2"
    bureau.of(PY, neighbour, PY2, job="a", owners={0: PY})
    bureau.operator.drain_server("192.0.2.4")
    bureau.of(PY, neighbour, job="b", owners={0: PY})
    before = bureau.everything()
    with pytest.raises(OperationError, match=f"job 'b': nobody but '{PY}', '{neighbour}' may work"):
        bureau.operator.drain_server("192.0.2.4")
    assert bureau.everything() == before


@pytest.mark.parametrize("meanwhile", ["drained", "gone"])
def test_the_last_two_who_may_work_are_not_drained_at_once(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    bureau.of(PY, PY2, owners={0: PY})

    def other(*writes: object) -> None:
        if meanwhile == "drained":
            bureau.put({f"~draining/{PY2}": ""})
        else:
            bureau.land(Delete(bureau.path(f"instances/{PY2}")))

    just_before(bureau.registry, other, monkeypatch)
    with pytest.raises(OperationError, match="nothing was changed"):
        bureau.operator.drain("j", PY)
    assert PY not in bureau.names("~draining")


def test_a_drained_server_is_let_work_again_in_every_job_but_who_leaves_of_itself(bureau: Bureau) -> None:
    for job in "abc":
        bureau.of(PY, PY2, job=job, owners={0: PY})
    for job in "ab":
        bureau.operator.drain(job, PY)
    leaving = Create(bureau.path(f"~draining/{PY}", "c"), ephemeral=True)
    assert isinstance(bureau.members.wait(bureau.members.commit(leaving)), Landed)
    done = bureau.operator.undrain_server("192.0.2.4")
    assert done.changed == tuple(f"{PY} may work for the job '{job}' again" for job in "ab")
    assert (bureau.audit[-1].what, bureau.audit[-1].target) == ("undrain", "server 192.0.2.4")
    assert [bureau.names("~draining", job) for job in "abc"] == [(), (), (PY,)]
    with pytest.raises(OperationError, match=r"no process on the server '192\.0\.2\.4' was drained"):
        bureau.operator.undrain_server("192.0.2.4")
    with pytest.raises(NotThere, match="no job knows a server"):
        bureau.operator.undrain_server("192.0.2.99")


def test_shardings_at_the_top_are_found_and_nothing_else_is_taken_for_one(bureau: Bureau) -> None:
    bureau.of(PY)
    bureau.land(Create("/mine/leader/sharding"), Create("/folder/x"), Create("/other/j/config"))
    bureau.land(Create("/job/config"), Create("/job/instances"))
    assert slices.names(bureau.registry) == ("mine",)
    assert browsing.look(bureau.registry, "/").children[-1] in ("prod", "prod~shardwright")
    assert "mine" in browsing.look(bureau.registry, "/").children
    assert browsing.look(bureau.registry, "/mine").children == ("leader",)


def test_a_finding_is_found_again_while_it_is_there(bureau: Bureau) -> None:
    bureau.of()
    bureau.put({"leader/sharding/necessary": ""})
    (flag,) = [each for each in doctor.examine(bureau.registry).findings if each.kind == "flag"]
    again = doctor.find(bureau.registry, "flag", "j", flag.where)
    assert again is not None
    bureau.operator.repair(again)
    assert doctor.find(bureau.registry, "flag", "j", flag.where) is None
