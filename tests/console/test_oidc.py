"""Sign-in by somebody else's word, with a real provider on loopback that signs what it says, and may lie."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3

from shardwright.clock import HandClock
from shardwright.console import oidc
from shardwright.console.settings import SaidOidc
from shardwright.errors import ConfigError

from .provider import CLIENT, SECRET, Provider
from .visiting import ORIGIN, Answer, Caller, House, house

ROLES = {
    "sre": {"*": "admin"},
    "developers": {"main": "viewer", "other": "author"},
    "on call": {"main": "operator", "other": "viewer"},
}


@dataclass
class Place:
    """A console, and the provider that it believes."""

    here: House
    provider: Provider

    def begin(self) -> tuple[Caller, str]:
        """A browser that was sent to the provider, and where to."""
        answer = self.here.stranger.get("/api/oidc/login")
        assert answer.status == 303, answer.body
        (cookie,) = answer.cookies
        return self.here.stranger.but(more={"cookie": cookie.partition(";")[0]}), answer.headers["location"]

    def back(self, where: str) -> str:
        """Where the provider sends the browser back to, as a path of ours."""
        sent = urllib3.request("GET", where, redirect=False)
        assert sent.status == 302
        there = sent.headers["location"]
        assert there.startswith(f"{ORIGIN}/api/oidc/callback?")
        return there.removeprefix(ORIGIN)

    def sign_in(self) -> Answer:
        browser, where = self.begin()
        return browser.get(self.back(where))

    def refused(self) -> str:
        """What somebody is told who does not come in."""
        answer = self.sign_in()
        assert answer.status in (401, 403), answer
        assert not any("shardwright-session" in cookie for cookie in answer.cookies)
        assert self.here.gate.sessions.all() == []
        assert self.here.audited[-1].outcome.startswith("refused: ")
        return answer.body.decode()


def told(provider: Provider, **more: Any) -> SaidOidc:
    said = {"issuer": provider.issuer, "client_id": CLIENT, "client_secret": "${env:OIDC_SECRET}"}
    return SaidOidc.model_validate({**said, "roles": ROLES, "label": "Example", **more})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("OIDC_SECRET", SECRET)
    clocks: list[HandClock] = []
    with (
        Provider(lambda: clocks[0].wall().timestamp()) as provider,
        house(tmp_path, token=None, vouching=told(provider)) as here,
    ):
        clocks.append(here.clock)
        yield Place(here, provider)


def signed_in(place: Place, answer: Answer) -> Caller:
    assert (answer.status, answer.headers["location"]) == (303, "/"), answer.body
    ours, ended = answer.cookies
    assert ours.endswith("HttpOnly; SameSite=Strict")
    assert ended.startswith("shardwright-oidc=; Path=/api/oidc; Max-Age=0")
    cookie = ours.partition(";")[0].partition("=")[2]
    return place.here.stranger.but(cookie=cookie)


def test_whom_the_provider_vouches_for_comes_in_with_the_roles_of_their_groups(place: Place) -> None:
    assert place.here.stranger.get("/api/about").json["oidc"] == "Example"
    place.provider.claims["groups"] = ["developers", "on call", "unknown"]
    session = signed_in(place, place.sign_in()).get("/api/about").json["session"]
    assert (session["user"], session["admin"]) == ("ann", False)
    roles = {each["name"]: each["role"] for each in session["registries"]}
    assert roles == {"main": "operator", "other": "author"}
    assert [(each.who, each.what, each.outcome) for each in place.here.audited] == [
        ("ann (console)", "login", "done")
    ]


def test_what_is_asked_of_the_provider_cannot_be_used_by_whoever_reads_it(place: Place) -> None:
    _, where = place.begin()
    asked = {name: values[0] for name, values in parse_qs(urlsplit(where).query).items()}
    assert asked["redirect_uri"] == f"{ORIGIN}/api/oidc/callback"
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["code_challenge"]) == 43
    _, again = place.begin()
    other = {name: values[0] for name, values in parse_qs(urlsplit(again).query).items()}
    assert all(asked[name] != other[name] for name in ("state", "nonce", "code_challenge"))
    assert SECRET not in where


def test_a_claim_of_one_word_counts_too(place: Place) -> None:
    place.provider.claims["groups"] = "sre"
    assert signed_in(place, place.sign_in()).get("/api/users").status == 200


def test_of_a_claim_the_words_count_and_nothing_else(place: Place) -> None:
    place.provider.claims["groups"] = [{"name": "sre"}, ["sre"], "sre"]
    assert signed_in(place, place.sign_in()).get("/api/users").status == 200


LIES: dict[str, dict[str, Any]] = {
    "another's word": {"iss": "https://evil.example"},
    "for another": {"aud": "another client"},
    "for several, and another's": {"aud": [CLIENT, "another"], "azp": "another"},
    "for several, and nobody's": {"aud": [CLIENT, "another"]},
    "over": {"exp": 1893456000 - 3600},
    "without an end": {"exp": None},
    "without a subject": {"sub": None},
    "of another sign-in": {"nonce": "another"},
    "of no sign-in": {"nonce": None},
    "of the future": {"nbf": 1893456000 + 3600},
    "without a name": {"preferred_username": None},
    "with a name that cannot be": {"preferred_username": "<b>"},
    "with a name that is none": {"preferred_username": ["ann"]},
    "without a group": {"groups": None},
    "with groups that are worth nothing": {"groups": ["unknown"]},
    "with groups that are none": {"groups": {"sre": True}},
    "with groups that are no words": {"groups": [{"name": "sre"}, ["sre"], None, 7]},
}


@pytest.mark.parametrize("lie", LIES)
def test_what_is_not_true_lets_nobody_in(place: Place, lie: str) -> None:
    place.provider.changed = LIES[lie]
    place.refused()


def test_a_token_for_several_is_taken_if_it_was_made_for_us(place: Place) -> None:
    place.provider.changed = {"aud": [CLIENT, "another"], "azp": CLIENT}
    signed_in(place, place.sign_in())


@pytest.mark.parametrize("how", ["not_sign", "sign_by_a_stranger", "sign_with_its_public_key"])
def test_what_the_provider_has_not_signed_lets_nobody_in(place: Place, how: str) -> None:
    ways = {
        "not_sign": place.provider.not_sign,
        "sign_by_a_stranger": place.provider.sign_by_a_stranger,
        "sign_with_its_public_key": place.provider.sign_with_its_public_key,
    }
    place.provider.signs = ways[how]
    assert "ID token is not valid" in place.refused()


def test_new_keys_of_the_provider_are_found_and_old_ones_are_kept_for_a_while(place: Place) -> None:
    signed_in(place, place.sign_in())
    signed_in(place, place.sign_in())
    assert place.provider.asked.count("/keys") == 1
    place.provider.take_new_keys()
    signed_in(place, place.sign_in())
    assert place.provider.asked.count("/keys") == 2


def test_a_state_is_good_for_one_sign_in_in_the_browser_that_began_it(place: Place) -> None:
    browser, where = place.begin()
    back = place.back(where)
    assert place.here.stranger.get(back).status == 401  # somebody was made to follow another's link
    other, _ = place.begin()
    assert other.get(back).status == 401
    signed_in(place, browser.get(back))
    assert browser.get(back).status == 401


def test_a_sign_in_that_takes_too_long_is_over(place: Place) -> None:
    browser, where = place.begin()
    back = place.back(where)
    place.here.clock.advance(oidc.PATIENCE)
    assert browser.get(back).status == 401


def test_a_code_that_the_provider_does_not_know_and_none_at_all_are_refused(place: Place) -> None:
    browser, where = place.begin()
    state = parse_qs(urlsplit(where).query)["state"][0]
    assert browser.get(f"/api/oidc/callback?state={state}").status == 401
    assert browser.get(f"/api/oidc/callback?state={state}&error=access_denied").status == 401
    assert browser.get(f"/api/oidc/callback?state={state}&code=guessed").status == 401


def test_what_is_told_in_a_browser_is_text(place: Place) -> None:
    place.provider.changed = {"preferred_username": "<script>alert(1)</script>"}
    answer = place.sign_in()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<script>" not in answer.body


def test_whoever_comes_in_like_this_has_no_password_here(place: Place) -> None:
    ann = signed_in(place, place.sign_in())
    csrf = ann.get("/api/about").json["session"]["csrf"]
    wish = {"old": "correct horse battery", "new": "another horse battery"}
    answer = ann.but(csrf=csrf).post("/api/password", wish)
    assert (answer.status, answer.json["error"]) == (400, "ann has no password here: it is kept by Example")


def test_nobody_comes_in_like_this_by_the_name_of_an_account(place: Place) -> None:
    place.here.gate.accounts.add("ann", "correct horse battery", {"*": "admin"})
    assert "there is an account" in place.refused()


def test_strangers_who_begin_sign_ins_push_nobodys_out(place: Place) -> None:
    browser, where = place.begin()
    back = place.back(where)
    for _ in range(50):
        place.begin()
    signed_in(place, browser.get(back))


def test_what_a_browser_keeps_is_believed_only_if_it_was_sealed_here(place: Place) -> None:
    browser, where = place.begin()
    back = place.back(where)
    said, _, mark = browser.more["cookie"].partition("=")[2].rpartition(".")
    begun = json.loads(base64.urlsafe_b64decode(said))
    begun["began"] += 1000
    changed = base64.urlsafe_b64encode(json.dumps(begun).encode()).decode()
    for kept in (f"{changed}.{mark}", f"{said}.{'0' * 64}", said, "", "."):
        forged = browser.but(more={"cookie": f"{oidc.COOKIE}={kept}"})
        assert forged.get(back).status == 401
    signed_in(place, browser.get(back))


def test_what_any_stranger_can_call_forth_is_not_in_the_audit(place: Place) -> None:
    browser, where = place.begin()
    state = parse_qs(urlsplit(where).query)["state"][0]
    assert place.here.stranger.get("/api/oidc/callback?state=x&code=y").status == 401
    assert browser.get(f"/api/oidc/callback?state={state}&code=guessed").status == 401
    assert place.here.audited == []


def test_a_provider_that_is_away_is_left_alone_for_a_moment(place: Place) -> None:
    place.provider.is_away = True
    assert place.here.stranger.get("/api/oidc/login").status == 503
    place.provider.is_away = False
    assert place.here.stranger.get("/api/oidc/login").status == 503
    assert place.provider.asked == []
    place.here.clock.advance(oidc.LEFT_ALONE)
    place.begin()


def test_a_provider_that_is_away_or_calls_itself_otherwise_is_told(tmp_path: Path) -> None:
    with Provider(lambda: 0.0) as provider:
        provider.called_otherwise = "https://another.example"
        with house(tmp_path, vouching=told(provider)) as here:
            assert here.stranger.get("/api/oidc/login").status == 503
    with house(tmp_path, vouching=told(provider)) as here:
        answer = here.stranger.get("/api/oidc/login")
        assert answer.status == 503
        assert b"the provider does not answer" in answer.body


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"issuer": "http://login.example.org"}, "it begins with https://"),
        ({"issuer": "login.example.org"}, "it begins with https://"),
        ({"client_secret": "in the clear"}, "say where it is, and not what it is"),
        ({"roles": {"sre": {"*": "king"}}}, "there are viewer, operator, author, admin"),
    ],
)
def test_a_provider_that_makes_no_sense_is_refused_at_the_start(said: dict[str, Any], why: str) -> None:
    good = {"issuer": "https://login.example.org", "client_id": CLIENT, "roles": ROLES}
    with pytest.raises(ConfigError, match=why) as refused:
        oidc.Provider(SaidOidc.model_validate({**good, **said}), HandClock())
    assert "in the clear" not in str(refused.value)
