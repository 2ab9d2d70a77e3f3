"""Every change is told to the audit, whether it was made or refused; nothing else is."""

import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shardwright.errors import OperationError
from shardwright.history import open_store, queries
from shardwright.ops import audit, doctor, jobs, servers, shards, statistics
from shardwright.ops.audit import Action
from shardwright.ops.operator import Operator
from shardwright.registry import Create
from shardwright.registry.memory import Store

from .bureau import JAVA, SMALLEST, Bureau


def test_a_change_is_told_with_who_when_what_and_how_it_went(bureau: Bureau) -> None:
    bureau.of(JAVA)
    bureau.operator.update("j", {"shards": 2})
    (action,) = bureau.audit
    assert (action.who, action.what, action.target, action.detail, action.outcome) == (
        *("ann", "update", "j", "shards: 1 -> 2", "done"),
    )
    assert abs(bureau.registry.now() - action.when) < timedelta(minutes=1)
    assert json.loads(json.dumps(action.as_json()))["when"] == action.when.isoformat()


def test_what_others_wrote_begins_no_line_of_the_log_and_gives_its_readers_terminal_no_orders(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "shardwright.audit")
    audit.to_log(Action(datetime.now(UTC), "ann\n", "update", "j\r", "\x1b[2J", "no\x07"))
    (record,) = caplog.records
    assert record.getMessage() == "ann\\n: update j\\r (\\x1b[2J): no\\x07"


def test_a_change_that_is_refused_is_told_with_why(bureau: Bureau) -> None:
    with pytest.raises(OperationError):
        bureau.operator.disable("j", server="10.0.0.1")
    (action,) = bureau.audit
    assert (action.what, action.target, action.detail) == ("disable", "j, server 10.0.0.1", "")
    assert action.outcome == "there is no job 'j' in /prod; there is none at all"


def test_a_change_of_which_nobody_can_say_whether_it_was_made_is_told_so() -> None:
    store = Store()
    told: list[Action] = []
    with store.connect() as registry, store.connect() as reader:
        registry.wait(registry.commit(Create(f"{registry.namespace}/j/config", SMALLEST)))
        registry.lose_reply()
        with pytest.raises(OperationError, match=r"nobody can say whether it was done: .*; look before"):
            Operator(registry, who="ann", audit=told.append).update("j", {"shards": 2})
        assert jobs.brief(reader, "j").shards == 2
    (action,) = told
    assert action.outcome.startswith("update j: nobody can say")


def test_a_change_is_told_to_a_history_and_to_the_log(
    bureau: Bureau, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bureau.of(JAVA)
    with open_store(tmp_path / "history.db") as store, caplog.at_level(logging.INFO, "shardwright.audit"):
        Operator(bureau.registry, who="ann", audit=audit.to_history(store)).update("j", {"shards": 2})
        (noted,) = queries.audit(store)
    assert (noted.who, noted.what, noted.detail, noted.outcome) == ("ann", "update", "shards: 1 -> 2", "done")
    assert caplog.messages == ["ann: update j (shards: 1 -> 2): done"]


def test_a_secret_is_not_told(bureau: Bureau) -> None:
    bureau.of(props={"email.password": "0ld"})
    bureau.operator.update("j", {"props": {"email.password": "n3w", "email.host": "mail"}})
    assert bureau.audit[0].detail == (
        "props: {'email.password': '***'} -> {'email.password': '***', 'email.host': 'mail'}"
    )


def test_an_audit_that_fails_does_not_hide_how_the_change_went(bureau: Bureau) -> None:
    def full(action: Action) -> None:
        raise OSError("no space left")

    bureau.of(JAVA)
    operator = Operator(bureau.registry, audit=full)
    with pytest.raises(
        OperationError, match=r"disable j: done, and the audit could not be told of it: OSError"
    ):
        operator.disable("j")
    assert bureau.read("servers/192.0.2.2") == "DISABLED"
    with pytest.raises(
        OperationError, match=r"there is no job 'k' .*, and the audit could not be told of it"
    ):
        operator.disable("k")


def test_looking_is_not_told(bureau: Bureau) -> None:
    bureau.of(JAVA)
    jobs.detail(bureau.registry, "j")
    shards.of(bureau.registry, "j")
    servers.listing(bureau.registry)
    statistics.gather(bureau.registry)
    doctor.examine(bureau.registry)
    assert bureau.audit == []


def test_a_line_goes_to_the_log_where_nobody_else_is_told(
    bureau: Bureau, caplog: pytest.LogCaptureFixture
) -> None:
    bureau.of(JAVA)
    with caplog.at_level(logging.INFO, "shardwright.audit"):
        Operator(bureau.registry, who="ann").disable("j")
    assert [record.getMessage() for record in caplog.records if record.name == "shardwright.audit"] == [
        "ann: disable j (192.0.2.2 is DISABLED for the job 'j'): done"
    ]


def test_who_it_is_need_not_be_said(bureau: Bureau) -> None:
    user, _, host = Operator(bureau.registry).who.partition("@")
    assert user
    assert host


def test_somebody_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert audit.somebody().partition("@")[0].isdigit()
