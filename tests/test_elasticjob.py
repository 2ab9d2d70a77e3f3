"""ElasticJob's documents, both ways: what Java wrote, what Java reads, and what nobody should have written.

The fixtures named `java` were written by ElasticJob itself: 3.0.4 by its published classes, 3.0.5 as
observed by running its source.
"""

from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright import elasticjob, snakeyaml
from shardwright.elasticjob import Instance
from shardwright.errors import ConfigError
from shardwright.jobs import ELASTICJOB, JobConfig
from shardwright.snakeyaml import BOOL, INT, Pairs, Scalar
from tests.awkward import TEXTS

FIXTURES = Path(__file__).parent / "fixtures"
CANARY = "canary-5e1f"
TRACING = "tag:yaml.org,2002:org.apache.shardingsphere.elasticjob"

OF_FULL_JAVA = JobConfig(
    name="j-1.x",
    cron="*/5 * * * * ?",
    time_zone="GMT+08:00",
    shards=3,
    item_parameters={0: "a b", 1: "B", 2: "C"},
    parameter="k: v # x",
    failover=True,
    max_time_diff_seconds=30,
    reconcile_interval_minutes=5,
    strategy="ROUND_ROBIN",
    pool="SINGLE_THREAD",
    error_handler="LOG",
    listeners=("L1", "L2"),
    description="long description that goes on and on and on and on and on past eighty characters"
    " to see if the emitter folds it or not, and more words here",
    props={"script.command.line": "line1\nline2", "n": "123", "streaming.process": "true"},
    disabled=True,
    overwrite=True,
    label="lab",
    static_sharding=True,
)


def fixture(name: str) -> str:
    return (FIXTURES / name).read_bytes().decode()


