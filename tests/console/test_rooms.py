"""The other rooms: masters and slices, the registry's nodes, the doctor."""

import pytest

from shardwright.console.roles import Role
from shardwright.ops import browsing
from shardwright.registry import Create
from tests.ops.bureau import FULL, JAVA, PY

from .counter import Counter

ROOT = "/soa/master"
ACCOUNT = "Account:1.0.0"
SECRET = "hunter2-the-canary"


# Masters and slices


def test_masters_are_listed_designated_and_have_to_resign(desk: Counter) -> None:
    desk.bureau.land(
        Create(f"{ROOT}/services/{ACCOUNT}", "host:1"),
        Create(f"{ROOT}/candidates/{ACCOUNT}/host:1"),
        Create(f"{ROOT}/candidates/{ACCOUNT}/host:2"),
    )
    (service,) = desk.viewer.get("masters")["services"]
    assert (service["service"], service["master"]) == (ACCOUNT, "host:1")
    assert service["candidates"] == ["host:1", "host:2"]
    assert desk.operator.post(f"masters/{ACCOUNT}/designate", {"address": "host:2"})["changed"]
    assert desk.viewer.get("masters")["services"][0]["master"] == "host:2"
    desk.operator.post(f"masters/{ACCOUNT}/resign")
    assert desk.viewer.get("masters")["services"][0]["master"] == "host:1"
    assert {each["what"] for each in desk.viewer.get("audit")["changes"]} == {"designate", "resign"}


def test_what_cannot_be_a_master_is_refused(desk: Counter) -> None:
    operator = desk.operator
    assert operator.post(f"masters/{ACCOUNT}/designate", {"address": "host:9"}, 404)["kind"] == "unknown"
    assert operator.post(f"masters/{ACCOUNT}/resign", {}, 404)["kind"] == "unknown"
    assert operator.post("masters/Account/designate", {"address": "host:1"}, 400)["kind"] == "invalid"
    assert operator.post(f"masters/{ACCOUNT}/designate", {}, 400)["kind"] == "invalid"


def test_what_stands_elsewhere_is_for_those_who_may_see_all_registries(desk: Counter) -> None:
    """It may be another registry's, in which they have no role."""
    assert desk.viewer.get("masters?root=/prod-masters", 403)["kind"] == "forbidden"
    wish = {"address": "host:1"}
    assert (
        desk.operator.post(f"masters/{ACCOUNT}/designate?root=/prod-masters", wish, 403)["kind"]
        == "forbidden"
    )
    assert desk.operator.post(f"masters/{ACCOUNT}/resign?root=/prod-masters", {}, 403)["kind"] == "forbidden"
    desk.bureau.land(
        Create(f"/prod-masters/services/{ACCOUNT}", "host:1"),
        Create(f"/prod-masters/candidates/{ACCOUNT}/host:1"),
        Create(f"/prod-masters/candidates/{ACCOUNT}/host:2"),
    )
    told = desk.admin.post(f"masters/{ACCOUNT}/designate?root=/prod-masters", {"address": "host:2"})
    assert told["target"] == f"/prod-masters/{ACCOUNT}"
    assert desk.viewer.get("slices?name=/prod/payroll", 404)["kind"] == "unknown"


def test_slices_are_found_and_told(any_desk: Counter) -> None:
    bureau, name = any_desk.bureau, f"slices-{any_desk.bureau.registry.namespace[1:]}"
    bureau.land(
        Create(f"/{name}/leader/sharding", ""),
        Create(f"/{name}/instances/{PY}", "", ephemeral=True),
        Create(f"/{name}/sharding/0/instance", PY),
    )
    assert name in any_desk.viewer.get("slices-known")["names"]
    told = any_desk.viewer.get(f"slices?name={name}")
    assert (told["holders"], told["waiting"], told["resharding"]) == ([PY], [], False)
    assert any_desk.viewer.get("slices?name=nosuch", 404)["kind"] == "unknown"
    assert any_desk.viewer.get("slices?name=/", 404)["kind"] == "unknown"
    assert any_desk.viewer.get("slices", 400)["kind"] == "invalid"
    assert any_desk.viewer.get(f"tree?path=/{name}")["children"] == ["instances", "leader", "sharding"]


