"""What a job's settings say, what a change would make of them, and that a change is made or refused whole."""

import pytest

from shardwright.errors import OperationError
from shardwright.jobs import JobConfig
from shardwright.ops import settings
from shardwright.ops.settings import Change
from shardwright.registry import Put, Write

from .bureau import FULL, JAVA, SMALLEST, Bureau
from .races import just_before


def test_the_settings_of_a_job_are_read_with_their_text_and_version(any_bureau: Bureau) -> None:
    any_bureau.job(FULL, job="full")
    any_bureau.set("config", FULL, "full")
    found = settings.get(any_bureau.registry, "full")
    assert (found.config.shards, found.config.label, found.text) == (3, "lab", FULL)
    first = found.version
    any_bureau.set("config", FULL, "full")
    assert settings.get(any_bureau.registry, "full").version > first
    assert "pa55word" not in repr(found)


def test_settings_that_make_no_sense_are_refused_in_words(bureau: Bureau) -> None:
    bureau.job(SMALLEST.replace("Count: 1", "Count: 0"))
    with pytest.raises(OperationError, match="job 'j': shardingTotalCount must be at least 1, not 0"):
        settings.get(bureau.registry, "j")


def test_a_difference_is_told_setting_by_setting_and_writes_nothing(bureau: Bureau) -> None:
    bureau.of(shards=2)
    before = bureau.everything()
    found = settings.diff(bureau.registry, "j", {"shards": 4, "description": "new", "failover": False})
    assert found == (Change("shards", 2, 4), Change("description", "", "new"))
    assert [each.sentence() for each in found] == ["shards: 2 -> 4", "description: '' -> 'new'"]
    assert bureau.everything() == before


def test_a_difference_shows_no_secret(bureau: Bureau) -> None:
    bureau.of(props={"email.password": "pa55word"})
    (change,) = settings.diff(bureau.registry, "j", {"props": {"email.password": "0ther", "email.host": "h"}})
    assert change.as_json() == {
        "setting": "props",
        "old": {"email.password": "***"},
        "new": {"email.password": "***", "email.host": "h"},
    }


def test_an_update_changes_what_it_names_and_keeps_all_that_java_wrote(any_bureau: Bureau) -> None:
    any_bureau.job(FULL, JAVA, job="full")
    done = any_bureau.operator.update("full", {"shards": 5, "cron": "0 0 3 * * ?"})
    assert done.changed == ("cron: '*/5 * * * * ?' -> '0 0 3 * * ?'", "shards: 3 -> 5")
    text = any_bureau.read("config", "full")
    assert text is not None
    tracing = FULL[FULL.index("jobExtraConfigurations") : FULL.index("jobListenerTypes")]
    assert tracing in text
    assert text == settings.get(any_bureau.registry, "full").text
    expected = JobConfig.of({**dict(settings.get(any_bureau.registry, "full").config)})
    assert (expected.shards, expected.cron, expected.label, expected.strategy) == (
        *(5, "0 0 3 * * ?", "lab", "ROUND_ROBIN"),
    )


def test_an_update_keeps_a_strategy_and_settings_of_ours_that_this_version_does_not_know(
    bureau: Bureau,
) -> None:
    unknown = "jobShardingStrategyType: THEIRS\nprops:\n  shardwright.from_tomorrow: 'yes'\n"
    bureau.job(SMALLEST + unknown)
    bureau.operator.update("j", {"shards": 2})
    text = bureau.read("config")
    assert text is not None
    assert "jobShardingStrategyType: THEIRS" in text
    assert "shardwright.from_tomorrow: 'yes'" in text


def test_elasticjobs_names_are_taken_too(bureau: Bureau) -> None:
    bureau.job()
    assert bureau.operator.update("j", {"shardingTotalCount": 2}).changed == ("shards: 1 -> 2",)
    twice = "there twice, under both its names: shards is shardingTotalCount; give it once"
    with pytest.raises(OperationError, match=twice):
        bureau.operator.update("j", {"shardingTotalCount": 2, "shards": 3})