def refusal(document: str | bytes, job: str | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        elasticjob.read_config(document, job=job)
    assert refused.value.__cause__ is None
    return str(refused.value)


def read(*lines: str) -> JobConfig:
    """The config in a document that says this besides the little it has to say."""
    return elasticjob.read_config("\n".join(("jobName: j", "shardingTotalCount: 1", *lines)))


def keys(config: JobConfig) -> dict[str, object]:
    """What stands in its document, as any YAML reader sees it."""
    found = yaml.safe_load(elasticjob.write_config(config))
    assert isinstance(found, dict)
    return found


def tracing(owner: str, *more: tuple[str, str, str]) -> Pairs:
    """The tracing block of the full fixtures."""
    props = [("user", "sa", snakeyaml.STR), ("url", "jdbc:h2:mem:x;DB_CLOSE_DELAY=-1", snakeyaml.STR)]
    props += [("password", "hunter2", snakeyaml.STR), *more]
    source = Pairs(
        (
            (Scalar("dataSourceClassName"), Scalar("org.h2.jdbcx.JdbcDataSource")),
            (Scalar("props"), Pairs(tuple((Scalar(key), Scalar(value, tag)) for key, value, tag in props))),
        ),
        f"{TRACING}.tracing.rdb.yaml.YamlDataSourceConfiguration",
    )
    return Pairs(
        ((Scalar("tracingStorageConfiguration"), source), (Scalar("type"), Scalar("RDB"))),
        f"{TRACING}.{owner}.yaml.YamlTracingConfiguration",
    )


# What Java writes


def test_the_smallest_document_is_javas_to_the_byte() -> None:
    assert elasticjob.write_config(JobConfig(name="j")) == fixture("config-smallest-java.yaml")


def test_all_that_elasticjob_3_0_5_can_say_is_understood() -> None:
    config = OF_FULL_JAVA.replace(extra_configurations=[tracing("kernel.tracing")])
    assert elasticjob.read_config(fixture("config-full-java-3.0.5.yaml")) == config


def test_all_that_elasticjob_3_0_4_can_say_is_understood_and_its_pool_keeps_its_key() -> None:
    more = ("maximumPoolSize", "10", INT), ("readOnly", "false", BOOL)
    config = OF_FULL_JAVA.replace(
        error_handler="EMAIL",
        props={**OF_FULL_JAVA.props, "email.password": "hunter2"},
        pool_key="jobExecutorServiceHandlerType",
        extra_configurations=[tracing("tracing", *more)],
    )
    assert elasticjob.read_config(fixture("config-full-java-3.0.4.yaml")) == config


@pytest.mark.parametrize("version", ["3.0.4", "3.0.5"])
def test_a_full_document_is_written_back_as_it_was_but_for_the_order_of_props(version: str) -> None:
    document = fixture(f"config-full-java-{version}.yaml")
    written = elasticjob.write_config(elasticjob.read_config(document))
    assert sorted(written.splitlines()) == sorted(document.splitlines())


def test_awkward_texts_are_read_as_java_meant_them() -> None:
    config = elasticjob.read_config(fixture("config-awkward-java.yaml"))
    assert config.props == {f"k{number}": text for number, text in enumerate(TEXTS)}


def test_awkward_texts_are_written_as_java_was_seen_to_read_them() -> None:
    """If this fails, the writing has changed: ask a real SnakeYAML before changing the fixture."""
    config = JobConfig(name="awkward", props={f"k{number}": text for number, text in enumerate(TEXTS)})
    assert elasticjob.write_config(config) == fixture("config-awkward-python.yaml")


def test_absent_keys_mean_what_an_empty_java_bean_has() -> None:
    assert read() == JobConfig(name="j", monitor_execution=False, misfire=False, reconcile_interval_minutes=0)


def test_keys_without_a_value_are_absent_if_they_hold_text() -> None:
    nothing = (
        "cron:",
        "label: ~",
        "description: null",
        "jobParameter:",
        "timeZone: ''",
        "shardingItemParameters:",
    )
    assert read(*nothing) == read()


def test_json_is_a_document_too() -> None:
    assert elasticjob.read_config('{"jobName": "j", "shardingTotalCount": 2, "misfire": true}').shards == 2


def test_failover_without_monitoring_does_nothing_in_java_and_is_read_as_none() -> None:
    assert read("failover: true") == read()
    assert read("failover: true", "monitorExecution: true").failover


# What we write


def test_only_elasticjobs_keys_are_written_and_none_without_a_value() -> None:
    every = OF_FULL_JAVA.replace(extra_configurations=[tracing("tracing")], retries=3, time_zone="Asia/Tokyo")
    written = snakeyaml.read(elasticjob.write_config(every))
    assert isinstance(written, Pairs)
    assert [key.value for key, _ in written.value] == sorted(ELASTICJOB.values())
    assert keys(JobConfig(name="j", label="", cron="")) == keys(JobConfig(name="j"))


def test_our_own_settings_stand_among_the_props_as_far_as_they_are_not_as_usual() -> None:
    config = JobConfig(
        name="j",
        props={"a": "b"},
        schedule="every 90s",
        dst="continuous",
        timeout=timedelta(minutes=5),
        retries=3,
        retry_delay=timedelta(0),
        retry_delay_max=timedelta(seconds=1.5),
        overlap="queue",
        catch_up="all",
        catch_up_max_age=timedelta(days=1),
        catch_up_max_count=7,
        delivery="at_most_once",
        lease_lost="continue",
        concurrency=2,
        group="reports",
        strategy="by_customer",
        time_zone="Europe/Berlin",
    )
    assert keys(config)["props"] == {
        "a": "b",
        "shardwright.catch_up": "all",
        "shardwright.catch_up_max_age": "1d",
        "shardwright.catch_up_max_count": "7",
        "shardwright.concurrency": "2",
        "shardwright.delivery": "at_most_once",
        "shardwright.dst": "continuous",
        "shardwright.group": "reports",
        "shardwright.lease_lost": "continue",
        "shardwright.overlap": "queue",
        "shardwright.retries": "3",
        "shardwright.retry_delay": "0s",
        "shardwright.retry_delay_max": "1.5s",
        "shardwright.schedule": "every 1m30s",
        "shardwright.strategy": "by_customer",
        "shardwright.timeout": "5m",
        "shardwright.zone": "Europe/Berlin",
    }
    assert elasticjob.read_config(elasticjob.write_config(config)) == config


def test_settings_of_a_newer_version_are_carried_along() -> None:
    config = read("props: {shardwright.warp: '9', a: b}")
    assert config.props == {"shardwright.warp": "9", "a": "b"}
    assert elasticjob.read_config(elasticjob.write_config(config)) == config


@pytest.mark.parametrize(
    ("zone", "time_zone", "ours"),
    [
        (None, None, None),
        ("GMT+8", "GMT+8", None),
        ("GMT", "GMT", None),
        ("Asia/Shanghai", "GMT+08:00", "Asia/Shanghai"),
        ("Asia/Kathmandu", "GMT+05:45", "Asia/Kathmandu"),
        ("America/Phoenix", "GMT-07:00", "America/Phoenix"),
        ("Asia/Almaty", "GMT+05:00", "Asia/Almaty"),
        ("UTC", "GMT+00:00", "UTC"),
        ("Europe/Berlin", None, "Europe/Berlin"),
        ("Africa/Casablanca", None, "Africa/Casablanca"),
    ],
)
def test_a_zone_is_written_so_that_java_is_right_or_at_least_not_refused(
    zone: str | None, time_zone: str | None, ours: str | None
) -> None:
    config = JobConfig(name="j", time_zone=zone)
    written = keys(config)
    props = written.get("props", {})
    assert isinstance(props, dict)
    assert (written.get("timeZone"), props.get("shardwright.zone")) == (time_zone, ours)
    assert elasticjob.read_config(elasticjob.write_config(config)) == config


@pytest.mark.parametrize(
    ("lines", "zone"),
    [
        (("timeZone: GMT+09:00", "props: {shardwright.zone: Asia/Shanghai}"), "GMT+09:00"),
        (("timeZone: GMT+8", "props: {shardwright.zone: Asia/Shanghai}"), "Asia/Shanghai"),
        (("timeZone: GMT+02:00", "props: {shardwright.zone: Europe/Berlin}"), "Europe/Berlin"),
        (("props: {shardwright.zone: Europe/Berlin}",), "Europe/Berlin"),
        (("timeZone: GMT+01:00",), "GMT+01:00"),
    ],
)
def test_a_zone_of_ours_counts_unless_elasticjobs_key_says_something_else(
    lines: tuple[str, ...], zone: str
) -> None:
    assert read(*lines).time_zone == zone


def test_a_cron_that_java_goes_by_counts_more_than_a_schedule_of_ours() -> None:
    both = read("cron: 0 0 2 * * ?", "props: {shardwright.schedule: every 10s}")
    assert (both.cron, both.schedule) == ("0 0 2 * * ?", None)


@pytest.mark.parametrize(
    ("strategy", "key", "ours"),
    [
        ("sticky", None, None),
        ("odevity", "ODEVITY", None),
        ("AVG_ALLOCATION", "AVG_ALLOCATION", None),
        ("by_customer", None, "by_customer"),
        ("java:Their Own", "Their Own", None),
    ],
)
def test_elasticjobs_key_holds_a_strategy_only_if_java_has_it(
    strategy: str, key: str | None, ours: str | None
) -> None:
    config = JobConfig(name="j", strategy=strategy)
    written = keys(config)
    props = written.get("props", {})
    assert isinstance(props, dict)
    assert (written.get("jobShardingStrategyType"), props.get("shardwright.strategy")) == (key, ours)
    assert elasticjob.read_config(elasticjob.write_config(config)) == config


def test_a_strategy_that_java_goes_by_counts_more_than_ours() -> None:
    ours = "props: {shardwright.strategy: by_customer}"
    assert read(ours).strategy == "by_customer"
    assert read(ours, "jobShardingStrategyType: round_robin").strategy == "ROUND_ROBIN"
    assert read(ours, "jobShardingStrategyType: Their Own").strategy == "java:Their Own"


@pytest.mark.parametrize("key", ["jobExecutorServiceHandlerType", "jobExecutorThreadPoolSizeProviderType"])
def test_the_pool_is_written_back_under_the_key_it_was_found(key: str) -> None:
    config = read(f"{key}: CPU")
    assert config.pool == "CPU"
    assert keys(config)[key] == "CPU"


def test_a_new_pool_is_written_under_the_newer_key_unless_told_otherwise() -> None:
    new = JobConfig(name="j", pool="CPU")
    assert keys(new)["jobExecutorThreadPoolSizeProviderType"] == "CPU"
    assert (
        keys(new.replace(pool_key="jobExecutorServiceHandlerType"))["jobExecutorServiceHandlerType"] == "CPU"
    )


def test_a_config_whose_document_nobody_would_read_is_not_written() -> None:
    config = JobConfig(name="j", props={f"k{number}": "x" * 16_000 for number in range(5)})
    with pytest.raises(ConfigError, match=r"job 'j': its document has 80,\d\d\d bytes, 65,536 are allowed"):
        elasticjob.write_config(config)


# What nobody should have written


def test_all_faults_of_a_document_are_reported_at_once_by_the_names_it_uses() -> None:
    document = """
        jobName: j
        shardingTotalCount: 0
        shards: 4
        failOver: true
        misfire: maybe
        maxTimeDiffSeconds: soon
        timeZone: Asia/Shanghai
        jobListenerTypes: L1
        jobExtraConfigurations: ~
        cron: nightly
        props: {a: ~, b: 2001-01-01, shardwright.timeout: x, shardwright.retries: -1}
        jobExecutorServiceHandlerType: CPU
        jobExecutorThreadPoolSizeProviderType: CPU
        label: !!java.net.URL [http://x]
    """
    assert refusal(document) == "; ".join(
        [
            "job 'j': there is no setting 'shards' (did you mean 'shardingTotalCount'?)",
            "there is no setting 'failOver' (did you mean 'failover'?)",
            "misfire must be true or false",
            "maxTimeDiffSeconds must be a whole number of at most 32 bits",
            "jobListenerTypes must be a list",
            "jobExtraConfigurations must be a list",
            "props['a'] must have a value",
            "props['b'] reads as a date, a number or a sign that Java makes no text of: put it in quotes",
            "label must be text",
            "jobExecutorServiceHandlerType and jobExecutorThreadPoolSizeProviderType cannot both be there",
            "timeZone must begin with GMT, or Java refuses it",
            "shardwright.zone takes any zone",
            "cron 'nightly': Quartz wants six or seven fields, seconds first, not 1",
            "shardingTotalCount must be at least 1, not 0",
            "shardwright.timeout must be a length of time such as 30s, 5m, 1h30m or 2d, of ten years at most",
            "shardwright.retries must be at least 0, not -1",
        ]
    )


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (("jobListenerTypes: ~",), "jobListenerTypes must be a list"),
        (("jobListenerTypes: [a, ~]",), "jobListenerTypes must not have an empty entry"),
        (("jobExtraConfigurations: ~",), "jobExtraConfigurations must be a list"),
        (("props: ~",), "props must be a mapping"),
        (("props: {1: a}",), "props has a key that is not text: put it in quotes"),
        (("failover: ~",), "failover must be true or false"),
        (("label: !!java.net.URL x",), "label must be text"),
        (("props: {a: !!java.net.URL x}",), "props['a'] must be text"),
        (
            ("props: {shardwright.overlap: x}",),
            "shardwright.overlap must be 'skip', 'queue', 'cancel' or 'allow'",
        ),
        (("props: {shardwright.retries: '-1'}",), "shardwright.retries must be at least 0, not -1"),
        (("props: {shardwright.strategy: 'a b'}",), "shardwright.strategy must be a name"),
        (("props: {shardwright.zone: Foo}",), "shardwright.zone: time zone 'Foo': unknown"),
        (("timeZone: GMT+99", "props: {shardwright.zone: UTC}"), "timeZone: time zone 'GMT+99'"),
        (("shardingItemParameters: x",), "shardingItemParameters must read like 0=a,1=b"),
    ],
)
def test_a_fault_is_named_by_its_key(lines: tuple[str, ...], fault: str) -> None:
    document = "\n".join(("jobName: j", "shardingTotalCount: 1", *lines))
    assert refusal(document).startswith(f"job 'j': {fault}")


