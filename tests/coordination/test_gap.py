"""Gaps: from when on a shard's fires count is written by one member, and kept where all find it."""

from dataclasses import replace
from datetime import timedelta

from shardwright.coordination import due, firing, gap, leader
from shardwright.coordination.gap import Gap
from shardwright.coordination.step import Create, Look, Put, Start, Step, do
from shardwright.coordination.view import LONG_AGO, Nodes, View
from shardwright.registry import Node
from shardwright.registry.tree import Mirror

from .test_firing import LED, T, cursor, owned
from .views import JAVA, MADE, NOW, A, B, Told, a_view, member

BEFORE = Gap("0/10 * * * * ? UTC", 2, made=MADE)
EARLIER = NOW - timedelta(hours=1)


def steps(before: Gap, nodes: dict[str, Told] | None = None, **view: object) -> list[object]:
    """What is written at T of a job that stood like this when somebody last looked."""
    told: dict[str, Told] = {**LED, "~gap": (before.text(), 5), **(nodes or {})}
    return list(gap.decide(a_view(told, now=T, **view)))  # type: ignore[arg-type]


def rewritten(after: Gap) -> list[object]:
    return [do(Put("~gap", after.text(), 5))]


def without_a_past(nodes: dict[str, Told]) -> View:
    """A view of a job of which nobody has written how it stood."""
    job, own = Mirror("/ns/job"), Mirror("/ns~shardwright/job/watched")
    for path, data in nodes.items():
        tree, inner = (own, path[1:]) if path.startswith("~") else (job, path)
        tree.put(inner, Node(str(data), 0, "", 1, 1), 0.0)
    view = a_view(now=T)
    return replace(view, tree=Nodes(job, own), local=replace(view.local, since=NOW))


def test_what_nobody_has_written_is_written_and_counts_from_when_we_came() -> None:
    view = without_a_past(dict(LED))
    assert list(gap.decide(view)) == [
        do(Create("~gap", replace(BEFORE, since=NOW, alone=NOW, born=NOW).text()))
    ]


def test_what_is_how_things_stand_is_left_alone() -> None:
    assert steps(BEFORE) == []
    assert steps(replace(BEFORE, since=EARLIER, alone=EARLIER, births=((1, 1, NOW),))) == []


def test_with_a_new_cron_fires_count_from_now() -> None:
    after = Gap("0/20 * * * * ? UTC", 2, since=T, made=MADE)
    assert steps(BEFORE, config={"cron": "0/20 * * * * ?"}) == rewritten(after)


def test_with_another_zone_alone_fires_count_from_now() -> None:
    after = Gap("0/10 * * * * ? Asia/Shanghai", 2, since=T, made=MADE)
    assert steps(BEFORE, config={"time_zone": "Asia/Shanghai"}) == rewritten(after)


def test_with_another_rule_for_clock_changes_fires_count_from_now() -> None:
    after = Gap("0/10 * * * * ? UTC continuous", 2, since=T, made=MADE)
    assert steps(BEFORE, config={"dst": "continuous"}) == rewritten(after)


def test_a_job_that_becomes_one_off_and_scheduled_again_counts_from_then() -> None:
    asked = Gap("UTC", 2, since=T, made=MADE)
    assert steps(BEFORE, config={"cron": None}) == rewritten(asked)
    assert steps(replace(asked, since=NOW)) == rewritten(replace(BEFORE, since=T))


def test_a_new_schedule_counts_for_all_shards_alike() -> None:
    born = replace(BEFORE, births=((1, 1, NOW),))
    after = Gap("0/20 * * * * ? UTC", 2, since=T, made=MADE)
    assert steps(born, config={"cron": "0/20 * * * * ?"}) == rewritten(after)


def test_new_shards_count_from_their_birth_and_the_old_ones_as_before() -> None:
    after = replace(BEFORE, shards=4, since=EARLIER, births=((2, 3, T),))
    assert steps(replace(BEFORE, since=EARLIER), config={"shards": 4}) == rewritten(after)
    assert [after.counts_from(item) for item in range(4)] == [EARLIER, EARLIER, T, T]


