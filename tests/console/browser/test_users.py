"""Accounts: signing in, who may do what, and what is not offered to those who may not."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browser.conftest import ADMIN
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage
from tests.console.provider import CLIENT, SECRET, Provider

pytestmark = [pytest.mark.slow]
PASSWORD = "a password for tests"


@pytest.fixture
def other(admin: Desk, browser: Browser) -> Iterator[Desk]:
    """Somebody else before the same console, who has not signed in."""
    with Desk(browser, admin.console) as desk:
        yield desk
        desk.check()


def add(desk: Desk, name: str, role: str) -> None:
    """Make an account, unless an earlier test has."""
    desk.go_to("users")
    desk.page.get_by_role("row", name=ADMIN[0]).first.wait_for()
    if desk.button(f"Edit {name}").count():
        return
    desk.button("New account").click()
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_label("main", exact=True).select_option(role)
    desk.confirm("Create")
    expect(desk.button(f"Edit {name}")).to_be_visible()


def test_the_token_works_once_and_is_not_asked_for_again(other: Desk) -> None:
    other.page.goto(f"{other.url}/")
    expect(other.page.get_by_label("Password", exact=True)).to_be_visible()
    expect(other.page.get_by_label("One-time token")).to_have_count(0)


def test_somebody_signs_in_by_password_and_out(desk: Desk, other: Desk) -> None:
    add(desk, "bob", "operator")
    other.sign_in("bob", PASSWORD)
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()
    other.choose("Account", "Sign out")
    expect(other.button("Sign in")).to_be_visible()


def test_a_wrong_password_is_refused_in_a_sentence(other: Desk) -> None:
    other.sign_in("nobody", "not the password")
    expect(other.page.get_by_role("alert").first).to_be_visible()
    expect(other.button("Sign in")).to_be_visible()


def test_a_viewer_is_offered_nothing_that_changes_anything(desk: Desk, other: Desk, stage: Stage) -> None:
    add(desk, "vera", "viewer")
    other.sign_in("vera", PASSWORD)
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()
    expect(other.page.get_by_role("link", name="Users")).to_have_count(0)
    other.go("servers")
    expect(other.row("10.0.0.1")).to_be_visible()
    assert other.page.get_by_role("button", name="Actions for").count() == 0
    other.go("recipes")
    expect(other.page.get_by_role("row", name="AccountService:1.0.0")).to_be_visible()
    assert other.page.get_by_role("button", name="Designate").count() == 0
    assert other.page.get_by_role("button", name="Resign").count() == 0
    other.go("jobs")
    expect(other.row("index-photos").first).to_be_visible()
    assert other.page.get_by_role("checkbox").count() == 0


def test_a_role_and_a_password_are_changed_and_count_at_once(desk: Desk, other: Desk) -> None:
    add(desk, "carl", "viewer")
    other.sign_in("carl", PASSWORD)
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()
    desk.go_to("users")
    desk.button("Edit carl").click()
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_label("main", exact=True).select_option("operator")
    dialog.get_by_label("New password").fill("a password from ann")
    desk.confirm("Save")
    expect(desk.page.get_by_role("row", name="carl").first).to_contain_text("Operator")
    other.page.reload()  # whoever's role or password is another now signs in anew
    other.sign_in("carl", "a password from ann")
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()
    other.go("servers")
    expect(other.button("Actions for 10.0.0.1")).to_be_visible()


def test_an_account_that_is_deleted_is_out(desk: Desk, other: Desk) -> None:
    add(desk, "dora", "viewer")
    other.sign_in("dora", PASSWORD)
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()
    desk.go_to("users")
    desk.button("Delete dora").click()
    desk.confirm("Delete")
    expect(desk.button("Delete dora")).to_have_count(0)
    other.go("servers")
    expect(other.button("Sign in")).to_be_visible()


def test_a_session_is_ended_by_an_admin(desk: Desk, other: Desk) -> None:
    add(desk, "eve", "viewer")
    other.sign_in("eve", PASSWORD)
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()
    desk.page.reload()  # it has come in since the page was read
    desk.button("End the session of eve").click()
    desk.confirm("End")
    expect(desk.button("End the session of eve")).to_have_count(0)
    other.go("servers")
    expect(other.button("Sign in")).to_be_visible()


def test_somebody_changes_their_own_password(desk: Desk, other: Desk) -> None:
    add(desk, "fred", "viewer")
    other.sign_in("fred", PASSWORD)
    other.choose("Account", "Change password")
    other.page.get_by_label("Present password").fill(PASSWORD)
    other.page.get_by_label("New password").fill("another password")
    other.confirm("Save")
    other.wait_said("The password is changed.")
    other.choose("Account", "Sign out")
    other.sign_in("fred", "another password")
    expect(other.page.get_by_role("link", name="Servers")).to_be_visible()


VOUCHING = """
[console.oidc]
issuer = "{issuer}"
client_id = "{client}"
client_secret = "${{file:{secret}}}"
label = "Example"

[console.oidc.roles]
sre = {{ "*" = "operator" }}
"""


def test_somebody_comes_in_by_the_word_of_a_provider(stage: Stage, browser: Browser, tmp_path: Path) -> None:
    """Who stands on another site than the console: it is reached by another name here."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    with Provider(time.time) as provider:
        said = VOUCHING.format(issuer=provider.issuer, client=CLIENT, secret=secret)
        (tmp_path / "shardwright.toml").write_text(said)
        console = stage.open_console(folder=tmp_path)
        with Desk(browser, console) as first:
            first.sign_in_first("root", PASSWORD)
        with Desk(browser, console, url=console.url.replace("127.0.0.1", "localhost")) as desk:
            desk.page.goto(f"{desk.url}/")
            desk.page.get_by_role("link", name="Sign in with Example").click()
            expect(desk.row("index-photos").first).to_be_visible()
            assert provider.asked.count("/token") == 1
            desk.button("Account").click()
            expect(desk.page.get_by_text("ann, Operator here")).to_be_visible()
            expect(desk.page.get_by_role("link", name="Users")).to_have_count(0)
            desk.page.reload()
            expect(desk.row("index-photos").first).to_be_visible()
            outside = [
                each for each in desk.complaints if not each.startswith(f"asked outside: {provider.issuer}")
            ]
            assert outside == []
