"""The documents tell the truth: code runs, links lead somewhere, and what they list is all there is."""

import re
from datetime import timedelta
from pathlib import Path

import click
import pytest

from shardwright import durations
from shardwright.alerts import catalogue, dingtalk, feishu, ignore, log, mail, slack, throw, webhook, wechat
from shardwright.cli import main
from shardwright.errors import RegistryUrlError
from shardwright.jobs import JobConfig
from shardwright.registry import connect
from shardwright.shard import Shard

from . import prose

DOCS = prose.ROOT / "docs"
ALL = sorted(DOCS.rglob("*.md"))
GUIDES = [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]


def relative(document: Path) -> str:
    return str(document.relative_to(DOCS))


def rows(document: str) -> list[list[str]]:
    """The tables of a document, row by row."""
    lines = (DOCS / document).read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")
    ]


@pytest.mark.parametrize("document", GUIDES, ids=relative)
def test_the_code_of_a_guide_runs_and_prints_what_it_says(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "TYPES", dict(catalogue.TYPES))  # what a guide registers goes with it
    script = tmp_path / "report.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    prose.play(document, {"/opt/jobs": tmp_path, "/tmp/shardwright-guide": tmp_path})


@pytest.mark.parametrize("document", ALL, ids=relative)
def test_every_file_a_document_links_to_is_there(document: Path) -> None:
    assert prose.dead_links(document) == []


def test_the_index_leads_to_every_document_but_single_decisions() -> None:
    index = {(DOCS / link).resolve() for link in prose.LINK.findall((DOCS / "README.md").read_text())}
    wanted = {path for path in ALL if path.parent.name != "decisions" and path != DOCS / "README.md"}
    assert wanted - index == set()


@pytest.mark.parametrize("document", ALL, ids=relative)
def test_every_command_a_document_names_is_there(document: Path) -> None:
    commands = re.findall(r"(?:^|`)shardwright ([a-z]+)", document.read_text(), re.MULTILINE)
    assert [name for name in commands if main.get_command(click.Context(main), name) is None] == []


def usual(name: str) -> str:
    """What holds where a setting is not given, as the document writes it."""
    field = JobConfig.model_fields[name]
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "unset"
    if value in ("", ()) or (not isinstance(value, int | str | timedelta) and not value):
        return "none"
    return f"`{durations.text(value) if isinstance(value, timedelta) else value}`"


def test_every_setting_of_a_job_is_listed_as_it_is() -> None:
    listed = [row for row in rows("reference/jobs.md") if row[0].strip("`") in JobConfig.model_fields]
    told = {
        name: " ".join((field.description or "").split()) for name, field in JobConfig.model_fields.items()
    }
    assert {row[0].strip("`"): tuple(row[1:]) for row in listed} == {
        name: (usual(name), told[name]) for name in told
    }
    assert len(listed) == len(told)


def test_everything_a_shard_offers_is_listed() -> None:
    text = (DOCS / "reference" / "jobs.md").read_text().partition("## What a run is handed")[2]
    offered = {name for name in dir(Shard) if not name.startswith("_")} - {"cancel", "masked"}
    assert offered - set(re.findall(r"`(\w+)(?:\([^)]*\))?`", text)) == set()


@pytest.mark.parametrize(
    ("of", "address"),
    [
        ("memory", "memory://?no_such=1"),
        ("sqlite", "sqlite:///nowhere/a.db?no_such=1"),
        ("zookeeper", "zookeeper://127.0.0.1:1?no_such=1"),
    ],
)
def test_every_option_of_an_address_is_listed(of: str, address: str) -> None:
    with pytest.raises(RegistryUrlError) as refused:
        connect(address)
    there = set(str(refused.value).partition("there are ")[2].split(", "))
    table = [row for row in rows("reference/registry.md") if len(row) > 2 and row[1] in (of, "all")]
    assert {name for row in table for name in re.findall(r"`(\w+)`", row[0])} == there


def test_every_property_of_an_error_handler_is_listed() -> None:
    listed = {row[0].split("`")[1]: row[1:] for row in rows("howto/alerts.md") if row[0].startswith("`")}
    del listed["error_handler"]
    assert set(listed) == set(catalogue.TYPES)
    handlers = (dingtalk, feishu, ignore, log, mail, slack, throw, webhook, wechat)
    everywhere = ("connectTimeoutMilliseconds", "readTimeoutMilliseconds")
    told = sorted(tuple(re.findall(r"`([\w.]+)`", " ".join(row))) for row in listed.values())
    assert told == sorted(
        tuple(each.key for each in handler.PROPERTIES if not each.key.endswith(everywhere))
        for handler in handlers
    )
    assert all(f".{name}`" in (DOCS / "howto" / "alerts.md").read_text() for name in everywhere)
