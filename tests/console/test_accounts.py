"""Who may sign in: the accounts, and the file they are kept in."""

import json
import os
import stat
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shardwright.clock import HandClock
from shardwright.console import accounts as module
from shardwright.console.accounts import AccountError, Accounts, AccountsFileError, UnknownAccount
from shardwright.console.roles import Role

PASSWORD = "correct horse battery"
ADMIN = {"*": "admin"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "accounts.json"


@pytest.fixture
def accounts(file: Path) -> Accounts:
    return Accounts(file, HandClock())


def test_an_account_is_found_again_by_whoever_opens_the_file(accounts: Accounts, file: Path) -> None:
    accounts.add("ann", PASSWORD, {"*": "admin", "test": "viewer"})
    found = Accounts(file, HandClock()).find("ann")
    assert found is not None
    assert (found.name, found.created) == ("ann", datetime(2030, 1, 1, tzinfo=UTC))
    assert found.roles == {"*": Role.ADMIN, "test": Role.VIEWER}


def test_the_file_is_for_its_owner_only_and_holds_no_password(accounts: Accounts, file: Path) -> None:
    before = os.umask(0)
    try:
        accounts.add("ann", PASSWORD, ADMIN)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert PASSWORD not in file.read_text()
    assert "scrypt$32768$8$1$" in file.read_text()
    assert [each.name for each in file.parent.iterdir() if each.suffix not in (".json", ".lock")] == []


def test_two_alike_passwords_are_kept_differently_and_no_repr_shows_one(accounts: Accounts) -> None:
    ann, bob = accounts.add("ann", PASSWORD, ADMIN), accounts.add("bob", PASSWORD, ADMIN)
    assert ann.password != bob.password
    assert "scrypt" not in repr(ann)


def test_only_the_right_password_is_right(accounts: Accounts) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    ann = accounts.verified("ann", PASSWORD)
    assert ann is not None
    assert ann.name == "ann"
    for wrong in ("", PASSWORD + " ", PASSWORD.upper(), "x" * 5000, "half \ud800 a character"):
        assert accounts.verified("ann", wrong) is None
    assert accounts.verified("bob", PASSWORD) is None


def test_a_user_who_is_not_there_takes_as_long_as_a_wrong_password(accounts: Accounts) -> None:
    accounts.add("ann", PASSWORD, ADMIN)

    def seconds(user: str) -> float:
        """Of work: on a busy machine it may take longer."""
        begin = time.thread_time()
        accounts.verified(user, "not the password")
        return time.thread_time() - begin

    turns = [(seconds("ann"), seconds("nobody")) for _ in range(5)]
    known, unknown = map(min, zip(*turns, strict=True))
    assert 0.5 < known / unknown < 2.0


@pytest.mark.parametrize("name", ["", " ann", "a/b", "ann\n", "<b>", "x" * 101, "-ann", ".."])
def test_a_name_that_cannot_be_is_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(AccountError, match="cannot be the name of a user"):
        accounts.add(name, PASSWORD, ADMIN)


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short", "at least 12 characters"),
        ("x" * 1025, "at most 1,024 characters"),
        ("aaaaaaaaaaaaaaaa", "too easy to guess"),
        ("annabel.martin", "too easy to guess"),
        ("half a \ud800 character", "half a character"),
    ],
)
def test_a_password_that_is_none_is_refused_and_not_repeated(
    accounts: Accounts, password: str, why: str
) -> None:
    with pytest.raises(AccountError, match=why) as refused:
        accounts.add("annabel.martin", password, ADMIN)
    assert password not in str(refused.value)


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        ({}, "at least one role"),
        ({"*": "king"}, "there are viewer, operator, author, admin"),
        ({"a b": "viewer"}, "no name of a registry"),
    ],
)
def test_roles_that_make_no_sense_are_refused(accounts: Accounts, roles: dict[str, str], why: str) -> None:
    with pytest.raises(AccountError, match=why):
        accounts.add("ann", PASSWORD, roles)


def test_there_is_always_somebody_who_can_make_accounts(accounts: Accounts) -> None:
    with pytest.raises(AccountError, match="somebody has to be admin of all registries"):
        accounts.add("ann", PASSWORD, {"test": "admin"})
    accounts.add("ann", PASSWORD, ADMIN)
    with pytest.raises(AccountError, match="somebody has to be admin"):
        accounts.remove("ann")
    with pytest.raises(AccountError, match="somebody has to be admin"):
        accounts.set_roles("ann", {"*": "author"})
    accounts.add("bob", PASSWORD, ADMIN)
    accounts.remove("ann")
    assert [each.name for each in accounts.all()] == ["bob"]


def test_an_account_is_made_once_and_the_first_only_where_there_is_none(accounts: Accounts) -> None:
    accounts.add("ann", PASSWORD, ADMIN, only_if_none=True)
    with pytest.raises(AccountError, match="there is an account 'ann' already"):
        accounts.add("ann", PASSWORD, ADMIN)
    with pytest.raises(AccountError, match="there is an account already"):
        accounts.add("eve", PASSWORD, ADMIN, only_if_none=True)


