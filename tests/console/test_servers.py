"""Servers: the machines, their load, and letting them work or not."""

from shardwright.registry import Create
from tests.ops.bureau import JAVA, PY, PY2

from .counter import Counter


def test_every_machine_is_told_with_its_load(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, PY2, job="a", shards=3, owners={0: PY, 1: PY, 2: PY2})
    bureau.of(PY, job="b", owners={0: PY})
    bureau.put({"sharding/0/running": PY}, "a")
    bureau.set("servers/192.0.2.4", "DISABLED", "b")
    bureau.operator.drain("a", PY2)
    keys = ("address", "instances", "jobs", "disabled", "owns", "runs", "draining")
    wanted = [("192.0.2.4", 1, 2, 1, 3, 1, 0), ("192.0.2.5", 1, 1, 0, 1, 0, 1)]
    loads = [dict(zip(keys, each, strict=True)) for each in wanted]
    told = {"servers": loads, "total": 2}
    any_desk.seen(lambda answer: answer == told, "servers")
    one = any_desk.viewer.get("servers/192.0.2.4")
    assert (one["server"], one["total"]) == (loads[0], 2)
    assert [
        (
            each["job"],
            each["status"],
            each["instances"],
            [(who["owns"], who["runs"]) for who in each["members"]],
        )
        for each in one["found"]
    ] == [("a", "OK", 1, [(2, 1)]), ("b", "DISABLED", 1, [(1, 0)])]


def test_the_jobs_of_a_machine_are_found_by_name_and_come_page_by_page(desk: Counter) -> None:
    for job in ("archive", "nightly-mail", "nightly-report"):
        desk.bureau.of(PY, job=job)
    desk.seen(lambda answer: answer["total"] == 1 and answer["servers"][0]["jobs"] == 3, "servers")

    def found(asked: str) -> tuple[list[str], int, int]:
        told = desk.viewer.get(f"servers/192.0.2.4?{asked}")
        return [each["job"] for each in told["found"]], told["total"], told["server"]["jobs"]

    assert found("search=%20NIGHT") == (["nightly-mail", "nightly-report"], 2, 3)
    assert found("offset=1&limit=1") == (["nightly-mail"], 3, 3)
    assert found("offset=3") == ([], 3, 3)
    assert found("search=nowhere") == ([], 0, 3)


def test_machines_are_found_by_address_or_job_and_come_page_by_page(desk: Counter) -> None:
    desk.bureau.of(PY, PY2, JAVA, job="nightly-report")
    desk.bureau.of(PY2, job="archive")
    desk.seen(lambda answer: answer["total"] == 3, "servers")

    def found(asked: str) -> tuple[list[str], int]:
        told = desk.viewer.get(f"servers?{asked}")
        return [each["address"] for each in told["servers"]], told["total"]

    assert found("search=2.5") == (["192.0.2.5"], 1)
    assert found("search=%20ARCH") == (["192.0.2.5"], 1)
    assert found("search=nightly") == (["192.0.2.2", "192.0.2.4", "192.0.2.5"], 3)
    assert found("search=nowhere") == ([], 0)
    assert found("offset=1&limit=1") == (["192.0.2.4"], 3)
    assert found("offset=3") == ([], 3)


def test_how_much_is_told_of_a_machine_does_not_grow_with_its_jobs(desk: Counter) -> None:
    jobs = [f"{desk.bureau.registry.namespace}/job-{number}" for number in range(500)]
    for first in range(0, len(jobs), 100):
        some = jobs[first : first + 100]
        desk.bureau.land(*(Create(f"{job}/config", "") for job in some))
        desk.bureau.land(*(Create(f"{job}/servers/192.0.2.{end}", "") for job in some for end in (4, 5)))
    desk.seen(lambda told: [each["jobs"] for each in told["servers"]] == [500, 500], "servers")
    assert len(desk.viewer.caller.get("/api/r/main/servers").body) < 300
    assert len(desk.viewer.get("servers/192.0.2.4")["found"]) == 50


def test_a_machine_is_disabled_enabled_shut_down_and_forgotten(any_desk: Counter) -> None:
    bureau, operator = any_desk.bureau, any_desk.operator
    bureau.of(PY, JAVA, job="a", owners={0: PY})
    bureau.of(PY, job="b", owners={0: PY})
    operator.post("servers/192.0.2.4/disable")
    assert {bureau.read("servers/192.0.2.4", job) for job in "ab"} == {"DISABLED"}
    operator.post("servers/192.0.2.4/enable")
    assert {bureau.read("servers/192.0.2.4", job) for job in "ab"} == {"ENABLED"}
    operator.post("servers/192.0.2.4/shutdown")
    assert (bureau.names("instances", "a"), bureau.names("instances", "b")) == ((JAVA,), ())
    operator.delete("servers/192.0.2.4")
    any_desk.seen(lambda answer: [each["address"] for each in answer["servers"]] == ["192.0.2.2"], "servers")


def test_a_machine_is_drained_of_all_its_jobs_or_of_none(desk: Counter) -> None:
    bureau = desk.bureau
    bureau.of(PY, PY2, job="a", owners={0: PY})
    bureau.of(PY, PY2, job="b", owners={0: PY})
    assert len(desk.operator.post("servers/192.0.2.4/drain")["changed"]) == 2
    assert bureau.names("~draining", "b") == (PY,)
    bureau.of(PY2, job="c", owners={0: PY2})
    assert desk.operator.post("servers/192.0.2.5/drain", {}, 409)["kind"] == "refused"
    assert bureau.names("~draining", "a") == (PY,)


def test_a_drained_machine_is_let_work_again(desk: Counter) -> None:
    bureau, operator = desk.bureau, desk.operator
    for job in "ab":
        bureau.of(PY, PY2, job=job, owners={0: PY})
    refused = operator.post("servers/192.0.2.4/undrain", {}, 409)
    assert (refused["kind"], "was drained" in refused["error"]) == ("refused", True)
    operator.post("servers/192.0.2.4/drain")
    assert len(operator.post("servers/192.0.2.4/undrain")["changed"]) == 2
    assert (bureau.names("~draining", "a"), bureau.names("~draining", "b")) == ((), ())


def test_a_machine_that_nobody_knows_is_not_found(desk: Counter) -> None:
    desk.bureau.of(PY)
    desk.seen(lambda answer: answer["total"] == 1)
    assert desk.viewer.get("servers/192.0.2.99", 404)["kind"] == "unknown"
    for what in ("enable", "disable", "shutdown", "drain", "undrain"):
        assert desk.operator.post(f"servers/192.0.2.99/{what}", {}, 404)["kind"] == "unknown"
    assert desk.operator.delete("servers/192.0.2.99", 404)["kind"] == "unknown"
