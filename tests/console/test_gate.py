"""Coming in and going out, and what holds for every call."""

import fcntl
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shardwright.console import accounts, lockout, serving
from shardwright.console import guard as guards
from shardwright.console.accounts import Accounts
from shardwright.console.desk import Desk
from shardwright.console.guard import COOKIE, Front
from shardwright.console.refusals import Refusal
from shardwright.console.roles import Role
from shardwright.console.sessions import IDLE
from shardwright.console.settings import Place
from shardwright.history import queries
from shardwright.history.store import Store
from shardwright.ops.audit import Action
from shardwright.registry import connect

from .visiting import ORIGIN, PASSWORD, TOKEN, Caller, House, house


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords that are quick to check; how costly they really are is tested with the accounts."""
    monkeypatch.setitem(accounts.COST, "n", 2**8)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as opened:
        yield opened


@pytest.fixture
def ann(here: House) -> Caller:
    """Somebody with an account who has signed in."""
    here.gate.accounts.add("ann", PASSWORD, {"*": "admin"})
    return here.stranger.sign_in(user="ann", password=PASSWORD)


def told(here: House) -> list[tuple[str, str, str, str]]:
    return [(each.who, each.what, each.target, each.outcome) for each in here.audited]


# The first start


def test_the_token_opens_nothing_but_the_making_of_the_first_account(here: House) -> None:
    assert here.stranger.get("/api/about").json["first"] is True
    first = here.stranger.sign_in(token=TOKEN)
    session = first.get("/api/about").json["session"]
    assert (session["user"], session["first"], session["admin"], session["registries"]) == (
        "",
        True,
        False,
        [],
    )
    assert first.get("/api/users").status == 403
    made = first.post("/api/users", {"name": "ann", "password": PASSWORD, "roles": {"*": "admin"}})
    assert (made.status, made.json["name"], made.json["roles"]) == (200, "ann", {"*": "admin"})


def test_with_the_first_account_the_token_is_worth_nothing_any_more(here: House) -> None:
    first, another = here.stranger.sign_in(token=TOKEN), here.stranger.sign_in(token=TOKEN)
    wish = {"name": "ann", "password": PASSWORD, "roles": {"*": "admin"}}
    assert first.post("/api/users", wish).status == 200
    assert another.post("/api/users", {**wish, "name": "eve"}).status == 401
    assert here.stranger.post("/api/login", {"token": TOKEN}).status == 401
    assert here.stranger.get("/api/about").json["first"] is False
    assert [each.name for each in here.gate.accounts.all()] == ["ann"]


def test_an_account_that_the_command_line_makes_ends_the_token_too(here: House) -> None:
    first = here.stranger.sign_in(token=TOKEN)
    Accounts(here.gate.accounts.file, here.clock).add("ann", PASSWORD, {"*": "admin"})
    assert first.post("/api/users", {}).status == 401
    assert here.stranger.post("/api/login", {"token": TOKEN}).status == 401


def test_the_first_account_is_an_admin_or_none(here: House) -> None:
    first = here.stranger.sign_in(token=TOKEN)
    refused = first.post("/api/users", {"name": "ann", "password": PASSWORD, "roles": {"main": "viewer"}})
    assert (refused.status, refused.json["kind"]) == (400, "invalid")
    assert here.gate.accounts.are_none()


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", "ключ"])
def test_a_wrong_token_is_refused(here: House, token: str) -> None:
    assert here.stranger.post("/api/login", {"token": token}).status == 401


# Signing in and out


def test_whoever_signs_in_is_told_what_they_may_see(here: House, ann: Caller) -> None:
    here.gate.accounts.add("bob", PASSWORD, {"main": "operator"})
    bob = here.stranger.sign_in(user="bob", password=PASSWORD)
    session = bob.get("/api/about").json["session"]
    address = f"sqlite://{here.gate.accounts.file.parent}/main/registry.db"
    seen = [{"name": "main", "address": address, "role": "operator", "history": False}]
    assert (session["user"], session["admin"], session["registries"]) == ("bob", False, seen)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(here: House, ann: Caller) -> None:
    answer = here.stranger.post("/api/login", {"user": "ann", "password": PASSWORD})
    said = answer.headers["set-cookie"].partition("; ")[2]
    assert said == "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
    https = here.stranger.but(scheme="https", origin="https://console.example")
    answer = https.post("/api/login", {"user": "ann", "password": PASSWORD})
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_every_sign_in_has_an_id_of_its_own_and_ends_the_one_before(here: House, ann: Caller) -> None:
    again = ann.sign_in(user="ann", password=PASSWORD)
    assert again.cookie != ann.cookie
    assert ann.get("/api/users").status == 401
    assert again.get("/api/users").status == 200


def test_an_id_that_somebody_else_has_chosen_is_not_taken_over(here: House, ann: Caller) -> None:
    fixed = here.stranger.but(cookie="chosen-by-another")
    signed_in = fixed.sign_in(user="ann", password=PASSWORD)
    assert signed_in.cookie != "chosen-by-another"
    assert fixed.get("/api/users").status == 401


def test_two_cookies_of_the_name_count_for_none(here: House, ann: Caller) -> None:
    both = ann.but(more={"cookie": f"{COOKIE}=planted; {COOKIE}={ann.cookie}"}, cookie="")
    assert both.get("/api/users").status == 401
    alone = ann.but(more={"cookie": f"other=1; {COOKIE}={ann.cookie}; more=2"}, cookie="")
    assert alone.get("/api/users").status == 200


def test_signing_out_ends_the_session_here_and_not_only_in_the_browser(here: House, ann: Caller) -> None:
    answer = ann.post("/api/logout")
    assert (answer.status, answer.cookie) == (200, "")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert ann.get("/api/users").status == 401
    assert here.stranger.post("/api/logout").status == 200


@pytest.mark.parametrize("by_itself", [{"x-shardwright-unattended": "1"}, {"accept": "text/event-stream"}])
def test_what_the_page_fetches_by_itself_prolongs_no_session(here: House, by_itself: dict[str, str]) -> None:
    somebody = here.somebody({"main": Role.VIEWER})
    page = somebody.but(more=by_itself)
    here.clock.advance(IDLE - 2)
    assert somebody.get("/api/r/main/jobs").status == 200
    for path in ("/api/r/main/jobs", "/api/r/main/live"):
        here.clock.advance(IDLE / 2 - 1)
        assert page.get(path).status == 200
    here.clock.advance(2)
    assert page.get("/api/r/main/jobs").status == 401
    assert somebody.get("/api/r/main/jobs").status == 401


def test_a_session_that_nobody_uses_is_over(here: House, ann: Caller) -> None:
    here.clock.advance(IDLE)
    assert ann.get("/api/users").status == 401
    assert ann.get("/api/about").json["session"] is None


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"user": "ann"},
        {"password": PASSWORD},
        {"user": "ann", "password": PASSWORD, "token": TOKEN},
        {"user": ["ann"], "password": PASSWORD},
        {"user": "ann", "password": PASSWORD, "role": "admin"},
        ["ann"],
        "ann",
        7,
    ],
)
def test_a_sign_in_that_makes_no_sense_is_told_so(here: House, wish: object) -> None:
    answer = here.stranger.post("/api/login", wish)
    assert (answer.status, answer.json["kind"]) == (400, "invalid")
    assert PASSWORD not in answer.body.decode()


def test_a_wrong_user_and_a_wrong_password_are_told_alike(here: House, ann: Caller) -> None:
    answers = [
        here.stranger.post("/api/login", {"user": user, "password": "wrong password"})
        for user in ("ann", "nobody", "<b>", "x" * 900)
    ]
    assert {answer.status for answer in answers} == {401}
    assert {answer.body for answer in answers} == {answers[0].body}


def test_who_fails_often_has_to_wait_even_with_the_right_password(here: House, ann: Caller) -> None:
    guesser = here.stranger
    for _ in range(4):
        assert guesser.post("/api/login", {"user": "ann", "password": "wrong"}).status == 401
    right = {"user": "ann", "password": PASSWORD}
    refused = guesser.post("/api/login", right)
    assert (refused.status, refused.headers["retry-after"], refused.json["kind"]) == (429, "1", "busy")
    assert ann.get("/api/users").json["users"][0]["locked"] is True
    here.clock.advance(1)
    assert guesser.post("/api/login", right).status == 200
    assert ann.get("/api/users").json["users"][0]["locked"] is False


def test_an_admin_lets_somebody_in_again_by_another_password(here: House, ann: Caller) -> None:
    here.gate.accounts.add("bob", PASSWORD, {"main": "viewer"})
    for _ in range(8):
        here.stranger.post("/api/login", {"user": "bob", "password": "wrong"})
    assert here.stranger.post("/api/login", {"user": "bob", "password": PASSWORD}).status == 429
    assert ann.patch("/api/users/bob", {"password": "another horse battery"}).json["locked"] is False
    here.stranger.sign_in(user="bob", password="another horse battery")


def test_more_than_a_few_passwords_are_not_compared_at_once(
    here: House, ann: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs memory and a processor: anybody can ask for it."""
    monkeypatch.setattr(accounts, "IN_LINE", 0.01)
    for _ in range(accounts.AT_ONCE):
        here.gate.accounts._hashing.acquire()
    refused = here.stranger.post("/api/login", {"user": "ann", "password": PASSWORD})
    assert (refused.status, refused.json["kind"], refused.headers["retry-after"]) == (503, "busy", "5")
    here.gate.accounts._hashing.release()
    here.stranger.sign_in(user="ann", password=PASSWORD)


