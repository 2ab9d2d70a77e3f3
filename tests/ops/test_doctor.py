"""What the doctor finds, why it says that it matters, and what its remedies do."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from shardwright.clock import SystemClock
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.errors import OperationError
from shardwright.ops import checks, doctor, looking
from shardwright.ops.doctor import Finding, Severity
from shardwright.registry import Delete, Put
from tests.zookeeper_server import Server

from .bureau import JAVA, JAVA2, PY, PY2, SMALLEST, Bureau, card
from .races import just_before_asking

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
GONE = "192.0.2.9@-@9"
GONE_PYTHON = "192.0.2.9@-@9-x"


def only(bureau: Bureau, kind: str, where: str, *, job: str = "j") -> Finding:
    """The one finding, of this kind and about this node."""
    (found,) = doctor.examine(bureau.registry).findings
    assert (found.kind, found.where) == (kind, bureau.path(where, job))
    assert found.what
    assert found.why
    assert found.advice
    return found


def mended(bureau: Bureau, finding: Finding) -> None:
    """Nothing is wrong any more, once it is repaired."""
    assert finding.repairable
    before = bureau.everything()
    bureau.operator.repair(finding)
    assert bureau.everything() != before
    assert doctor.examine(bureau.registry).findings == ()
    assert bureau.said() == [("repair", finding.where, "done")]


def not_repairable(bureau: Bureau, finding: Finding) -> None:
    before = bureau.everything()
    with pytest.raises(OperationError, match="this cannot be repaired from here"):
        bureau.operator.repair(finding)
    assert bureau.everything() == before


def test_a_job_in_order_has_no_findings_and_its_cost_is_told(any_bureau: Bureau) -> None:
    any_bureau.of(PY, PY2, shards=2, cron="0 0 2 * * ?", owners={0: PY, 1: PY2})
    any_bureau.put({"leader/election/instance": PY, "sharding/0/running": PY}, ephemeral=True)
    any_bureau.cursor(0, Cursor(at=NOON, run=Tenure(PY, "1", NOON.isoformat(), "scheduled", 1)))
    any_bureau.of(job="small")
    report = doctor.examine(any_bureau.registry)
    assert report.findings == ()
    assert report.healthy
    large, small = report.costs
    assert (large.job, small.job, small.nodes) == ("j", "small", 2)
    assert large.nodes > small.nodes
    assert large.bytes > small.bytes > 0
    assert json.loads(json.dumps(report.as_json()))["healthy"] is True
    assert doctor.examine(any_bureau.registry, "small").costs == (small,)


def test_settings_that_make_no_sense_are_found(bureau: Bureau) -> None:
    bureau.job(SMALLEST.replace("Count: 1", "Count: 0"))
    found = only(bureau, "settings", "config")
    assert "shardingTotalCount must be at least 1" in found.what
    assert not doctor.examine(bureau.registry).healthy
    not_repairable(bureau, found)


def test_a_schedule_that_never_fires_again_is_found(bureau: Bureau) -> None:
    bureau.of(schedule="once 2020-01-01T00:00:00+00:00")
    assert "has no fire after" in only(bureau, "never fires", "config").what
    assert doctor.examine(bureau.registry).healthy  # it has done what it was made for
    bureau.of(job="old", cron="0 0 0 1 1 ? 2001", time_zone="UTC")
    assert not doctor.examine(bureau.registry, "old").healthy


def test_a_schedule_that_java_members_do_not_know_is_found(bureau: Bureau) -> None:
    bureau.of(JAVA, schedule="every 10s", owners={0: JAVA})
    assert "Java members know only cron" in only(bureau, "schedule", "config").what


def test_an_instance_that_goes_with_no_session_is_found_and_taken_away(any_bureau: Bureau) -> None:
    any_bureau.of(PY, owners={0: PY})
    any_bureau.put({f"instances/{GONE}": card(GONE)})
    mended(any_bureau, only(any_bureau, "no session", f"instances/{GONE}"))


def test_a_place_in_line_that_goes_with_no_session_is_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    place = "leader/election/latch/_c_6d2c-latch-0000000000"
    bureau.put({place: ""})
    mended(bureau, only(bureau, "no session", place))


def test_a_leader_that_goes_with_no_session_is_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({"leader/election/instance": GONE})
    mended(bureau, only(bureau, "no session", "leader/election/instance"))


def test_a_leader_who_is_not_in_the_job_is_found(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({"leader/election/instance": GONE}, ephemeral=True)
    not_repairable(bureau, only(bureau, "leader", "leader/election/instance"))


def test_a_flag_that_goes_with_no_session_is_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({"leader/sharding/processing": ""})
    mended(bureau, only(bureau, "no session", "leader/sharding/processing"))


def test_a_flag_of_one_who_does_not_lead_is_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(JAVA, owners={0: JAVA})
    bureau.put({"leader/sharding/processing": ""}, ephemeral=True)
    mended(bureau, only(bureau, "flag", "leader/sharding/processing"))


def test_a_flag_of_the_leader_is_in_order(bureau: Bureau) -> None:
    bureau.of(JAVA, owners={0: JAVA})
    bureau.put({"leader/sharding/processing": "", "leader/election/instance": JAVA}, ephemeral=True)
    assert doctor.examine(bureau.registry).findings == ()


def test_a_flag_that_nobody_is_there_to_heed_is_worth_a_word(bureau: Bureau) -> None:
    bureau.of()
    bureau.put({"leader/sharding/necessary": ""})
    found = only(bureau, "flag", "leader/sharding/necessary")
    assert found.severity is Severity.NOTICE
    mended(bureau, found)


def test_shards_whose_owner_is_gone_are_found_and_a_java_leader_is_told(any_bureau: Bureau) -> None:
    any_bureau.of(JAVA, shards=3, owners={0: JAVA, 1: GONE})
    any_bureau.put({"leader/election/instance": JAVA}, ephemeral=True)
    found = only(any_bureau, "owner", "sharding/1/instance")
    assert found.what == "shards 1, 2 belong to nobody who is there"
    any_bureau.operator.repair(found)
    assert any_bureau.read("leader/sharding/necessary") == ""
    assert not only(any_bureau, "owner", "sharding/1/instance").repairable


def test_shards_of_nobody_are_in_order_where_no_server_is_to_work(bureau: Bureau) -> None:
    bureau.of(PY, disabled=True)
    bureau.set("servers/192.0.2.4", "DISABLED")
    assert doctor.examine(bureau.registry).findings == ()


def test_shards_whose_owner_is_gone_are_a_python_leaders_to_mend(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: GONE})
    bureau.put({"leader/election/instance": PY}, ephemeral=True)
    not_repairable(bureau, only(bureau, "owner", "sharding/0/instance"))


def test_a_mark_of_the_dead_is_put_up_for_failover_where_only_java_members_are(any_bureau: Bureau) -> None:
    any_bureau.of(JAVA, failover=True, owners={0: JAVA})
    any_bureau.put({"sharding/0/running": GONE})
    mended(any_bureau, only(any_bureau, "mark", "sharding/0/running"))
    assert any_bureau.read("sharding/0/running") is None
    assert any_bureau.read("leader/failover/items/0") == ""


def test_a_mark_of_the_dead_is_taken_away_in_a_job_without_failover(bureau: Bureau) -> None:
    bureau.of(owners={0: GONE})
    bureau.put({"sharding/0/running": GONE})
    mended(bureau, only(bureau, "mark", "sharding/0/running"))
    assert bureau.names("leader/failover/items") == ()


def test_a_mark_of_the_dead_is_left_to_a_python_member_who_sees_to_it(bureau: Bureau) -> None:
    bureau.of(PY, failover=True, owners={0: PY})
    bureau.put({"sharding/0/running": GONE})
    assert doctor.examine(bureau.registry).findings == ()


def test_a_mark_that_goes_with_a_session_needs_no_remedy(bureau: Bureau) -> None:
    bureau.of(JAVA, owners={0: JAVA})
    bureau.put({"sharding/0/running": GONE}, ephemeral=True)
    assert doctor.examine(bureau.registry).findings == ()


def test_a_mark_of_one_who_has_only_blinked_is_not_touched(bureau: Bureau) -> None:
    """A Java process takes its node away and makes it again at each reconnect."""
    bureau.of(JAVA, failover=True, owners={0: JAVA})
    bureau.put({"sharding/0/running": JAVA2})
    found = only(bureau, "mark", "sharding/0/running")
    bureau.join(JAVA2)
    before = bureau.everything()
    with pytest.raises(OperationError, match="nothing was changed"):
        bureau.operator.repair(found)
    assert bureau.everything() == before


def test_runs_that_were_cut_short_in_a_job_that_nobody_is_in_are_found(bureau: Bureau) -> None:
    bureau.of(shards=2, failover=True, owners={0: GONE_PYTHON, 1: GONE_PYTHON})
    bureau.cursor(1, Cursor(at=NOON, run=Tenure(GONE_PYTHON, "1", NOON.isoformat(), "scheduled", 1)))
    found = only(bureau, "unfinished", "~~cursor/1")
    assert "1 of its shards was running when the last one died: 1 for 2030-01-01T12:00:00+00:00" in found.what
    assert found.advice == "start a process that has the job: it runs it again"


def test_a_job_that_all_have_left_is_worth_a_word(bureau: Bureau) -> None:
    bureau.of(owners={0: GONE_PYTHON})
    bureau.cursor(0, Cursor(at=NOON))
    found = only(bureau, "nobody", "instances")
    assert (found.severity, found.what) == (Severity.NOTICE, "no process is in it")
    not_repairable(bureau, found)


def test_a_request_to_somebody_who_is_gone_is_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({f"trigger/{GONE}": ""})
    mended(bureau, only(bureau, "orphan", f"trigger/{GONE}"))


def test_a_job_whose_members_are_all_drained_is_found(bureau: Bureau) -> None:
    bureau.of(PY, PY2, owners={0: PY})
    bureau.put({"leader/election/instance": PY}, ephemeral=True)
    bureau.operator.drain("j", PY)
    assert doctor.examine(bureau.registry).findings == ()
    bureau.put({f"~draining/{PY2}": ""})
    found = only(bureau, "nobody", "~draining")
    assert found.severity is Severity.TROUBLE
    assert found.what.startswith(f"nobody who is in it may work: {PY}, {PY2} being drained")
    not_repairable(bureau, found)


def test_the_mark_of_one_that_was_drained_and_has_gone_is_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({f"~draining/{GONE_PYTHON}": ""})
    mended(bureau, only(bureau, "orphan", f"~draining/{GONE_PYTHON}"))


def test_shards_from_when_there_were_more_are_found_and_taken_away(bureau: Bureau) -> None:
    bureau.of(shards=1, owners={0: GONE, 1: GONE})
    mended(bureau, only(bureau, "orphan", "sharding/1"))


def test_a_disabled_server_of_nobody_is_worth_a_word_and_stays_as_an_operator_wants_it(
    any_bureau: Bureau,
) -> None:
    any_bureau.of(PY, owners={0: PY})
    any_bureau.put({"servers/192.0.2.9": "DISABLED"})
    found = only(any_bureau, "server", "servers/192.0.2.9")
    assert found.severity is Severity.NOTICE
    assert doctor.examine(any_bureau.registry).healthy
    not_repairable(any_bureau, found)


def test_one_who_was_ordered_to_stop_and_has_not_is_found(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({f"~alive/{PY2}": ""}, ephemeral=True)
    not_repairable(bureau, only(bureau, "stopping", f"~alive/{PY2}"))


def test_a_node_that_nobody_knows_is_found(bureau: Bureau) -> None:
    bureau.of()
    bureau.put({"nonsense": ""})
    not_repairable(bureau, only(bureau, "orphan", "nonsense"))


def test_what_is_no_job_is_found_in_the_namespace(bureau: Bureau) -> None:
    bureau.put({"x": ""}, "stranger")
    not_repairable(bureau, only(bureau, "no job", "", job="stranger"))


def test_what_is_ours_of_a_job_that_is_gone_is_found_and_taken_away(any_bureau: Bureau) -> None:
    any_bureau.put({"~term": PY, "~alive": "", "~~cursor/0": "{}"}, "old")
    (found,) = doctor.examine(any_bureau.registry).findings
    assert (found.kind, found.job) == ("left over", "old")
    mended(any_bureau, found)


def test_a_job_that_has_lost_its_settings_alone_is_not_said_to_be_gone(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.land(Delete(bureau.path("config")))
    assert "has no settings that we could read" in only(bureau, "no job", "").what


def test_what_is_ours_of_a_job_that_is_gone_stays_while_somebody_has_not_stopped(bureau: Bureau) -> None:
    bureau.put({f"~alive/{PY}": ""}, "old", ephemeral=True)
    (found,) = doctor.examine(bureau.registry).findings
    assert found.advice == f"wait until {PY} has stopped"
    not_repairable(bureau, found)


def test_a_remedy_for_what_has_changed_since_is_refused_and_changes_nothing(bureau: Bureau) -> None:
    bureau.of(PY, owners={0: PY})
    bureau.put({f"trigger/{GONE}": ""})
    found = only(bureau, "orphan", f"trigger/{GONE}")
    bureau.land(Put(bureau.path(f"trigger/{GONE}"), "somebody else"))
    before = bureau.everything()
    with pytest.raises(OperationError, match=r"nothing was changed: .*; look again and try again"):
        bureau.operator.repair(found)
    assert bureau.everything() == before


def test_a_large_job_is_worth_a_word(bureau: Bureau, monkeypatch: pytest.MonkeyPatch) -> None:
    bureau.of(shards=2, description="x" * 2000, owners={0: GONE, 1: GONE})
    monkeypatch.setattr(checks, "MANY_BYTES", 2000)
    assert "nodes with 2," in only(bureau, "large", "").what


class Ahead(SystemClock):
    """The clock of a machine that is ahead of all others."""

    def wall(self) -> datetime:
        return super().wall() + timedelta(seconds=500)


def test_a_clock_that_is_not_the_registrys_is_found_and_troublesome_where_a_job_minds(
    zookeeper: Server,
) -> None:
    with Bureau.on_zookeeper(zookeeper.hosts) as bureau:
        for job, most in (("easy", -1), ("lenient", 10_000), ("strict", 3)):
            bureau.of(job=job, max_time_diff_seconds=most)
        assert doctor.examine(bureau.registry).findings == ()
        bureau.registry.clock = Ahead()
        before = bureau.everything()
        (all_jobs, strict) = doctor.examine(bureau.registry).findings
        assert bureau.everything() == before
        assert not [name for name in looking.children(bureau.members, "/") if "~clock" in name]
    assert (all_jobs.kind, all_jobs.severity, all_jobs.job) == ("clock", Severity.NOTICE, "")
    assert (strict.kind, strict.severity, strict.job) == ("clock", Severity.TROUBLE, "strict")
    assert "its max_time_diff_seconds is 3" in strict.what


def test_what_is_ours_of_a_job_that_was_begun_anew_meanwhile_is_not_taken_away(any_bureau: Bureau) -> None:
    any_bureau.put({"~term": PY}, "old")
    (found,) = doctor.examine(any_bureau.registry).findings
    any_bureau.of(PY, job="old")
    before = any_bureau.everything()
    with pytest.raises(OperationError, match="nothing was changed"):
        any_bureau.operator.repair(found)
    assert any_bureau.everything() == before


def test_a_finding_is_told_in_json_without_its_remedy(bureau: Bureau) -> None:
    bureau.of()
    bureau.put({"leader/sharding/necessary": ""})
    told = json.loads(json.dumps(only(bureau, "flag", "leader/sharding/necessary").as_json()))
    assert told["repairable"] is True
    assert told["severity"] == "notice"
    assert "cure" not in told


def test_an_unknown_job_is_not_examined(bureau: Bureau) -> None:
    with pytest.raises(OperationError, match="there is no job 'k'"):
        doctor.examine(bureau.registry, "k")


@pytest.mark.parametrize("times", [2, 3])
def test_a_job_that_is_begun_while_the_doctor_looks_is_nothing_to_complain_of(
    any_bureau: Bureau, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    namespace = any_bureau.registry.namespace
    just_before_asking(
        any_bureau.registry, "names", namespace, lambda: any_bureau.of(PY), monkeypatch, times=times
    )
    assert doctor.examine(any_bureau.registry).findings == ()
    assert looking.jobs(any_bureau.registry) == ("j",)


def test_our_nodes_of_a_job_that_is_begun_meanwhile_are_not_left_over(
    any_bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = f"{any_bureau.registry.namespace}~shardwright"
    just_before_asking(any_bureau.registry, "names", ours, lambda: any_bureau.of(PY), monkeypatch)
    assert doctor.examine(any_bureau.registry).findings == ()


def test_a_job_that_is_removed_while_the_doctor_looks_has_no_trouble(
    any_bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    any_bureau.of(job="gone")

    def remove() -> None:
        any_bureau.land(Delete(any_bureau.path("config", "gone")), Delete(any_bureau.path("", "gone")))

    root = any_bureau.path("", "gone")
    just_before_asking(any_bureau.registry, "names", root, remove, monkeypatch)
    assert doctor.examine(any_bureau.registry).findings == ()