def test_an_account_that_is_not_there_cannot_be_changed(accounts: Accounts) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    for change in (
        lambda: accounts.remove("bob"),
        lambda: accounts.set_password("bob", PASSWORD),
        lambda: accounts.set_roles("bob", ADMIN),
    ):
        with pytest.raises(UnknownAccount, match="there is no account 'bob'"):
            change()


def test_the_stamp_is_another_one_as_soon_as_anything_is(accounts: Accounts) -> None:
    stamps = {accounts.add("ann", PASSWORD, ADMIN).stamp}
    stamps.add(accounts.set_password("ann", PASSWORD).stamp)
    stamps.add(accounts.set_roles("ann", {"*": "admin", "test": "viewer"}).stamp)
    accounts.add("bob", PASSWORD, ADMIN)
    accounts.remove("ann")
    stamps.add(accounts.add("ann", PASSWORD, ADMIN).stamp)
    assert len(stamps) == 4


def test_what_another_process_writes_is_seen(accounts: Accounts, file: Path) -> None:
    assert accounts.are_none()
    beside = Accounts(file, HandClock())
    beside.add("ann", PASSWORD, ADMIN)
    assert [each.name for each in accounts.all()] == ["ann"]
    beside.add("bob", PASSWORD, ADMIN)
    assert [each.name for each in accounts.all()] == ["ann", "bob"]
    beside.remove("ann")
    assert accounts.find("ann") is None


def test_two_who_change_the_file_at_once_lose_nothing(accounts: Accounts, file: Path) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    names = [f"user{number}" for number in range(6)]

    def add(name: str) -> None:
        Accounts(file, HandClock()).add(name, PASSWORD, {"*": "viewer"})

    threads = [threading.Thread(target=add, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.name for each in accounts.all()} == {"ann", *names}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602])
def test_a_file_that_others_can_read_or_write_is_refused(accounts: Accounts, file: Path, mode: int) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    file.chmod(mode)
    with pytest.raises(AccountsFileError, match="can be read or written by others: chmod 600"):
        Accounts(file, HandClock()).all()


def test_a_file_of_another_user_is_refused(
    accounts: Accounts, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    try:
        os.chown(file, 4711, -1)
    except PermissionError:  # only root may give files away
        monkeypatch.setattr(os, "getuid", lambda: 4711)
    with pytest.raises(AccountsFileError, match="belongs to another user"):
        Accounts(file, HandClock()).all()


def test_a_folder_is_no_file_of_accounts(tmp_path: Path) -> None:
    with pytest.raises(AccountsFileError, match="is no ordinary file"):
        Accounts(tmp_path, HandClock()).are_none()


def test_where_no_file_could_be_made_that_is_said_before_anybody_needs_it(tmp_path: Path) -> None:
    Accounts(tmp_path / "accounts.json", HandClock()).check_place()
    with pytest.raises(AccountsFileError, match=r"there is no folder .*nowhere for the accounts"):
        Accounts(tmp_path / "nowhere" / "accounts.json", HandClock()).check_place()


def test_a_link_to_a_file_is_not_followed(accounts: Accounts, file: Path, tmp_path: Path) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    (tmp_path / "link.json").symlink_to(file)
    with pytest.raises(AccountsFileError, match="cannot be read"):
        Accounts(tmp_path / "link.json", HandClock()).all()


GOOD = {"name": "ann", "password": module.hashed(PASSWORD), "roles": ADMIN, "created": "2030-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        "{}",
        '"text"',
        json.dumps({"format": 2, "accounts": []}),
        json.dumps({"format": 1, "accounts": [{"name": "ann"}]}),
        json.dumps({"format": 1, "accounts": [{**GOOD, "password": "plain"}]}),
        json.dumps({"format": 1, "accounts": [{**GOOD, "password": "scrypt$1073741824$8$1$eA==$eA=="}]}),
        json.dumps({"format": 1, "accounts": [{**GOOD, "roles": {"*": "king"}}]}),
        json.dumps({"format": 1, "accounts": [{**GOOD, "created": "yesterday"}]}),
    ],
)
def test_a_file_that_makes_no_sense_lets_nobody_in_and_is_not_overwritten(
    accounts: Accounts, file: Path, said: str
) -> None:
    file.touch(mode=0o600)
    file.write_text(said)
    for act in (accounts.all, accounts.are_none, lambda: accounts.add("eve", PASSWORD, ADMIN)):
        with pytest.raises(AccountsFileError, match="is no file of accounts that this version reads"):
            act()
    assert file.read_text() == said


def test_a_write_that_fails_leaves_the_old_file_and_says_so(accounts: Accounts, file: Path) -> None:
    accounts.add("ann", PASSWORD, ADMIN)
    before = file.read_text()
    missing = Accounts(file.parent / "nowhere" / "accounts.json", HandClock())
    with pytest.raises(AccountsFileError, match="cannot be written"):
        missing.add("bob", PASSWORD, ADMIN)
    assert file.read_text() == before
