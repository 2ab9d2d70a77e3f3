"""Which registry is meant."""

import errno
import os
from pathlib import Path

import pytest

from shardwright.cli import places
from shardwright.registry.url import VARIABLE, found

from .calling import shardwright


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    monkeypatch.delenv(VARIABLE, raising=False)
    return inner


def say(folder: Path, text: str) -> None:
    (folder / "shardwright.toml").write_text(text)


def test_the_option_goes_before_the_environment_and_that_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert places.address(None) == f"sqlite://{folder}/shardwright.db" == found()
    say(folder, 'registry = "zookeeper://file"')
    assert places.address(None) == "zookeeper://file"
    monkeypatch.setenv(VARIABLE, "zookeeper://environment")
    assert places.address(None) == "zookeeper://environment"
    assert places.address("zookeeper://option") == "zookeeper://option"


@pytest.mark.parametrize(
    "call",
    [
        ["jobs", "--registry", ""],
        ["--registry", "", "jobs"],
        ["history", "--history", ""],
        ["history", "--from", ""],
        ["history", "--to", ""],
        ["next", "every 1s", "--after", ""],
    ],
)
def test_an_option_that_says_nothing_is_wrong_usage_and_no_other_place_is_taken(
    folder: Path, call: list[str]
) -> None:
    say(folder, 'registry = "zookeeper://127.0.0.1:1/another"')
    answer = shardwright(*call)
    assert (answer.code, answer.out) == (2, "")


def test_the_nearest_file_in_this_folder_or_above_counts(folder: Path) -> None:
    say(folder.parents[1], 'registry = "zookeeper://far"')
    assert places.address(None) == "zookeeper://far"
    say(folder.parent, 'registry = "zookeeper://near"')
    assert places.address(None) == "zookeeper://near"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("registry", "shardwright.toml cannot be read: "),
        ("registry = 7", 'say registry = "sqlite:///path.db"'),
        ("", 'say registry = "sqlite:///path.db"'),
        ('registri = "zookeeper://a"', "there is no setting 'registri'; there are: registry, history"),
    ],
)
def test_a_file_that_makes_no_sense_is_wrong_usage(folder: Path, text: str, why: str) -> None:
    say(folder, text)
    answer = shardwright("jobs")
    assert (answer.code, answer.out) == (2, "")
    assert why in answer.err


def test_a_file_of_another_user_is_not_believed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(folder, 'registry = "zookeeper://trap"')
    try:
        os.chown(folder / "shardwright.toml", 4711, -1)
    except PermissionError:  # only root may give files away
        monkeypatch.setattr(os, "getuid", lambda: 4711)
    answer = shardwright("jobs")
    assert answer.code == 2
    assert "belongs to another user" in answer.err


def refuse(path: Path, **options: object) -> bool:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


def test_a_folder_that_is_kept_from_this_user_says_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_file", refuse)  # as in root's own, called by another
    assert places.address(None) == f"sqlite://{folder}/shardwright.db"
    monkeypatch.setattr(Path, "exists", refuse)
    for command in (["jobs"], ["history"]):
        answer = shardwright(*command)
        assert (answer.code, answer.out) == (3, "")
        assert "is kept from this user: call this as the user of the schedulers" in answer.err


def test_a_folder_that_is_gone_says_nothing_either(folder: Path) -> None:
    folder.rmdir()
    answer = shardwright("jobs")
    assert (answer.code, answer.out) == (2, "")
    assert "the folder that this is called in is gone: name the registry" in answer.err
    assert shardwright("jobs", "--registry", "memory://x").code == 2


def test_a_file_that_is_not_there_is_not_made_by_asking(folder: Path) -> None:
    answer = shardwright("jobs")
    assert answer.code == 3
    assert f"there is no registry at {folder}/shardwright.db: name one by --registry" in answer.err
    assert list(folder.iterdir()) == []


def test_a_registry_that_does_not_answer_has_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PATIENCE", 0.5)
    answer = shardwright("jobs", "--registry", "zookeeper://127.0.0.1:1/prod")
    assert answer.code == 3
    assert answer.err.startswith("Error: zookeeper://127.0.0.1:1/prod: no ZooKeeper server answered")
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://here", "there is no registry called 'redis'"),
        ("memory://", "known to its own process only"),
        ("zookeeper://ann:hunter/2@host", "in a password / as %2F"),
    ],
)
def test_an_address_that_is_none_is_wrong_usage_and_no_password_is_repeated(url: str, why: str) -> None:
    answer = shardwright("jobs", "--registry", url)
    assert (answer.code, answer.out) == (2, "")
    assert why in answer.err
    assert "hunter" not in answer.err
