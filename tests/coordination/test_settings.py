"""Settings: who finds none writes its own, who finds some works by them."""

from dataclasses import replace

from shardwright import coordination, elasticjob
from shardwright.coordination import settings
from shardwright.coordination.step import Adopt, Create, Put, Refuse, Reject, Require, Say, Step, do
from shardwright.coordination.view import Nodes, View
from shardwright.jobs import JobConfig
from shardwright.registry.tree import Mirror

from .views import A, Told, a_view

KIND = "org.example.Reindex"


def of(**changes: object) -> JobConfig:
    """What the view's own settings are, but for some."""
    base = {"name": "job", "cron": "0/10 * * * * ?", "time_zone": "UTC", "shards": 2}
    return JobConfig.of({**base, **changes})


def text(**changes: object) -> str:
    return elasticjob.write_config(of(**changes))


def a_member(
    nodes: dict[str, Told], *, kind: str = "", declared: JobConfig | None = None, **local: object
) -> View:
    return replace(a_view(nodes, **local), kind=kind, declared=declared)  # type: ignore[arg-type]


def test_who_finds_nothing_makes_the_job_and_its_settings_in_one_commit() -> None:
    empty = Nodes(Mirror("/ns/job"), Mirror("/ns~shardwright/job/watched"))
    view = replace(a_member({}, kind=KIND, declared=of(shards=5)), tree=empty)
    mine = text(shards=5)
    assert list(settings.decide(view)) == [
        do(Create("", KIND), Create("config", mine), then=Adopt(mine, of(shards=5)))
    ]


def test_a_job_that_says_nothing_of_what_it_runs_is_told_with_the_settings() -> None:
    view = a_member({"": ("", 2)}, kind=KIND)
    assert list(settings.decide(view)) == [
        do(Put("", KIND, 2), Create("config", text()), then=Adopt(text(), of()))
    ]
    known = a_member({"": (KIND, 2)}, kind=KIND)
    assert list(settings.decide(known)) == [do(Create("config", text()), then=Adopt(text(), of()))]
    unsaid = a_member({"": ("", 2)})
    assert list(settings.decide(unsaid)) == [do(Create("config", text()), then=Adopt(text(), of()))]


def test_the_registrys_settings_win_over_those_of_our_code_which_is_said() -> None:
    view = a_member({"config": text(shards=7, overwrite=True)}, declared=of(shards=5, parameter="x"))
    assert list(settings.decide(view)) == [
        do(then=Adopt(text(shards=7, overwrite=True), of(shards=7, overwrite=True))),
        do(
            then=Say(
                "the registry's settings hold, which differ from this program's in shards, parameter; a "
                "program that declares the job with overwrite=True replaces them as it starts"
            )
        ),
    ]


def test_who_asks_to_overwrite_replaces_other_settings_as_it_starts_guarded_by_their_version() -> None:
    mine = of(shards=5, overwrite=True)
    view = a_member({"config": (text(shards=7), 4)}, declared=mine)
    written = elasticjob.write_config(mine)
    assert list(settings.decide(view)) == [do(Put("config", written, 4), then=Adopt(written, mine))]


def test_settings_that_mean_the_same_are_not_overwritten_however_they_are_put() -> None:
    mine = of(shards=5, overwrite=True)
    theirs = "# by hand\n" + elasticjob.write_config(mine)
    assert theirs != elasticjob.write_config(mine)
    view = a_member({"config": theirs}, declared=mine)
    assert list(settings.decide(view)) == [do(then=Adopt(theirs, mine))]


def test_settings_that_make_no_sense_are_overwritten_by_who_asks_to() -> None:
    mine = of(overwrite=True)
    written = elasticjob.write_config(mine)
    assert list(settings.decide(a_member({"config": ("}", 1)}, declared=mine))) == [
        do(Put("config", written, 1), then=Adopt(written, mine))
    ]


def test_overwriting_is_for_starters_later_changes_win_over_it() -> None:
    mine = of(shards=5, overwrite=True)
    view = a_member({"config": text(shards=7)}, declared=mine, adopted=elasticjob.write_config(mine))
    assert list(settings.decide(view)) == [do(then=Adopt(text(shards=7), of(shards=7)))]