# The registry


def test_nodes_are_shown_with_secrets_masked(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    namespace = bureau.registry.namespace
    bureau.job(FULL, JAVA, job="full")
    bureau.put({"sharding/0/instance": f"password={SECRET}"}, "full")
    assert any_desk.viewer.get("tree")["children"] == ["full"]
    config = any_desk.viewer.get(f"tree?path={namespace}/full/config")
    assert "pa55word" not in config["data"]
    assert "user: sa" in config["data"]
    assert any_desk.viewer.get(f"tree?path={namespace}/full/sharding/0/instance")["data"] == "password=***"
    member = any_desk.viewer.get(f"tree?path={namespace}/full/instances/{JAVA}")
    assert (member["ephemeral"], bool(member["owner"]), member["total"]) == (True, True, 0)


def test_what_is_beside_the_namespace_is_for_admins_of_all_registries(desk: Counter) -> None:
    desk.bureau.of()
    desk.bureau.land(Create("/others/secret-place", "x"), Create("/prodigy", "y"))
    assert "others" not in desk.viewer.get("tree?path=/")["children"]
    for path in ("/others", "/others/secret-place", "/prodigy"):
        assert desk.viewer.get(f"tree?path={path}", 404)["kind"] == "unknown"
        assert desk.as_a(Role.ADMIN).get(f"tree?path={path}", 404)["kind"] == "unknown"
        assert desk.admin.get(f"tree?path={path}")["path"] == path
    assert {"others", "prodigy"} <= set(desk.admin.get("tree?path=/")["children"])


@pytest.mark.parametrize("path", ["nowhere", "/prod/../others", "/prod//x", "/prod/", "/%00", "/prod/."])
def test_a_path_that_is_none_is_refused(desk: Counter, path: str) -> None:
    assert desk.admin.get(f"tree?path={path}", 400)["kind"] == "invalid"


def test_long_nodes_and_many_children_are_cut_and_that_is_said(desk: Counter) -> None:
    desk.bureau.of()
    desk.bureau.put({"long": "word " * 20_000})
    desk.bureau.land(*(Create(desk.bureau.path(f"many/{each:05}")) for each in range(1005)))
    long = desk.viewer.get(f"tree?path={desk.bureau.path('long')}")
    assert (long["cut"], len(long["data"]) <= browsing.MOST_BYTES) == (True, True)
    many = desk.viewer.get(f"tree?path={desk.bureau.path('many')}")
    assert (len(many["children"]), many["total"]) == (1000, 1005)


# The doctor


def test_the_doctor_finds_and_mends(any_desk: Counter) -> None:
    any_desk.bureau.of()
    any_desk.bureau.put({"leader/sharding/necessary": ""})
    any_desk.bureau.put({"~alive": ""}, "ghost")
    report = any_desk.viewer.get("doctor")
    flag = next(each for each in report["findings"] if each["kind"] == "flag")
    ghost = next(each for each in report["findings"] if each["kind"] == "left over")
    assert flag["repairable"]
    for finding in (flag, ghost):
        wish = {name: finding[name] for name in ("kind", "job", "where")}
        assert any_desk.operator.post("doctor/repair", wish)["what"] == "repair"
        assert any_desk.operator.post("doctor/repair", wish, 409)["kind"] == "conflict"
    assert any_desk.viewer.get("doctor?job=j")["costs"][0]["job"] == "j"
    assert any_desk.viewer.get("doctor?job=nosuch", 404)["kind"] == "unknown"
    assert any_desk.operator.post("doctor/repair", {"kind": "flag"}, 400)["kind"] == "invalid"