def test_shards_that_are_no_more_are_forgotten_and_are_new_if_they_come_back() -> None:
    four = replace(BEFORE, shards=4, births=((1, 1, EARLIER), (2, 3, NOW)))
    two = replace(BEFORE, births=((1, 1, EARLIER),))
    assert steps(four) == rewritten(two)
    back = replace(BEFORE, shards=4, births=((1, 1, EARLIER), (2, 3, T)))
    assert steps(two, config={"shards": 4}) == rewritten(back)


def test_a_disabled_shard_that_is_no_more_has_not_been_enabled() -> None:
    assert steps(replace(BEFORE, shards=3, disabled=frozenset({2}))) == rewritten(BEFORE)


def test_a_shard_that_is_disabled_is_noted_and_one_enabled_again_counts_from_then() -> None:
    off = replace(BEFORE, disabled=frozenset({0}))
    assert steps(BEFORE, {"sharding/0/disabled": ""}) == rewritten(off)
    assert steps(off) == rewritten(replace(BEFORE, births=((0, 0, T),)))


def test_a_shard_that_was_enabled_before_counts_from_the_last_time_only() -> None:
    off = replace(BEFORE, disabled=frozenset({0}), births=((0, 0, NOW), (1, 1, NOW)))
    assert steps(off) == rewritten(replace(BEFORE, births=((1, 1, NOW), (0, 0, T))))


def test_where_operators_let_nobody_work_that_is_noted_and_fires_count_again_from_when_somebody_may() -> None:
    quiet: dict[str, Told] = {**member(A, "DISABLED"), **member(B, "DISABLED"), "~gap": (BEFORE.text(), 5)}
    idle = replace(BEFORE, idle=True)
    assert list(gap.decide(a_view(quiet, now=T))) == rewritten(idle)
    assert steps(idle) == rewritten(replace(BEFORE, since=T))


def test_one_server_disabled_among_others_changes_nothing() -> None:
    assert steps(BEFORE, member(B, "DISABLED")) == []


def test_that_java_members_came_is_noted_and_when_the_last_has_left_we_are_alone_from_then() -> None:
    with_java = replace(BEFORE, java=True, alone=EARLIER)
    assert steps(replace(BEFORE, alone=EARLIER), member(JAVA)) == rewritten(with_java)
    assert steps(with_java, member(JAVA)) == []
    assert steps(with_java) == rewritten(replace(BEFORE, alone=T))


def test_who_waited_whether_a_java_member_only_blinked_was_alone_meanwhile_already() -> None:
    with_java = replace(BEFORE, java=True, alone=EARLIER)
    owned: dict[str, Told] = {"sharding/0/instance": A, "sharding/1/instance": JAVA}
    went = {f"instances/{JAVA}": 97.0}
    (wait,) = steps(with_java, owned, since=went, boot=98.0)
    assert isinstance(wait, Look)
    assert steps(with_java, owned, since=went, boot=99.5) == rewritten(
        replace(BEFORE, alone=T - timedelta(seconds=2.5))
    )


def test_nobody_but_the_leader_writes() -> None:
    four = {"shards": 4}
    assert steps(BEFORE, {**member(B), leader.NODE: B, leader.TERM: B}, config=four) == []
    assert steps(BEFORE, {leader.TERM: B}, config=four) == []
    assert len(steps(BEFORE, member(B), config=four)) == 1


def test_where_no_python_member_leads_the_first_of_them_writes() -> None:
    nodes: dict[str, Told] = {
        **member(A),
        **member(B),
        **member(JAVA),
        leader.NODE: JAVA,
        "~gap": BEFORE.text(),
    }
    for seat in ({leader.NODE: JAVA}, {}):
        told = {**nodes, **seat}
        assert gap.warden(a_view(told, me=A))
        assert not gap.warden(a_view(told, me=B))
    java_first = "1.0.0.1@-@1"
    assert gap.warden(a_view({**nodes, f"instances/{java_first}": ""}, me=A))


def test_one_that_leaves_or_is_not_in_the_job_writes_nothing() -> None:
    four = {"shards": 4}
    assert steps(BEFORE, draining=True, config=four) == []
    assert steps(BEFORE, stopped=True, config=four) == []
    outside: dict[str, Told] = {"~gap": BEFORE.text(), "servers/10.0.0.1": "ENABLED"}
    assert list(gap.decide(a_view(outside, config=four))) == []


