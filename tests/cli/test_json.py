"""Every command that answers in JSON, with an example whose answer is what the schema says."""

import time
from pathlib import Path

import click
import pytest

from shardwright import DynamicSharding
from tests.stories.telling import PATIENCE, B

from . import schemas
from .calling import Calling
from .schemas import Document
from .test_console import PASSWORD, with_input
from .test_help import ALL
from .test_recipes import ACCOUNT, candidate, door

Examples = dict[str, tuple[type[Document], tuple[str, ...]]]

LAST = "2025-01-01T00:00:00Z"
STRETCH = ("--from", "2024-01-01T00:00:00Z", "--to", LAST, "--yes")

#: By the command's words: what it answers with, and what it is asked. In this order: what a command needs,
#: those before it leave there.
ON_JOBS: Examples = {
    "next": (schemas.Next, ("0 0 2 * * ?",)),
    "jobs": (schemas.Jobs, ()),
    "job": (schemas.Job, ("reindex",)),
    "shards": (schemas.Shards, ("reindex",)),
    "servers": (schemas.Servers, ()),
    "leader": (schemas.Leader, ("reindex",)),
    "preview": (schemas.Preview, ("reindex", "--shards", "5")),
    "dump": (schemas.Dump, ("reindex",)),
    "watch": (schemas.Watch, ()),
    "doctor": (schemas.Doctor, ()),
    "trigger": (schemas.AllDone, ("reindex",)),
    "rerun": (schemas.AllDone, ("reindex", LAST, "--shard", "1")),
    "backfill": (schemas.AllDone, ("reindex", *STRETCH, "--wait", "20")),
    "history": (schemas.Fires, ("reindex",)),
    "why": (schemas.Why, ("reindex",)),
    "config get": (schemas.Config, ("reindex",)),
    "config diff": (schemas.Diff, ("reindex", "shards=5")),
    "config set": (schemas.AllDone, ("reindex", "description=nightly")),
    "config replace": (schemas.AllDone, ("reindex", "shards=4", "cron=0 0 3 1 1 ?", "--yes")),
    "disable": (schemas.AllDone, ("reindex", "--shard", "1")),
    "enable": (schemas.AllDone, ("reindex", "--shard", "1")),
    "drain": (schemas.AllDone, ("reindex", B)),
    "shutdown": (schemas.AllDone, ("reindex", "--server", B, "--yes")),
    "remove": (schemas.AllDone, ("reindex", "--force", "--yes")),
}

ON_RECIPES: Examples = {
    "master list": (schemas.Services, ()),
    "master show": (schemas.Mastery, (ACCOUNT,)),
    "master designate": (schemas.AllDone, (ACCOUNT, "host:2")),
    "master resign": (schemas.AllDone, (ACCOUNT, "--yes")),
    "slices": (schemas.Slices, ("pages",)),
}

#: A password is asked for where one is needed.
ON_ACCOUNTS: Examples = {
    "console user add": (schemas.AllDone, ("ann", "--role", "admin")),
    "console user list": (schemas.Users, ()),
    "console user role": (schemas.AllDone, ("ann", "--role", "prod=operator")),
    "console user password": (schemas.AllDone, ("ann",)),
    "console user remove": (schemas.AllDone, ("ann",)),
}


def test_every_command_that_answers_in_json_has_an_example_here() -> None:
    in_json = {
        words
        for words, command in ALL.items()
        if not isinstance(command, click.Group)
        and any("--json" in each.opts for each in command.get_params(click.Context(command)))
    }
    assert {*ON_JOBS, *ON_RECIPES, *ON_ACCOUNTS} == in_json


def is_as_promised(calls: Calling, words: str, schema: type[Document], arguments: tuple[str, ...]) -> None:
    document = calls.document(schema, *words.split(), *arguments)
    if isinstance(document, schemas.AllDone):
        assert [done.changed for done in document.done if done.changed], words


def test_what_commands_on_jobs_answer_is_as_promised(calls: Calling) -> None:
    for words, (schema, arguments) in ON_JOBS.items():
        is_as_promised(calls, words, schema, arguments)
        if words == "backfill":  # so that there is something to be told
            end = time.monotonic() + PATIENCE
            while not calls.document(schemas.Fires, "history", "reindex").fires:
                assert time.monotonic() < end


def test_what_commands_on_recipes_answer_is_as_promised(alone: Calling) -> None:
    first, second = candidate(alone.url, 1), candidate(alone.url, 2)
    pages = DynamicSharding("pages", registry=door(alone.url, 3), address="10.0.0.1")
    with first, second, pages:
        assert first.wait(10)
        assert pages.wait(10)
        for words, (schema, arguments) in ON_RECIPES.items():
            is_as_promised(alone, words, schema, arguments)
            if words == "master designate":
                assert second.wait(10)


def test_what_commands_on_accounts_answer_is_as_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert with_input(PASSWORD, "console", "user", "add", "zoe", "--role", "admin").code == 0
    for words, (schema, arguments) in ON_ACCOUNTS.items():
        answer = with_input(PASSWORD, *words.split(), *arguments, "--json")
        assert answer.code == 0, answer
        schema.model_validate_json(answer.out, strict=True)