def test_an_update_that_changes_nothing_writes_nothing(bureau: Bureau) -> None:
    bureau.job()
    before = bureau.everything()
    assert bureau.operator.update("j", {"shards": 1}).changed == ()
    assert bureau.everything() == before
    assert bureau.said() == [("update", "j", "done")]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"shard": 2}, r"there is no setting 'shard' \(did you mean 'shards'\?\)"),
        ({"shards": 0}, "job 'j': shards must be at least 1, not 0"),
        ({"shards": "two"}, "shards must be a whole number"),
        ({"cron": "0 0 25 * * ?"}, "hours go from 0 to 23"),
        ({"name": "k"}, "a job's name does not change"),
        ({"props": {"shardwright.timeout": "5s"}}, "give timeout instead"),
        ({}, "there is nothing to change"),
    ],
)
def test_an_update_that_cannot_be_is_refused_and_changes_nothing(
    bureau: Bureau, changes: dict[str, object], why: str
) -> None:
    bureau.job()
    before = bureau.everything()
    with pytest.raises(OperationError, match=why):
        bureau.operator.update("j", changes)
    assert bureau.everything() == before
    ((what, target, outcome),) = bureau.said()
    assert (what, target) == ("update", "j")
    assert outcome != "done"


def test_an_update_that_comes_second_is_refused_and_the_first_stays(
    any_bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    any_bureau.job()
    first = SMALLEST.replace("Count: 1", "Count: 7")

    def meanwhile(*writes: Write) -> None:
        any_bureau.land(Put(any_bureau.path("config"), first))

    just_before(any_bureau.registry, meanwhile, monkeypatch)
    with pytest.raises(OperationError, match=r"update j: nothing was changed: .*; look again and try again"):
        any_bureau.operator.update("j", {"shards": 2})
    assert any_bureau.read("config") == first


def test_an_update_of_settings_as_they_were_read_is_refused_once_they_have_changed(bureau: Bureau) -> None:
    bureau.job()
    read = settings.get(bureau.registry, "j")
    bureau.operator.update("j", {"shards": 2}, version=read.version)
    with pytest.raises(OperationError, match="were changed since they were read"):
        bureau.operator.update("j", {"shards": 3}, version=read.version)
    assert settings.get(bureau.registry, "j").config.shards == 2


def test_an_update_of_settings_as_they_were_read_is_refused_where_the_job_was_made_anew(
    any_bureau: Bureau,
) -> None:
    any_bureau.job()
    read = settings.get(any_bureau.registry, "j")
    any_bureau.operator.remove("j")
    any_bureau.job()
    with pytest.raises(OperationError, match="were changed since they were read"):
        any_bureau.operator.update("j", {"shards": 3}, version=read.version)


def test_settings_can_be_replaced_whole_also_where_they_made_no_sense(bureau: Bureau) -> None:
    bureau.job("not: settings")
    done = bureau.operator.replace("j", JobConfig(name="j", shards=3))
    assert done.changed == ("settings that made no sense are replaced",)
    assert bureau.operator.replace("j", JobConfig(name="j", shards=4)).changed == ("shards: 3 -> 4",)
    assert settings.get(bureau.registry, "j").config == JobConfig(name="j", shards=4)
    with pytest.raises(OperationError, match="these are the settings of a job 'k', and not of 'j'"):
        bureau.operator.replace("j", JobConfig(name="k"))


def test_settings_that_are_too_long_are_refused(bureau: Bureau) -> None:
    bureau.job()
    before = bureau.everything()
    props = {f"key{number}": "x" * 16_000 for number in range(80)}
    with pytest.raises(OperationError, match=r"its document has [\d,]+ bytes"):
        bureau.operator.update("j", {"props": props})
    assert bureau.everything() == before


def test_changes_can_be_spelled_as_people_type_them() -> None:
    config = JobConfig(name="j", props={"a": "1", "b": "2"})
    typed = {
        "shards": "4",
        "failover": "yes",
        "misfire": "False",
        "timeout": "30s",
        "cron": "",
        "listeners": "one, two",
        "item_parameters": "0=a,1=b",
        "shardingTotalCount": "4",
        "props.http.uri": "https://host",
        "props.a": "",
        "retries": "2",
        "max_time_diff_seconds": "-1",
        "group": "",
    }
    assert settings.spelled(typed, config) == {
        "shards": 4,
        "failover": True,
        "misfire": False,
        "timeout": "30s",
        "cron": None,
        "listeners": ("one", "two"),
        "item_parameters": "0=a,1=b",
        "shardingTotalCount": 4,
        "props": {"b": "2", "http.uri": "https://host"},
        "retries": 2,
        "max_time_diff_seconds": -1,
        "group": None,
    }
    assert settings.after(config, settings.spelled({"shards": "4", "overlap": "queue"}, config)).shards == 4
    with pytest.raises(OperationError, match="failover must be true or false"):
        settings.after(config, settings.spelled({"failover": "perhaps"}, config))
