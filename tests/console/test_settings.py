"""Settings: what they may be, when schedules fire, what a change would do, and the change."""

import pytest

from shardwright.jobs import JobConfig
from tests.ops.bureau import PY

from .counter import Counter

SECRET = "hunter2-the-canary"


def test_the_schema_has_every_setting_that_may_be_changed_in_one_group(desk: Counter) -> None:
    answer = desk.viewer.get("schema")
    shown = [name for group in answer["groups"] for name in group["names"]]
    assert sorted(shown) == sorted(answer["schema"]["properties"])
    assert set(shown) == set(JobConfig.model_fields) - {"name", "extra_configurations"}


def test_a_schedule_is_told_in_words_with_its_fires_and_what_clock_changes_do(desk: Counter) -> None:
    answer = desk.viewer.get("schedule?expression=0+30+2+*+*+%3F&zone=Europe/Berlin")
    assert (answer["words"], answer["zone"], len(answer["fires"])) == ("At 02:30", "Europe/Berlin", 10)
    assert {each["kind"] for each in answer["cautions"]} >= {"gap"}
    saner = desk.viewer.get("schedule?expression=0+30+2+*+*+%3F&zone=Europe/Berlin&dst=continuous")
    assert saner["cautions"] != answer["cautions"]


@pytest.mark.parametrize(
    "asked",
    [
        "expression=0+0+25+*+*+%3F",
        "expression=",
        "expression=every+1s&zone=Mars",
        "expression=every+1s&dst=no",
        "",
    ],
)
def test_a_schedule_that_cannot_be_read_is_refused_in_a_sentence(desk: Counter, asked: str) -> None:
    assert desk.viewer.get(f"schedule?{asked}", 400)["kind"] == "invalid"


def test_a_change_is_compared_before_it_is_made(any_desk: Counter) -> None:
    any_desk.bureau.of(PY, owners={0: PY}, cron="0 0 2 * * ?", timeout="10m", shards=2)
    version = any_desk.viewer.get("jobs/j")["version"]
    wish = {"changes": {"shards": 4, "cron": "0 0 3 * * ?", "timeout": "5m"}, "version": version}
    answer = any_desk.author.post("jobs/j/config/diff", wish)
    assert [each["setting"] for each in answer["changes"]] == ["cron", "shards", "timeout"]
    assert answer["changes"][1] == {"setting": "shards", "old": 2, "new": 4}
    assert any_desk.viewer.get("jobs/j")["version"] == version
    done = any_desk.author.patch("jobs/j/config", wish)
    assert len(done["changed"]) == 3
    after = any_desk.viewer.get("jobs/j")
    assert after["version"] > version
    assert after["config"]["shards"] == 4


def test_settings_that_make_no_sense_are_replaced(any_desk: Counter) -> None:
    any_desk.bureau.of(PY)
    any_desk.bureau.set("config", "nonsense")
    any_desk.seen(lambda answer: answer["config"] is None, "jobs/j")
    wish = {"settings": {"shards": 3, "cron": "0 0 2 * * ?", "props.plain": "1"}}
    assert (
        any_desk.author.post("jobs/j/config/replace", {"settings": {"shards": 0}}, 400)["kind"] == "invalid"
    )
    done = any_desk.author.post("jobs/j/config/replace", wish)
    assert done["changed"] == ["settings that made no sense are replaced"]
    any_desk.seen(lambda answer: answer["config"] is not None, "jobs/j")
    config = any_desk.viewer.get("jobs/j")["config"]
    assert (config["shards"], config["cron"], config["props"]) == (3, "0 0 2 * * ?", {"plain": "1"})


def test_who_was_overtaken_is_told_to_look_again(any_desk: Counter) -> None:
    any_desk.bureau.of(PY)
    version = any_desk.viewer.get("jobs/j")["version"]
    any_desk.author.patch("jobs/j/config", {"changes": {"shards": 2}, "version": version})
    late = {"changes": {"shards": 3}, "version": version}
    assert any_desk.author.post("jobs/j/config/diff", late, 409)["kind"] == "conflict"
    assert any_desk.author.patch("jobs/j/config", late, 409)["kind"] == "conflict"
    assert any_desk.viewer.get("jobs/j")["config"]["shards"] == 2


def test_all_settings_as_they_are_shown_change_nothing(desk: Counter) -> None:
    desk.bureau.of(
        PY,
        cron="0 0 2 * * ?",
        timeout="90s",
        catch_up_max_age="1h",
        listeners=["a"],
        shards=2,
        item_parameters={0: "password:x", 1: "y"},
        parameter=f"password={SECRET}",
        props={"http.password": SECRET, "plain": "1"},
    )
    config = desk.viewer.get("jobs/j")["config"]
    shown = {name: value for name, value in config.items() if name not in ("name", "extra_configurations")}
    assert desk.author.post("jobs/j/config/diff", {"changes": shown})["changes"] == []


def test_what_was_shown_masked_stays_and_props_change_one_by_one(desk: Counter) -> None:
    desk.bureau.of(
        PY, props={"http.password": SECRET, "a": "1", "b": "2"}, shards=2, item_parameters={0: "x"}
    )
    masked = {"http.password": "***", "a": "3"}
    desk.author.patch("jobs/j/config", {"changes": {"props": masked}})
    assert SECRET in (desk.bureau.read("config") or "")
    assert desk.viewer.get("jobs/j")["config"]["props"] == {"http.password": "***", "a": "3"}
    desk.author.patch("jobs/j/config", {"changes": {"props.b": "4", "props.a": None}})
    assert desk.viewer.get("jobs/j")["config"]["props"] == {"http.password": "***", "b": "4"}
    desk.author.patch("jobs/j/config", {"changes": {"item_parameters": {"0": "x", "1": "new"}}})
    assert desk.viewer.get("jobs/j")["config"]["item_parameters"] == {"0": "x", "1": "new"}
    assert SECRET in (desk.bureau.read("config") or "")
    assert SECRET not in str(desk.viewer.get("audit"))


@pytest.mark.parametrize(
    "changes",
    [
        *({"shards": 0}, {"shards": "4"}, {"shards": None}, {"colour": "red"}, {"cron": "0 0 25 * * ?"}, {}),
        *({"name": "other"}, {"props": {"a": 1}}, {"props": {"a": "1"}, "props.b": "2"}, {"timeout": "soon"}),
        *({"item_parameters": {"x": "y"}}, {"failover": "yes"}, {"jobName": "x"}),
        {"shards": 1, "shardingTotalCount": 2},
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_is_refused_by_both(desk: Counter, changes: dict[str, object]) -> None:
    desk.bureau.of(PY)
    before = desk.bureau.everything()
    for answer in (
        desk.author.post("jobs/j/config/diff", {"changes": changes}, 400),
        desk.author.patch("jobs/j/config", {"changes": changes}, 400),
    ):
        assert answer["kind"] == "invalid"
    assert desk.bureau.everything() == before


def test_a_unix_line_is_told_where_it_belongs_in_the_words_of_the_form(desk: Counter) -> None:
    error = desk.viewer.get("schedule?expression=*/5+*+*+*+*", 400)["error"]
    assert error.endswith("for a UNIX line leave cron empty and give as schedule: crontab */5 * * * *")