def test_what_makes_no_sense_is_written_anew() -> None:
    for text in ("", "x", "[]", "{}", '{"schedule": 3}', BEFORE.text().replace('"since": "', '"since": "?')):
        assert gap.read(text) is None
        view = a_view({**LED, "~gap": (text, 5)}, now=T)
        came = replace(view, local=replace(view.local, since=NOW))
        assert list(gap.decide(came)) == rewritten(replace(BEFORE, since=NOW, alone=NOW, born=NOW))


def test_it_is_read_as_it_was_written() -> None:
    whole = Gap("0/10 * * * * ? UTC", 9, frozenset({3, 1}), True, True, NOW, T, ((2, 5, NOW), (1, 1, T)))
    assert gap.read(whole.text()) == whole


def test_a_shard_counts_from_its_latest_birth_or_else_as_the_job_does() -> None:
    stands = Gap(shards=5, since=EARLIER, births=((0, 3, NOW), (2, 2, T)))
    assert [stands.counts_from(item) for item in range(5)] == [NOW, NOW, T, NOW, EARLIER]


def test_until_it_is_written_nothing_scheduled_starts() -> None:
    def started(then: str, **more: object) -> list[object]:
        nodes: dict[str, Told] = {**LED, **owned(A, A), "~gap": then}
        view = a_view(nodes, now=T, cursors={0: cursor(), 1: cursor()}, **more)  # type: ignore[arg-type]
        return [each for each in firing.decide(view) if isinstance(each, Step)]

    assert len(started(BEFORE.text())) == 1
    assert started(replace(BEFORE, schedule="0/20 * * * * ? UTC").text()) == []
    assert started(replace(BEFORE, shards=3).text()) == []
    assert started(replace(BEFORE, idle=True).text()) == []
    assert started("nonsense") == []


def test_who_was_asked_to_fire_does_so_all_the_same() -> None:
    nodes: dict[str, Told] = {**LED, **owned(A, A), "~gap": "nonsense", f"trigger/{A}": ""}
    (step,) = firing.decide(a_view(nodes, now=T, cursors={0: cursor(), 1: cursor()}))
    assert isinstance(step, Step)
    assert isinstance(step.then, Start)
    assert [each.item for each in step.then.claims] == [0, 1]


def test_a_shard_whose_enabling_is_not_written_yet_does_not_start() -> None:
    nodes: dict[str, Told] = {
        **LED,
        **owned(A, A),
        "~gap": replace(BEFORE, disabled=frozenset({0})).text(),
    }
    (step, _) = firing.decide(a_view(nodes, now=T, cursors={0: cursor(), 1: cursor()}))
    assert isinstance(step, Step)
    assert isinstance(step.then, Start)
    assert [each.item for each in step.then.claims] == [1]


def test_fires_from_before_they_counted_are_not_owed() -> None:
    for later in (replace(BEFORE, since=T), replace(BEFORE, births=((0, 1, T),))):
        view = a_view({**LED, **owned(A, A), "~gap": later.text()}, now=T + timedelta(seconds=2))
        assert due.fires(view, [0, 1]) == {}
    view = a_view({**LED, **owned(A, A), "~gap": BEFORE.text()}, now=T + timedelta(seconds=2))
    assert due.fires(view, [0, 1]) == {0: T, 1: T}
    assert BEFORE.since == LONG_AGO


def test_what_was_written_before_the_clock_was_set_back_lies_no_longer_in_the_future() -> None:
    """Else nothing would count until the clock has come there again."""
    late = NOW + timedelta(hours=1)
    before = replace(BEFORE, since=late, alone=late, births=((0, 0, late),))
    here = gap.now(a_view({**LED, **owned(A, A), "~gap": before.text()}, now=NOW))
    assert (here.since, here.alone, here.births) == (NOW, NOW, ())


def test_neighbours_that_are_enabled_together_are_remembered_together() -> None:
    before = replace(BEFORE, shards=6, disabled=frozenset({0, 1, 2, 4}), since=EARLIER)
    view = a_view({**LED, "~gap": before.text()}, config={"shards": 6})
    assert gap.now(view).births == ((0, 2, view.now), (4, 4, view.now))