@pytest.mark.parametrize("way", ["sign in", "change the password"])
def test_of_many_who_try_at_once_no_more_are_compared_than_one_after_the_other(
    here: House, ann: Caller, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    session = here.gate.session(ann.cookie)
    assert session is not None
    visitor = here.gate.caller(session, ann.address)

    def guess(_: int) -> int:
        try:
            if way == "sign in":
                here.gate.sign_in("ann", "wrong", ann.address)
            else:
                here.gate.change_own_password(visitor, "wrong", "another horse battery")
        except Refusal as refusal:
            refused.release()
            return refusal.status
        return 200

    many, free, refused = 30, lockout.PATIENCE["here"].free, threading.Semaphore(0)
    monkeypatch.setattr(accounts, "IN_LINE", 60)
    for _ in range(accounts.AT_ONCE):
        here.gate.accounts._hashing.acquire()
    with ThreadPoolExecutor(many) as pool:
        answers = pool.map(guess, range(many))
        were_refused = all(refused.acquire(timeout=10) for _ in range(many - free))
        for _ in range(accounts.AT_ONCE):
            here.gate.accounts._hashing.release()
        wrong = 401 if way == "sign in" else 400
        assert Counter(answers) == {429: many - free, wrong: free}
    assert were_refused
    assert here.gate.lockout.wait("ann", ann.address) == 1


def test_a_try_that_was_not_made_for_want_of_room_does_not_count(
    here: House, ann: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "IN_LINE", 0.01)
    for _ in range(accounts.AT_ONCE):
        here.gate.accounts._hashing.acquire()
    for _ in range(2 * lockout.PATIENCE["here"].free):
        assert here.stranger.post("/api/login", {"user": "ann", "password": "wrong"}).status == 503
    here.gate.accounts._hashing.release()
    here.stranger.sign_in(user="ann", password=PASSWORD)


# A file of accounts that is in trouble


def test_a_broken_file_of_accounts_lets_nobody_in_and_does_not_say_where_it_is(
    here: House, ann: Caller
) -> None:
    session = here.gate.session(ann.cookie)
    assert session is not None
    visitor = here.gate.caller(session, "here")
    here.gate.accounts.file.write_text("{")
    for answer in (
        ann.get("/api/about"),
        ann.get("/api/users"),
        ann.get("/api/r/main/jobs"),
        here.stranger.post("/api/login", {"user": "ann", "password": PASSWORD}),
    ):
        assert (answer.status, answer.json["kind"]) == (503, "unreachable")
        assert str(here.gate.accounts.file.parent) not in answer.body.decode()
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert not visitor.lasts()


def test_who_only_looks_does_not_wait_for_another_process_that_changes_the_accounts(
    here: House, ann: Caller
) -> None:
    file = here.gate.accounts.file
    with file.with_name(f".{file.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        wish = {"name": "bob", "password": PASSWORD, "roles": {"main": "viewer"}}
        waiting = threading.Thread(target=lambda: ann.post("/api/users", wish))
        waiting.start()
        over = time.monotonic() + 30
        while not _somebody_waits():
            assert time.monotonic() < over, "nobody waits"
            waiting.join(0.01)
        assert ann.get("/api/users").status == 200
    waiting.join()
    assert here.gate.accounts.find("bob") is not None


def _somebody_waits() -> bool:
    """Whether a thread is where the file is locked."""
    return any(each.f_code.co_name == "_alone" for each in sys._current_frames().values())


# Changes of accounts


def test_changing_ones_password_needs_the_old_one_and_ends_all_other_sessions(
    here: House, ann: Caller
) -> None:
    elsewhere = here.stranger.sign_in(user="ann", password=PASSWORD)
    assert ann.post("/api/password", {"old": "wrong", "new": "another horse battery"}).status == 400
    assert ann.post("/api/password", {"old": PASSWORD, "new": "short"}).status == 400
    changed = ann.post("/api/password", {"old": PASSWORD, "new": "another horse battery"})
    assert changed.status == 200
    assert elsewhere.get("/api/users").status == ann.get("/api/users").status == 401
    assert ann.but(cookie=changed.cookie, csrf=changed.json["csrf"]).get("/api/users").status == 200
    assert here.stranger.post("/api/login", {"user": "ann", "password": PASSWORD}).status == 401


@pytest.mark.parametrize("change", [{"roles": {"*": "viewer"}}, {"password": "another horse battery"}])
def test_an_account_that_is_changed_signs_its_user_out(
    here: House, ann: Caller, change: dict[str, object]
) -> None:
    here.gate.accounts.add("bob", PASSWORD, {"*": "author"})
    bob = here.stranger.sign_in(user="bob", password=PASSWORD)
    assert ann.patch("/api/users/bob", change).status == 200
    assert bob.get("/api/openapi.json").status == 401


def test_an_account_that_is_removed_signs_its_user_out(here: House, ann: Caller) -> None:
    here.gate.accounts.add("bob", PASSWORD, {"*": "author"})
    bob = here.stranger.sign_in(user="bob", password=PASSWORD)
    assert ann.delete("/api/users/bob").json == {"done": True}
    assert bob.get("/api/openapi.json").status == 401
    assert ann.delete("/api/users/bob").status == 404


def test_what_the_command_line_changes_signs_a_user_out_as_well(here: House, ann: Caller) -> None:
    beside = Accounts(here.gate.accounts.file, here.clock)
    beside.add("bob", PASSWORD, {"*": "author"})
    bob = here.stranger.sign_in(user="bob", password=PASSWORD)
    beside.set_roles("bob", {"*": "viewer"})
    assert bob.get("/api/openapi.json").status == 401


def test_whoever_keeps_the_accounts_sees_who_has_signed_in_and_can_end_it(here: House, ann: Caller) -> None:
    here.gate.accounts.add("bob", PASSWORD, {"*": "viewer"})
    bob = here.stranger.but(address="192.0.2.99").sign_in(user="bob", password=PASSWORD)
    found = {each["user"]: each for each in ann.get("/api/sessions").json["sessions"]}
    assert (found["ann"]["own"], found["bob"]["own"], found["bob"]["address"]) == (True, False, "192.0.2.99")
    assert bob.cookie not in json.dumps(found)
    assert ann.delete(f"/api/sessions/{found['bob']['id']}").status == 200
    assert bob.get("/api/openapi.json").status == 401
    assert ann.delete(f"/api/sessions/{found['bob']['id']}").status == 404


def test_a_stream_learns_that_its_session_is_over(here: House, ann: Caller) -> None:
    session = here.gate.session(ann.cookie)
    assert session is not None
    visitor = here.gate.caller(session, "here")
    assert visitor.lasts()
    here.gate.accounts.set_password("ann", "another horse battery")
    assert not visitor.lasts()


# The audit


def test_comings_and_goings_and_changes_are_in_the_audit_without_a_secret(here: House, ann: Caller) -> None:
    here.stranger.post("/api/login", {"user": "ann", "password": "wrong password"})
    ann.post("/api/users", {"name": "bob", "password": "bobs own password", "roles": {"main": "viewer"}})
    ann.post("/api/users", {"name": "bob", "password": "bobs own password", "roles": {"main": "viewer"}})
    ann.patch("/api/users/bob", {"password": "bobs new password"})
    ann.delete("/api/users/bob")
    ann.post("/api/logout")
    assert told(here) == [
        ("ann (console)", "login", "192.0.2.7", "done"),
        ("ann (console)", "login", "192.0.2.7", "refused: wrong user or password"),
        ("ann (console)", "add user", "bob", "done"),
        ("ann (console)", "add user", "bob", "refused: there is an account 'bob' already"),
        ("ann (console)", "change user", "bob", "done"),
        ("ann (console)", "remove user", "bob", "done"),
        ("ann (console)", "logout", "192.0.2.7", "done"),
    ]
    assert "password" not in str([each for each in here.audited if "wrong" not in each.outcome]).replace(
        "detail='password'", ""
    )


def test_somebody_who_tries_what_they_may_not_is_in_the_audit_and_a_stranger_is_not(here: House) -> None:
    here.somebody({"main": Role.VIEWER}, "bob").get("/api/users")
    here.somebody({"other": Role.VIEWER}, "eve").get("/api/r/main/statistics")
    here.stranger.get("/api/users")
    assert [(each.who, each.what, each.target) for each in here.audited] == [
        ("bob (console)", "call", "GET /api/users"),
        ("eve (console)", "call", "GET /api/r/{registry}/statistics"),
    ]


def test_what_somebody_types_as_a_name_is_not_in_the_audit_unless_it_is_one(here: House) -> None:
    """It may be a password, or begin another line."""
    here.stranger.post("/api/login", {"user": "ann\n2026 root (console): remove user", "password": "wrong"})
    assert here.audited[-1].who == "an unknown user (console)"


def test_an_audit_that_cannot_be_written_keeps_nobody_out(tmp_path: Path) -> None:
    with house(tmp_path) as here:

        def fail(action: object) -> None:
            raise OSError("no space")

        here.gate._tell = fail
        here.gate.accounts.add("ann", PASSWORD, {"*": "admin"})
        assert here.stranger.sign_in(user="ann", password=PASSWORD).get("/api/users").status == 200


@pytest.mark.parametrize("roles", [{"main": Role.ADMIN}, {"*": Role.AUTHOR}])
def test_who_came_in_is_told_only_to_those_who_keep_the_accounts(
    tmp_path: Path, roles: dict[str, Role]
) -> None:
    """Names of users, of addresses and of registries are in it that others may not see."""
    places = tuple(
        Place(name, f"sqlite://{tmp_path}/{name}.db", tmp_path / f"{name}-history.db") for name in "ab"
    )
    for place in places:
        connect(place.url).close()
        Store(tmp_path / f"{place.name}-history.db", trace=False).close()
    with house(tmp_path) as here, Desk(places) as desk:
        tell = serving.teller(desk, places)
        here.gate._tell = tell
        here.gate.accounts.add("ann", PASSWORD, {"*": "admin"})
        here.stranger.sign_in(user="ann", password=PASSWORD)
        tell(Action(here.clock.wall(), "ann (console)", "trigger", "j", "", "done"))
        here.api.state.desk = desk
        here.gate.registries = frozenset("ab") | {"main"}
        all_of_it = here.admin.get("/api/r/b/audit").json["changes"]
        some = here.somebody({**roles, "b": Role.VIEWER}, "bob").get("/api/r/b/audit").json["changes"]
    assert {each["what"] for each in all_of_it} == {"login", "trigger"}
    assert [each["what"] for each in some] == ["trigger"]


def test_a_history_that_cannot_be_told_keeps_no_other_from_being_told(tmp_path: Path) -> None:
    broken, sound, none = (
        Place(name, f"sqlite://{tmp_path}/{name}.db", tmp_path / f"{name}.history") for name in "xyz"
    )
    tmp_path.joinpath("x.history").write_text("this is no database, and long enough to be seen as none" * 100)
    with Store(tmp_path / "y.history", trace=False) as store, Desk([broken, sound, none]) as desk:
        serving.teller(desk, (broken, sound, none))(
            Action(datetime(2026, 1, 1, tzinfo=UTC), "ann (console)", "login", "here", "", "done")
        )
        assert [(each.who, each.what) for each in queries.audit(store)] == [("ann (console)", "login")]
    assert not tmp_path.joinpath("z.history").exists()


# Every call


@pytest.mark.parametrize("path", ["/", "/api/about", "/api/users", "/api/nothing", "/nothing"])
def test_every_answer_keeps_other_pages_away(here: House, path: str) -> None:
    answer = here.stranger.get(path)
    policy = answer.headers["content-security-policy"]
    for rule in (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "object-src 'none'",
    ):
        assert rule in policy.split("; ")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    if path.startswith("/api"):
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("DELETE", "/api/about", 405),
        ("GET", "/api/docs", 404),
        ("GET", "/api/openapi.json", 401),
        ("GET", "/api/about/", 404),
    ],
)
def test_what_is_not_there_is_told_in_our_own_words(here: House, method: str, path: str, status: int) -> None:
    answer = here.stranger.call(method, path)
    assert answer.status == status
    assert set(answer.json) == {"error", "kind"}