@pytest.mark.parametrize(
    ("document", "job", "reason"),
    [
        ("", None, "the config document is empty"),
        ("", "j", "job 'j': its config document is empty"),
        ("- a", None, "the config document must be a mapping"),
        ("jobName: j\njobName: j\n", None, "the config document has the key 'jobName' twice"),
        ("jobName: j\n", None, "job 'j': shardingTotalCount is missing"),
        ("shardingTotalCount: 1\n", None, "job without a name: jobName is missing"),
        (
            "jobName: k\nshardingTotalCount: 1\n",
            "j",
            "job 'j': jobName is not 'j', although this is that job's document",
        ),
        ("!!x {jobName: j}", None, "the config document must be a mapping"),
        (b"\xff", None, "the config document is not UTF-8 text"),
        ("x" * 70_000, None, "the config document is longer than 65,536 bytes, the most that is read"),
    ],
)
def test_a_document_that_is_no_config_is_refused_with_the_reason(
    document: str | bytes, job: str | None, reason: str
) -> None:
    assert refusal(document, job) == reason


@pytest.mark.timeout(20)
def test_thousands_of_faults_take_little_time_and_make_a_short_message() -> None:
    strange = "".join(f"k{number}: x\n" for number in range(3000))
    props = "props:\n" + "".join(f"  k{number}: ~\n" for number in range(3000))
    message = refusal(strange + props)
    assert len(message) < 5000
    assert message.startswith("job without a name: there is no setting 'k0'; there is no setting 'k1'; ")
    assert "; nor are there 2,990 others of those it names; props['k0'] must have a value; " in message
    assert message.endswith("; and 2,973 more faults")


