"""What strangers put into names, parameters, descriptions and logs comes back as data; secrets do not."""

from urllib.parse import quote

import pytest

from shardwright.history.events import Logged
from shardwright.history.ledger import Attempt, Entry
from tests.history.fires import FIRE, ME, T, a_key
from tests.ops.bureau import PY

from .counter import Counter

SECRET = "hunter2-the-canary"
ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "{{constructor.constructor('alert(1)')()}}",
    "</title><svg/onload=alert(1)>",
    "'; drop table shardwright_ledger; --",
    "\u202egnp.exe",
    "a\u2028b",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_texts_of_strangers_come_back_as_data(desk: Counter, attack: str) -> None:
    desk.bureau.of(PY, owners={0: PY}, description=attack, parameter=attack, item_parameters={0: "x"})
    found = desk.seen(lambda answer: answer["total"] == 1)
    assert found["jobs"][0]["description"] == attack
    assert desk.viewer.get("jobs/j")["config"]["parameter"] == attack
    assert desk.viewer.get(f"jobs?search={quote(attack, safe='')}")["total"] == 1
    desk.store.write(
        [Entry(a_key(job="j"), T, (Attempt("a1", ME, began=T, ended=T, outcome="failed", failure=attack),))]
    )
    desk.store.write([], [Logged(at=T, job="j", made=7, fire=FIRE, item=0, attempt="a1", text=attack)])
    assert desk.viewer.get("history")["fires"][0]["attempts"][0]["failure"] == attack
    asked = f"job=j&made=7&fire={FIRE.replace('+', '%2B')}&shard=0&attempt=a1"
    assert desk.viewer.get(f"history/log?{asked}")["text"] == attack


@pytest.mark.parametrize(
    "attack", ["<script>alert(1)<script>", '"><img src=x onerror=alert(1)>', "..%2f", "%00"]
)
def test_a_name_that_nobody_has_is_repeated_as_data_at_most(desk: Counter, attack: str) -> None:
    for path in (f"jobs/{quote(attack, safe='')}", f"servers/{quote(attack, safe='')}"):
        assert desk.viewer.get(path, 404)["kind"] == "unknown"


def test_a_job_may_be_called_almost_anything(desk: Counter) -> None:
    name = "<b>job & 'co' \"x\" 任务"
    desk.bureau.of(PY, job=name, owners={0: PY})
    found = desk.seen(lambda answer: answer["total"] == 1)
    assert found["jobs"][0]["name"] == name
    assert desk.viewer.get(f"jobs/{name}")["brief"]["name"] == name
    assert desk.operator.post(f"jobs/{name}/disable")["target"] == name


def test_a_secret_is_in_no_answer(desk: Counter) -> None:
    desk.bureau.of(
        PY,
        owners={0: PY},
        cron="0 0 2 * * ?",
        props={"http.password": SECRET, "smtp": f"smtp://user:{SECRET}@host"},
        parameter=f"token={SECRET}",
        description=f"see https://ann:{SECRET}@example.org/",
        item_parameters={0: f"password:{SECRET}"},
    )
    desk.seen(lambda answer: answer["total"] == 1)
    changed = desk.author.patch("jobs/j/config", {"changes": {"props": {"http.password": f"{SECRET}2"}}})
    assert SECRET not in str(changed)
    difference = desk.author.post("jobs/j/config/diff", {"changes": {"parameter": f"token={SECRET}3"}})
    assert "parameter" in str(difference)
    assert SECRET not in str(difference)
    admin, namespace = desk.admin, desk.bureau.registry.namespace
    for path in (
        *(
            "statistics",
            "jobs",
            "jobs/j",
            "jobs/j/shards",
            "jobs/j/map",
            "jobs/j/dump",
            "jobs/j/preview?join=1",
        ),
        *("servers", "servers/192.0.2.4", "history", "audit", "doctor", "why?job=j", "tree", "schema"),
        *(f"tree?path={namespace}/j/config", f"tree?path={namespace}/j", "jobs/j/timeline"),
    ):
        assert SECRET not in str(admin.get(path)), path
    refused = desk.author.patch("jobs/j/config", {"changes": {"shards": f"password={SECRET}"}}, 400)
    assert SECRET not in str(refused)
    assert SECRET not in str(
        desk.author.patch("jobs/j/config", {"changes": {"cron": f"token={SECRET}"}}, 400)
    )