def test_fastapis_own_pages_are_not_there(here: House) -> None:
    for path in ("/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"):
        assert here.admin.get(f"/api{path}").status in (404, 200)
        assert b"cdn" not in here.admin.get(f"/api{path}").body
    assert here.admin.get("/api/openapi.json").json["info"]["version"] == "7"


@pytest.mark.parametrize(
    "sent", [b"{", b"", b"\xff\xfe", b'{"user": "\xff"}', b"[" * 10_000, b'{"user": 1e999}', b"NaN"]
)
def test_what_is_no_json_is_a_bad_request_and_no_failure(here: House, sent: bytes) -> None:
    answer = here.stranger.send("POST", "/api/login", [sent])
    assert (answer.status, answer.json["kind"]) == (400, "invalid")


def test_a_form_of_another_site_cannot_be_taken_for_json(here: House) -> None:
    answer = here.stranger.send(
        "POST", "/api/login", [b'{"user": "a", "password": "b"}'], **{"content-type": "text/plain"}
    )
    assert answer.status == 400


def test_too_much_is_refused_by_what_is_announced_and_by_what_comes(here: House) -> None:
    size = guards.LARGEST_BODY
    announced = here.stranger.send("POST", "/api/login", [b"{}"], **{"content-length": str(size + 1)})
    assert announced.status == 413
    assert here.stranger.send("POST", "/api/login", [b" " * size, b" "]).status == 413
    assert here.stranger.send("POST", "/api/login", [b" " * (size - 2), b"{}"]).status == 400
    assert here.stranger.send("POST", "/api/login", [b"{}"], **{"content-length": "-1"}).status == 413