@pytest.mark.parametrize("key", sorted({*ELASTICJOB.values()} - {"jobName", "cron"}))
@pytest.mark.parametrize(
    "value", [CANARY, f"[{CANARY}, [{CANARY}]]", f"{{k: {CANARY}, l: [{CANARY}]}}", f"!x {CANARY}"]
)
def test_no_message_repeats_a_value_of_the_document(key: str, value: str) -> None:
    assert CANARY not in refusal(f"jobName: a/b\nprops2: {CANARY}\n{key}: {value}\n")


# Members


def test_a_member_says_what_java_members_say() -> None:
    member = Instance("192.0.2.2@-@25555", "192.0.2.2")
    document = "jobInstanceId: 192.0.2.2@-@25555\nserverIp: 192.0.2.2\n"
    assert elasticjob.write_instance(member) == document
    assert elasticjob.read_instance(document) == member


def test_labels_stand_between_the_two() -> None:
    member = Instance("a@-@1", "a", labels="yes")
    assert elasticjob.write_instance(member) == "jobInstanceId: a@-@1\nlabels: 'yes'\nserverIp: a\n"
    assert elasticjob.read_instance(elasticjob.write_instance(member)) == member


def test_a_member_may_say_more_than_we_know_or_leave_its_address_to_its_id() -> None:
    assert elasticjob.read_instance("jobInstanceId: 192.0.2.2@-@1\nmood: {a: [1]}\n") == Instance(
        "192.0.2.2@-@1", "192.0.2.2"
    )


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("", "the instance's document is empty"),
        ("serverIp: a", "the instance's document has no jobInstanceId"),
        ("jobInstanceId: [a]", "the instance's document must be text"),
        ("TRIGGER", "the instance's document must be a mapping"),
    ],
)
def test_a_member_without_an_id_is_refused(document: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        elasticjob.read_instance(document)
    assert str(refused.value) == reason


# Whatever comes


TEXT = st.one_of(st.sampled_from(TEXTS), st.text(max_size=30))
WORD = TEXT.filter(lambda text: 0 < len(text) <= 500)
BLANK = "".join(map(chr, range(33)))
ITEM = TEXT.filter(lambda text: text == text.strip(BLANK) != "" and not {",", "="} & {*text})
CONFIGS = st.fixed_dictionaries(
    {"name": st.sampled_from(["j", "yes", "null", "1e3", "2001-01-01", "夜间", "a b", "~"])},
    optional={
        "cron": st.sampled_from(["0 0 2 * * ?", "*/5 * * * * ?"]),
        "time_zone": st.sampled_from(["GMT+08:00", "Asia/Shanghai", "Europe/Berlin"]),
        "shards": st.integers(1, 1000),
        "item_parameters": st.dictionaries(st.integers(-3, 9), ITEM, max_size=3),
        **dict.fromkeys(("parameter", "description"), TEXT),
        **dict.fromkeys(("label", "error_handler", "pool"), WORD),
        **dict.fromkeys(("failover", "misfire", "disabled", "overwrite", "static_sharding"), st.booleans()),
        **dict.fromkeys(
            ("max_time_diff_seconds", "reconcile_interval_minutes"), st.integers(-(2**31), 2**31 - 1)
        ),
        "pool_key": st.sampled_from(
            ["jobExecutorThreadPoolSizeProviderType", "jobExecutorServiceHandlerType"]
        ),
        "strategy": st.sampled_from(["sticky", "ODEVITY", "mine", "java:Their Own"]),
        "listeners": st.lists(WORD, max_size=3),
        "props": st.dictionaries(WORD, TEXT, max_size=4),
        "timeout": st.timedeltas(timedelta(microseconds=1), timedelta(days=3000)),
        "retries": st.integers(0, 1000),
        "catch_up": st.sampled_from(["skip", "once", "all"]),
    },
)


@settings(max_examples=60, deadline=None)
@given(CONFIGS)
def test_every_config_reads_back_as_itself(values: dict[str, object]) -> None:
    config = JobConfig.of(values)
    assert elasticjob.read_config(elasticjob.write_config(config), job=config.name) == config


YAMLISH = st.recursive(
    st.one_of(
        TEXT.map(repr),
        st.sampled_from(["~", "!!x y", "*a", "&a b", "<<", "- ", "? ", "|", "'", '"', "[", "{"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(st.tuples(inner, inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=6,
)
LINES = st.lists(
    st.tuples(st.one_of(st.sampled_from([*ELASTICJOB.values(), "x", "<<"]), YAMLISH), YAMLISH), max_size=5
).map(lambda pairs: "".join(f"{key}: {value}\n" for key, value in pairs))


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(),
        st.text(),
        YAMLISH,
        LINES,
        LINES.map(lambda more: f"jobName: j\nshardingTotalCount: 1\n{more}"),
    )
)
def test_whatever_is_read_there_is_a_config_or_a_config_error(document: str | bytes) -> None:
    for read_any in (elasticjob.read_config, elasticjob.read_instance):
        try:
            found = read_any(document)
        except ConfigError:
            continue
        if isinstance(found, JobConfig):
            assert elasticjob.read_config(elasticjob.write_config(found)) == found


@pytest.mark.parametrize("document", [None, 5, [], {"jobName": "j"}])
def test_what_is_no_document_at_all_is_refused(document: object) -> None:
    for read in (elasticjob.read_config, elasticjob.read_instance):
        with pytest.raises(ConfigError, match=r"document must be text or bytes, not \w+"):
            read(document)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "document",
    [
        "jobName: j\nshardingTotalCount: 1\npassword=hunter2: 1\n",
        "password=hunter2: 1\npassword=hunter2: 1\n",
        "jobName: j\nshardingTotalCount: 1\nprops:\n  password=hunter2: null\n",
        "jobName: j\nshardingTotalCount: 1\nprops:\n  shardwright.zone: password=hunter2\n",
    ],
)
def test_a_secret_in_a_key_or_a_zone_is_not_in_the_message(document: str) -> None:
    with pytest.raises(ConfigError) as refused:
        elasticjob.read_config(document)
    assert "hunter2" not in str(refused.value)