def test_a_job_known_to_run_something_else_is_refused_with_a_way_out() -> None:
    for declared in (of(), of(overwrite=True)):
        view = a_member({"": "org.example.Other", "config": text()}, kind=KIND, declared=declared)
        refused = do(
            then=Refuse(
                "the job 'job' runs 'org.example.Other' and not 'org.example.Reindex': give this one another "
                "name, or remove the old job first if nobody runs it any more"
            )
        )
        assert list(settings.decide(view)) == [refused]
        assert list(coordination.decide(view)) == [refused]


def test_what_runs_conflicts_with_nobody_where_either_side_does_not_say() -> None:
    assert settings.conflict(a_member({"": "org.example.Other"}, kind=KIND)) is not None
    for theirs, ours in (("", KIND), (" \n", KIND), ("org.example.Other", ""), (KIND, KIND), ("", "")):
        view = a_member({"": theirs, "config": text()}, kind=ours)
        assert list(settings.decide(view)) == [do(then=Adopt(text(), of()))]


def test_one_that_is_in_the_job_is_not_thrown_out_by_another_name_for_what_runs() -> None:
    view = a_member({"": "org.example.Other", "config": text()}, kind=KIND, adopted=text())
    assert list(settings.decide(view)) == []


def test_a_change_at_run_time_is_taken_up() -> None:
    for change in (
        {"cron": "0/20 * * * * ?"},
        {"time_zone": "Asia/Shanghai"},
        {"shards": 3},
        {"parameter": "x"},
        {"failover": True},
        {"monitor_execution": False},
        {"cron": None},
    ):
        new = text(**change)
        view = a_member({"config": new}, adopted=text())
        assert list(settings.decide(view)) == [do(then=Adopt(new, of(**change)))]
        assert not settings.agreed(view)


def test_what_is_agreed_on_is_not_taken_up_again() -> None:
    view = a_member({"config": text()}, adopted=text())
    assert settings.agreed(view)
    assert list(settings.decide(view)) == []


def test_a_change_that_makes_no_sense_is_rejected_once_and_the_old_settings_stay() -> None:
    bad = text().replace("0/10 * * * * ?", "60 * * * * ?")
    why = "job 'job': cron '60 * * * * ?': the seconds field '60': seconds go from 0 to 59"
    assert list(settings.decide(a_member({"config": bad}, adopted=text()))) == [do(then=Reject(bad, why))]
    after = a_member({"config": bad}, adopted=bad)
    assert settings.agreed(after)
    assert list(settings.decide(after)) == []
    assert after.config == of()


def test_a_starter_that_finds_settings_that_make_no_sense_stays_out_and_says_why() -> None:
    bad = text().replace("0/10 * * * * ?", "60 * * * * ?")
    out = do(
        then=Say(
            "stays out of the job until its settings in the registry make sense: "
            "job 'job': cron '60 * * * * ?': the seconds field '60': seconds go from 0 to 59"
        )
    )
    assert list(settings.decide(a_member({"config": bad}))) == [out]
    assert list(coordination.decide(a_member({"config": bad}))) == [out]


def test_failover_without_monitoring_in_the_registry_is_read_as_java_does() -> None:
    """In Java's document it means no failover; so nothing is put up that nobody could see running."""
    odd = text(failover=True).replace("monitorExecution: true", "monitorExecution: false")
    (step,) = settings.decide(a_member({"config": odd}, adopted=text()))
    assert step == do(then=Adopt(odd, of(failover=False, monitor_execution=False)))


def test_settings_deleted_at_run_time_are_written_again_as_they_held_not_as_our_code_asks() -> None:
    view = a_member({"": KIND}, kind=KIND, declared=of(shards=9, overwrite=True), adopted="what was there")
    assert list(settings.decide(view)) == [do(Create("config", text()), then=Adopt(text(), of()))]


def test_nothing_else_is_decided_before_the_settings_are_agreed_on() -> None:
    adopt = do(then=Adopt(text(), of()))
    assert list(coordination.decide(a_member({"config": text()}))) == [adopt]
    changed = a_member({"config": text(shards=9)}, adopted=text())
    assert list(coordination.decide(changed)) == [do(then=Adopt(text(shards=9), of(shards=9)))]
    agreed = list(coordination.decide(a_member({"config": text()}, adopted=text())))
    assert do(Require(""), Create("servers/10.0.0.1", "ENABLED")) in agreed
    assert any(isinstance(each, Step) and f"~alive/{A}" in [w.path for w in each.writes] for each in agreed)