def test_what_never_ends_is_given_up(here: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "PATIENCE", 0.05)
    answer = here.stranger.send("POST", "/api/login", [])
    assert (answer.status, answer.json["kind"]) == (408, "invalid")


# Behind a proxy


def forwarded(caller: Caller, **headers: str) -> Caller:
    return caller.but(more={f"x-forwarded-{name}": value for name, value in headers.items()})


def test_without_a_proxy_what_is_forwarded_is_anybodys_word(here: House) -> None:
    here.gate.accounts.add("ann", PASSWORD, {"*": "admin"})
    wish = {"user": "ann", "password": PASSWORD}
    liar = forwarded(here.stranger, host="evil.example", proto="https", **{"for": "127.0.0.1"})
    assert liar.but(origin="https://evil.example").post("/api/login", wish).status == 403
    assert "Secure" not in liar.post("/api/login", wish).headers["set-cookie"]
    assert here.audited[-1].target == "192.0.2.7"


def test_behind_a_proxy_the_origin_is_the_one_that_the_browser_sees(tmp_path: Path) -> None:
    with house(tmp_path, front=Front("/ops", proxied=True)) as here:
        here.gate.accounts.add("ann", PASSWORD, {"*": "admin"})
        wish = {"user": "ann", "password": PASSWORD}
        through = forwarded(
            here.stranger.but(address="127.0.0.1"),
            host="ops.example",
            proto="https",
            **{"for": "203.0.113.9, 198.51.100.4"},
        )
        assert through.but(origin="https://ops.example").post("/ops/api/login", wish).status == 200
        answer = through.but(origin="https://ops.example:443").post("/ops/api/login", wish)
        assert answer.headers["set-cookie"].endswith("; Secure")
        assert "; Path=/ops/;" in answer.headers["set-cookie"]
        # The last one is what the proxy has seen itself; those before it, anybody may have said.
        assert here.audited[-1].target == "198.51.100.4"
        assert through.but(origin=ORIGIN).post("/ops/api/login", wish).status == 403
        assert through.but(origin="https://evil.example").post("/ops/api/login", wish).status == 403


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("198.51.100.4:50123", "198.51.100.4"),
        ("[2001:db8::1]:50123", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:db8::1:50123", "2001:db8::1:50123"),
        ("unknown", "unknown"),
        ("unknown:50123", "unknown:50123"),
        ("198.51.100.4:x", "198.51.100.4:x"),
        ("[unknown]:50123", "[unknown]:50123"),
        (":", ":"),
    ],
)
def test_a_port_that_a_proxy_says_is_no_part_of_the_address(said: str, address: str) -> None:
    """Every call has another one: by it whoever fails to sign in would come from somewhere else each time."""
    scope = {"client": ("127.0.0.1", 4711), "headers": [(b"x-forwarded-for", said.encode())]}
    assert Front(proxied=True).address(scope) == address


def test_without_forwarded_headers_a_trusted_proxy_changes_nothing(tmp_path: Path) -> None:
    with house(tmp_path, front=Front(proxied=True)) as here:
        assert here.stranger.post("/api/logout").status == 200
