"""A job's settings: what they are if nothing is said, what cannot be, and what is never shown."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright.errors import ConfigError
from shardwright.jobs import ELASTICJOB, OURS, JobConfig
from shardwright.snakeyaml import Items, Pairs, Scalar

CANARY = "canary-5e1f"
EXTRA = Pairs(((Scalar("password"), Scalar(CANARY)),), "!tracing")


def refusal(**settings: object) -> str:
    with pytest.raises(ConfigError) as refused:
        JobConfig.of(settings)
    return str(refused.value)


# What is there


def test_with_nothing_but_a_name_a_job_has_the_defaults_of_elasticjobs_builder_and_of_ours() -> None:
    assert dict(JobConfig(name="j")) == {
        "name": "j",
        "cron": None,
        "time_zone": None,
        "shards": 1,
        "item_parameters": {},
        "parameter": "",
        "monitor_execution": True,
        "failover": False,
        "misfire": True,
        "max_time_diff_seconds": -1,
        "reconcile_interval_minutes": 10,
        "strategy": "sticky",
        "pool": None,
        "pool_key": "jobExecutorThreadPoolSizeProviderType",
        "error_handler": None,
        "listeners": (),
        "extra_configurations": (),
        "description": "",
        "props": {},
        "disabled": False,
        "overwrite": False,
        "label": None,
        "static_sharding": False,
        "schedule": None,
        "dst": None,
        "timeout": None,
        "retries": 0,
        "retry_delay": timedelta(seconds=1),
        "retry_delay_max": timedelta(minutes=5),
        "overlap": None,
        "catch_up": "skip",
        "catch_up_max_age": None,
        "catch_up_max_count": 100,
        "delivery": "at_least_once",
        "lease_lost": "stop",
        "concurrency": None,
        "group": None,
    }


def test_every_setting_is_described_for_the_forms_made_of_it() -> None:
    described = JobConfig.model_json_schema()["properties"]
    assert list(described) == list(JobConfig.model_fields)
    assert [name for name, field in described.items() if not field.get("description")] == []


def test_every_setting_has_one_place_on_the_wire() -> None:
    assert {*ELASTICJOB, *OURS.values(), "pool_key"} == set(JobConfig.model_fields)
    assert all(key.startswith("shardwright.") for key in OURS)


def test_settings_may_be_given_the_way_people_write_them() -> None:
    config = JobConfig.of(
        {
            "name": "j",
            "cron": "",
            "label": "",
            "timeout": "1h30m",
            "retry_delay": 0.5,
            "retries": "3",
            "strategy": "round_robin",
            "schedule": "every 90s",
            "item_parameters": " 0 = a b ,1=B,",
            "listeners": ["L1", "L2"],
        }
    )
    assert config == JobConfig(
        name="j",
        timeout=timedelta(minutes=90),
        retry_delay=timedelta(milliseconds=500),
        retries=3,
        strategy="ROUND_ROBIN",
        schedule="every 1m30s",
        item_parameters={1: "B", 0: "a b"},
        listeners=("L1", "L2"),
    )


def test_a_config_says_when_it_fires() -> None:
    nightly = JobConfig(name="j", cron="0 0 2 * * ?", time_zone="Asia/Shanghai").timetable()
    minutely = JobConfig(name="j", schedule="every 1m").timetable()
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert nightly is not None
    assert nightly.next(noon) == datetime(2026, 1, 1, 18, tzinfo=UTC)
    assert minutely is not None
    assert minutely.next(noon) == datetime(2026, 1, 1, 12, 1, tzinfo=UTC)
    assert JobConfig(name="j").timetable() is None


def test_the_dst_rule_is_left_to_the_kind_of_schedule_unless_given() -> None:
    summer = datetime(2026, 3, 29, 0, tzinfo=UTC)  # in Berlin 02:30 does not exist on this day
    skipped = JobConfig(name="j", cron="0 30 2 * * ?", time_zone="Europe/Berlin")
    shifted = skipped.replace(dst="continuous")
    crontab = JobConfig(name="j", schedule="crontab 30 2 * * *", time_zone="Europe/Berlin")
    fires = [
        timetable.next(summer) for each in (skipped, shifted, crontab) if (timetable := each.timetable())
    ]
    assert fires == [
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 3, 29, 1, tzinfo=UTC),
    ]


def test_the_pools_key_means_nothing_without_a_pool() -> None:
    old = JobConfig(name="j", pool_key="jobExecutorServiceHandlerType")
    assert old == JobConfig(name="j")
    assert old.replace(pool="CPU") == JobConfig(name="j", pool="CPU")
    assert old.replace(pool="CPU", pool_key="jobExecutorServiceHandlerType") != JobConfig(
        name="j", pool="CPU"
    )


# What cannot be


def test_all_faults_are_reported_at_once_and_in_words() -> None:
    assert refusal(
        name="a/b@c",
        cron="0 0 25 * * ?",
        time_zone="Asia/Shangai",
        shards=0,
        item_parameters="0=a=b",
        monitor_execution=False,
        failover=True,
        max_time_diff_seconds=2**40,
        strategy="a b",
        pool=5,
        pool_key="x",
        listeners="L1",
        extra_configurations=[1],
        description="x" * 20_000,
        props={"a": 1, 2: "x", "shardwright.retries": "3"},
        disabled=1,
        label="\ud800",
        schedule="every 10s",
        timeout="5x",
        retries="many",
        overlap="skipp",
        catch_up_max_count=0,
        concurrency=0.5,
        shard=3,
        shardingTotalCount=4,
        x=1,
    ) == "; ".join(
        [
            "job 'a/***@c': name must not contain / @",
            "cron '0 0 25 * * ?': the hours field '25': hours go from 0 to 23",
            "time_zone: time zone 'Asia/Shangai': unknown",
            "give an IANA name such as 'Europe/Berlin', or an offset such as 'GMT+08:00'",
            "shards must be at least 1, not 0",
            "item_parameters must read like 0=a,1=b: a whole number, one = and a text for each",
            "failover needs monitor_execution, because its marks show what a dead member was running",
            "max_time_diff_seconds must be at most 2147483647, not 1099511627776",
            "strategy must be a name of letters, digits, _ . and - only",
            "pool must be text",
            "pool_key must be 'jobExecutorThreadPoolSizeProviderType' or 'jobExecutorServiceHandlerType'",
            "listeners must be a list",
            "extra_configurations must be a list of YAML nodes (see shardwright.snakeyaml)",
            "description may be at most 16,000 characters long",
            "props['a'] must be text",
            "props[2] must be text",
            "disabled must be true or false",
            "label holds half a character (a lone surrogate)",
            "timeout must be a length of time such as 30s, 5m, 1h30m or 2d, of ten years at most",
            "retries must be a whole number",
            "overlap must be 'skip', 'queue', 'cancel' or 'allow'",
            "catch_up_max_count must be at least 1, not 0",
            "concurrency must be a whole number",
            "there is no setting 'shard' (did you mean 'shards'?)",
            "there is no setting 'shardingTotalCount' (did you mean 'shards'?)",
            "there is no setting 'x'",
        ]
    )


def test_a_job_needs_a_name() -> None:
    assert refusal(shards=True) == "job without a name: name is missing; shards must be a whole number"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "must not be empty, nor begin or end with a blank"),
        (" a", "must not be empty, nor begin or end with a blank"),
        (".", "must not be . or .."),
        ("..", "must not be . or .."),
        ("a/b", "must not contain /"),
        ("a@-@b", "must not contain @"),
        ("a(b)[c]{d}+*?^$|\\", "must not contain ( ) [ ] { } + * ? ^ $ | \\"),
        ("a\tb", "must not contain control characters or what else ZooKeeper refuses"),
        ("a\x9fb", "must not contain control characters or what else ZooKeeper refuses"),
        ("a\ud800", "must not contain control characters or what else ZooKeeper refuses"),
        ("a😀", "must not contain control characters or what else ZooKeeper refuses"),
        ("a~shardwright", "must not contain ~shardwright, which marks our own nodes"),
        ("a" * 101, "may be at most 100 characters long"),
        ("/" * 101, "must not contain / and may be at most 100 characters long"),
    ],
)
def test_a_name_is_one_segment_of_a_path_that_java_can_handle(name: str, fault: str) -> None:
    assert refusal(name=name).endswith(f": name {fault}")


@pytest.mark.parametrize("name", ["j", "job-1.x", "夜间报表", "a b", "...", "a" * 100, "x~y", "null"])
def test_other_names_will_do(name: str) -> None:
    assert JobConfig(name=name).name == name


@pytest.mark.parametrize(
    ("items", "fault"),
    [
        ("a", "must read like 0=a,1=b: a whole number, one = and a text for each"),
        ("0=a,,1=b", "must read like 0=a,1=b: a whole number, one = and a text for each"),
        ("0=a=", "must read like 0=a,1=b: a whole number, one = and a text for each"),
        ("x=a", "must read like 0=a,1=b: a whole number, one = and a text for each"),
        (" ", "must read like 0=a,1=b: a whole number, one = and a text for each"),
        ("0=a,0=b", "must not have item 0 twice"),
        ("0=", "must be texts that are not empty, have no blanks around them, and no , or = in them"),
        ({0: "a,b"}, "must be texts that are not empty, have no blanks around them, and no , or = in them"),
        ({0: " a"}, "must be texts that are not empty, have no blanks around them, and no , or = in them"),
        (5, "must be a mapping"),
    ],
)
def test_item_parameters_must_survive_the_way_elasticjob_writes_them(items: object, fault: str) -> None:
    assert refusal(name="j", item_parameters=items) == f"job 'j': item_parameters {fault}"


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (
            {"cron": "daily-token"},
            "cron 'daily-token': Quartz wants six or seven fields, seconds first, not 1",
        ),
        (
            {"cron": "*/5 * * * *"},
            "cron has five fields; Quartz wants six or seven, seconds first; "
            'for a UNIX line give schedule="crontab */5 * * * *"',
        ),
        (
            {"schedule": "*/5 * * * *"},
            "schedule must begin with every, crontab or once; "
            'for a UNIX line give schedule="crontab */5 * * * *"',
        ),
        (
            {"schedule": "daily"},
            "schedule must begin with every, crontab or once; give a Quartz expression as cron",
        ),
        (
            {"schedule": "once 2026-12-24"},
            "schedule: 'once 2026-12-24': add an offset, such as +00:00: 2026-12-24T00:00:00+00:00",
        ),
        ({"cron": "every 5s"}, "cron must be a Quartz expression; give others as schedule"),
        (
            {"schedule": "0 0 2 * * ?"},
            "schedule must begin with every, crontab or once; give a Quartz expression as cron",
        ),
        (
            {"cron": "0 0 2 * * ?", "schedule": "every 5s"},
            "schedule cannot stand beside cron: give one of the two",
        ),
        ({"group": "g"}, "group needs concurrency: how many shards of the group may run at once"),
        ({"concurrency": 0, "group": "g"}, "concurrency must be at least 1, not 0"),
        ({"timeout": 0}, "timeout must be more than no time at all; leave it out for no limit"),
        (
            {"props": {"shardwright.zone": "UTC", "shardwright.timeout": "5s"}},
            "props must not have 'shardwright.timeout': give timeout instead; "
            "must not have 'shardwright.zone': give time_zone instead",
        ),
        (
            {"extra_configurations": [Scalar("\ud800")]},
            "extra_configurations holds half a character (a lone surrogate)",
        ),
        ({"parameter": b"x"}, "parameter must be text"),
        ({"shards": "4"}, "shards must be a whole number"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: Mapping[str, object], fault: str) -> None:
    assert refusal(name="j", **settings) == f"job 'j': {fault}"


def test_a_config_does_not_change() -> None:
    config = JobConfig(name="j", props={"a": "b"})
    with pytest.raises(
        ConfigError, match=r"job 'j' does not change; make another one with replace\(shards=…\)"
    ):
        config.shards = 2
    with pytest.raises(TypeError):
        config.props["a"] = "c"  # type: ignore[index]
    assert config == JobConfig(name="j", props={"a": "b"})


def test_what_was_given_may_change_without_changing_the_config() -> None:
    props = {"a": "b"}
    config = JobConfig(name="j", props=props)
    props["a"] = "c"
    assert config.props == {"a": "b"}


def test_a_replaced_setting_is_checked_like_any_other() -> None:
    config = JobConfig(name="j", failover=True)
    assert config.replace(shards=4) == JobConfig(name="j", failover=True, shards=4)
    with pytest.raises(ConfigError, match="job 'j': failover needs monitor_execution"):
        config.replace(monitor_execution=False)
    with pytest.raises(ConfigError, match="there is no setting 'shardz'"):
        config.replace(shardz=1)


def test_what_is_probably_not_meant_is_said_and_allowed() -> None:
    config = JobConfig(name="j", shards=2, item_parameters={0: "a", 2: "c", -1: "z"}, schedule="every 5s")
    assert config.warnings() == (
        "item_parameters for 2, -1 are never used: shards is 2",
        "Java members cannot take part: they know no schedule but cron",
    )
    assert config.warnings(java=False) == ("item_parameters for 2, -1 are never used: shards is 2",)
    assert JobConfig(name="j").warnings() == ()


def test_a_schedule_that_surprises_is_warned_of() -> None:
    never = JobConfig(name="j", cron="0 0 0 30 2 ?").warnings()
    assert never == ("cron: '0 0 0 30 2 ?' never fires again",)
    berlin = JobConfig(name="j", cron="0 30 2 * * ?", time_zone="Europe/Berlin")
    (gap,) = berlin.warnings(after=datetime(2030, 1, 1, tzinfo=UTC))
    assert gap.startswith("cron: 2030-03-31 02:30:00 does not exist in Europe/Berlin")
    assert berlin.replace(dst="continuous").warnings() == ()
    once = JobConfig(name="j", schedule="once 2020-01-01T00:00:00+00:00").warnings()
    assert once[1] == "schedule: 'once 2020-01-01T00:00:00+00:00' never fires again"


def test_what_is_probably_misspelt_is_warned_of() -> None:
    assert JobConfig(name="j", strategy="AVG_ALOCATION").warnings() == (
        "strategy 'AVG_ALOCATION' is one of your own; did you mean 'AVG_ALLOCATION'?",
    )
    assert JobConfig(
        name="j", props={"shardwright.retrys": "3", "shardwright.from_2030": "x"}
    ).warnings() == ("props has 'shardwright.retrys', which is no setting; did you mean 'retries'?",)
    for strategy in ("sticky", "ODEVITY", "my_own", "java:AVG_ALOCATION"):
        assert JobConfig(name="j", strategy=strategy).warnings() == ()


RICH = JobConfig(
    name="j",
    shards=2,
    item_parameters={0: "a", 1: "b"},
    props={"a": "b", "c": "d"},
    listeners=("L",),
    timeout=timedelta(seconds=5),
    extra_configurations=(EXTRA,),
)


def test_a_config_can_be_hashed_copied_and_sent_to_another_process() -> None:
    for twin in (pickle.loads(pickle.dumps(RICH)), copy.copy(RICH), copy.deepcopy(RICH), RICH.model_copy()):
        assert twin == RICH
        assert hash(twin) == hash(RICH)
    same = RICH.replace(props={"c": "d", "a": "b"})
    assert {RICH, same, RICH.replace(shards=3)} == {RICH, RICH.replace(shards=3)}


def test_pydantics_own_doors_lead_to_the_same_checks_or_nowhere() -> None:
    with pytest.raises(ConfigError, match="job 'j': shards must be at least 1, not 0"):
        RICH.model_copy(update={"shards": 0})
    assert RICH.model_copy(update={"shards": 3}) == RICH.replace(shards=3)
    assert JobConfig.model_validate(dict(RICH)) == JobConfig.model_validate(RICH) == RICH
    with pytest.raises(ConfigError, match="shards must be a whole number") as refused:
        JobConfig.model_validate({"name": "j", "shards": CANARY})
    assert CANARY not in str(refused.value)
    for door in (JobConfig.model_validate_json, JobConfig.model_validate_strings):
        with pytest.raises(ConfigError, match=r"JobConfig\.of"):
            door(f'{{"name": 5, "parameter": "{CANARY}"}}')
    with pytest.raises(ConfigError, match="never made without a check"):
        JobConfig.model_construct(shards=0)
    with pytest.raises(ConfigError, match="job 'j' does not change"):
        del RICH.shards


@pytest.mark.parametrize("settings", [None, "name=j", 5, [("name", "j")], {1: 2}])
def test_settings_that_have_no_names_are_refused(settings: object) -> None:
    with pytest.raises(ConfigError, match=r"settings are a mapping by name, not|settings have names"):
        JobConfig.model_validate(settings)


def test_a_setting_called_self_is_as_unknown_as_any() -> None:
    assert refusal(name="j", self=1) == "job 'j': there is no setting 'self'"
    with pytest.raises(ConfigError, match="there is no setting 'self'"):
        RICH.replace(**{"self": 1})


JUNK = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.timedeltas()),
    st.dictionaries(st.one_of(st.text(), st.integers()), st.one_of(st.text(), st.integers()), max_size=3),
    st.lists(st.text(), max_size=3),
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*JobConfig.model_fields, "x"]), JUNK, max_size=12))
def test_whatever_is_given_there_is_a_config_or_a_config_error(settings: dict[str, object]) -> None:
    try:
        config = JobConfig.of(settings)
    except ConfigError:
        return
    assert JobConfig.of(dict(config)) == config


# What is never shown


def test_a_config_shows_what_is_not_as_usual_and_masks_its_secrets() -> None:
    config = JobConfig(
        name="j",
        shards=2,
        timeout=timedelta(minutes=5),
        parameter=f"https://me:{CANARY}@host",
        item_parameters={0: f"token:{CANARY}"},
        props={
            "email.password": CANARY,
            "email.host": "h",
            "http.uri": "${env:URI}",
            "api.key": "${env:KEY}",
        },
        extra_configurations=(Items((EXTRA,)),),
    )
    shown = (
        "name='j'{0} shards=2{0} item_parameters={{'0': 'token:***'}}{0} parameter='https://***@host'{0} "
        "props={{'email.password': '***', 'email.host': 'h', "
        "'http.uri': '${{env:URI}}', 'api.key': '${{env:KEY}}'}}"
        "{0} timeout='5m'{0} extra_configurations=[\"- !tracing\\n  password: '***'\\n\"]"
    )
    assert repr(config) == f"JobConfig({shown.format(',')})"
    assert str(config) == shown.format("")
    assert config.masked()["props"] == {
        "email.password": "***",
        "email.host": "h",
        "http.uri": "${env:URI}",
        "api.key": "${env:KEY}",
    }


@pytest.mark.parametrize(
    "setting", sorted({*JobConfig.model_fields} - {"name", "cron", "time_zone", "schedule"})
)
@pytest.mark.parametrize(
    "junk",
    [CANARY, CANARY.encode(), [CANARY], {"k": CANARY}, {"k": [CANARY]}, [EXTRA, CANARY], CANARY * 2000],
    ids=lambda junk: type(junk).__name__,
)
def test_a_secret_in_the_wrong_place_is_not_in_the_message(setting: str, junk: object) -> None:
    """Name, cron, zone and schedule are repeated, because nobody could find the fault without."""
    settings = {"name": "j", "shards": 0, "props": {"password": CANARY, "n": 1}, setting: junk}
    with pytest.raises(ConfigError) as refused:
        JobConfig.of(settings)
    assert CANARY not in str(refused.value)
    assert (refused.value.__cause__, refused.value.__context__) == (None, None)


def test_a_login_is_masked_even_where_texts_are_repeated() -> None:
    for setting in ("time_zone", "cron", "schedule", "name"):
        assert CANARY not in refusal(**{"name": "j", setting: f"https://me:{CANARY}@host"})


@pytest.mark.parametrize(
    "settings",
    [
        {"props": {"http.uri": f"https://h/run?token={CANARY}"}},
        {"parameter": f"note: password={CANARY}"},
        {"parameter": f"https://oapi.dingtalk.com/robot/send?access_token={CANARY}"},
        {"listeners": [f"https://u:{CANARY}@h", f"x?password={CANARY}"]},
        {"props": {f"password={CANARY}": "x"}},
        {"extra_configurations": [Pairs(((Scalar(f"password={CANARY}"), Scalar("x")),))]},
    ],
)
def test_a_secret_in_the_right_place_is_not_shown(settings: Mapping[str, object]) -> None:
    config = JobConfig.of({"name": "j", **settings})
    assert (
        CANARY
        not in f"{config!r} {config} {config.masked()} {config.props!r} {config.extra_configurations!r}"
    )


def test_a_secret_in_a_key_is_not_in_the_message() -> None:
    message = refusal(name="j", props={f"password={CANARY}": 1}, **{f"token={CANARY}": 1})
    assert message == "job 'j': props['password=***'] must be text; there is no setting 'token=***'"


@pytest.mark.parametrize("setting", ["cron", "schedule", "time_zone"])
@pytest.mark.parametrize(
    "text", ["password={}", "0 0 password= {} * ?", "crontab pw={} * * * *", "every pw={}"]
)
def test_a_schedule_or_a_zone_with_a_secret_in_it_is_not_repeated(setting: str, text: str) -> None:
    assert CANARY.lower() not in refusal(name="j", **{setting: text.format(CANARY)}).lower()


def test_importing_jobs_loads_no_driver_and_no_terminal() -> None:
    program = (
        "import sys, shardwright.elasticjob; print(*{'kazoo', 'rich', 'urllib3', 'click'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout.strip() == b""
    )


def test_a_setting_whose_name_is_no_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match="the name of a setting has bytes in it that are no text"):
        JobConfig.of({"name": "j", "\udcff": "1"})
