"""Who has signed in, for how long; and who has to wait after tries that failed."""

from contextlib import ExitStack

import pytest

from shardwright.clock import HandClock
from shardwright.console import lockout as locks
from shardwright.console import sessions as module
from shardwright.console.lockout import Lockout
from shardwright.console.sessions import IDLE, LONGEST, Sessions


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def sessions(clock: HandClock) -> Sessions:
    return Sessions(clock)


def test_an_id_opens_its_session_and_nothing_else_does(sessions: Sessions) -> None:
    opens, session = sessions.begin("ann", stamp="1", address="here")
    found = sessions.used(opens)
    assert found is not None
    assert (found.key, found.user) == (session.key, "ann")
    for wrong in ("", opens[:-1], session.key, session.csrf):
        assert sessions.used(wrong) is None


def test_ids_cannot_be_guessed_and_are_not_kept(sessions: Sessions) -> None:
    ids = {sessions.begin("ann", stamp="1", address="here")[0] for _ in range(20)}
    assert len(ids) == 20
    assert all(len(each) >= 43 for each in ids)  # 256 bits
    assert not any(each in repr(vars(sessions)) for each in ids)


def test_one_that_nobody_uses_ends_after_half_an_hour(sessions: Sessions, clock: HandClock) -> None:
    opens, _ = sessions.begin("ann", stamp="1", address="here")
    clock.advance(IDLE - 1)
    assert sessions.used(opens)
    clock.advance(IDLE - 1)
    assert sessions.used(opens)
    clock.advance(IDLE)
    assert sessions.used(opens) is None
    assert sessions.all() == []


def test_one_that_is_used_all_the_time_ends_after_twelve_hours(sessions: Sessions, clock: HandClock) -> None:
    opens, begun = sessions.begin("ann", stamp="1", address="here")
    found = begun
    for _ in range(int(LONGEST / 600) - 1):
        clock.advance(600)
        used = sessions.used(opens)
        assert used is not None
        found = used
    assert (found.expires - begun.began).total_seconds() == LONGEST
    clock.advance(600)
    assert sessions.used(opens) is None


def test_setting_the_wall_clock_prolongs_nothing(sessions: Sessions, clock: HandClock) -> None:
    opens, session = sessions.begin("ann", stamp="1", address="here")
    clock.set_wall(session.began.replace(year=1990))
    clock.advance(IDLE)
    assert sessions.used(opens) is None


def test_being_looked_at_prolongs_nothing(sessions: Sessions, clock: HandClock) -> None:
    opens, session = sessions.begin("ann", stamp="1", address="here")
    clock.advance(IDLE - 1)
    assert sessions.find(session.key)
    assert sessions.opened(opens)
    clock.advance(1)
    assert sessions.find(session.key) is None
    assert sessions.opened(opens) is None


def test_one_is_ended_by_its_key_and_all_of_a_user_by_their_name(sessions: Sessions) -> None:
    one, other = (sessions.begin("ann", stamp="1", address="here") for _ in range(2))
    bob, _ = sessions.begin("bob", stamp="1", address="here")
    assert sessions.end(one[1].key)
    assert not sessions.end(one[1].key)
    assert (sessions.used(one[0]), sessions.used(other[0]) is not None) == (None, True)
    assert sessions.end_all_of("ann") == 1
    assert sessions.used(other[0]) is None
    assert sessions.used(bob)


def test_there_are_never_more_than_so_many(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    ids = [sessions.begin(f"user{number}", stamp="1", address="here")[0] for number in range(5)]
    assert sessions.used(ids[0])  # so another one is the longest unused
    sessions.begin("late", stamp="1", address="here")
    assert len(sessions.all()) == 5
    assert sessions.used(ids[0])
    assert sessions.used(ids[1]) is None


def test_one_user_cannot_push_the_others_out(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_ONE", 3)
    bob, _ = sessions.begin("bob", stamp="1", address="here")
    for _ in range(10):
        sessions.begin("ann", stamp="1", address="here")
    assert sessions.used(bob)
    assert len(sessions.all()) == 4


# Lock-out

HERE, THERE = locks.PATIENCE["here"], locks.PATIENCE["place"]


def test_the_first_few_failures_cost_nothing_and_then_each_wait_is_longer(clock: HandClock) -> None:
    lockout, waits = Lockout(clock), list[int]()
    for _ in range(20):
        lockout.failed("ann", "there")
        waits.append(lockout.wait("ann", "there"))
        clock.advance(waits[-1])
        assert lockout.wait("ann", "there") == 0
    assert waits[:3] == [0, 0, 0]
    assert waits[3:9] == [1, 2, 4, 8, 16, 32]
    assert waits[-1] == HERE.longest


def test_tries_that_are_under_way_count_until_it_is_known_how_they_went(clock: HandClock) -> None:
    lockout = Lockout(clock)
    with ExitStack() as under_way:
        for _ in range(HERE.free):
            assert under_way.enter_context(lockout.trying("ann", "there")) == 0
        assert under_way.enter_context(lockout.trying("ann", "there")) == 1
        assert lockout.wait("ann", "elsewhere") == lockout.wait("bob", "there") == 0
    assert lockout.wait("ann", "there") == 0
    for _ in range(HERE.free):
        with lockout.trying("ann", "there"):
            lockout.failed("ann", "there")
    clock.advance(1)
    with lockout.trying("ann", "there") as seconds:
        assert (seconds, lockout.wait("ann", "there")) == (0, 1)
        lockout.succeeded("ann", "there")
    assert lockout.wait("ann", "there") == 0
    assert not vars(lockout)["_under_way"]


def test_a_place_has_to_wait_whomever_it_names_and_other_places_do_not(clock: HandClock) -> None:
    lockout = Lockout(clock)
    for _ in range(HERE.free):
        lockout.failed("ann", "there")
    assert lockout.wait("ann", "there")
    assert not lockout.wait("ann", "elsewhere")
    assert not lockout.wait("bob", "there")
    for number in range(THERE.free - HERE.free):
        lockout.failed(f"user{number}", "there")
    assert lockout.wait("somebody", "there")
    assert not lockout.wait("somebody", "elsewhere")


def test_a_user_whom_many_places_guess_at_is_guessed_at_slowly(clock: HandClock) -> None:
    lockout, waits = Lockout(clock), list[int]()
    for number in range(40):
        lockout.failed("ann", f"place {number}")
        waits.append(lockout.wait("ann", "yet another"))
    limit = locks.PATIENCE["user"]
    assert not any(waits[: limit.free - 1])
    assert max(waits) == waits[-1] == limit.longest


def test_strangers_cannot_keep_out_who_comes_from_where_they_have_signed_in_before(clock: HandClock) -> None:
    lockout = Lockout(clock)
    lockout.succeeded("ann", "home")
    for number in range(1000):
        lockout.failed("ann", f"place {number}")
    assert lockout.wait("ann", "yet another")
    assert not lockout.wait("ann", "home")
    for _ in range(HERE.free):
        lockout.failed("ann", "home")
    assert lockout.wait("ann", "home")


def test_who_signs_in_is_forgiven_but_not_the_place(clock: HandClock) -> None:
    lockout = Lockout(clock)
    for _ in range(THERE.free):
        lockout.failed("ann", "there")
    clock.advance(HERE.longest)
    lockout.succeeded("ann", "there")
    assert lockout.locked() == frozenset()
    lockout.failed("ann", "there")
    assert lockout.locked() == frozenset()
    assert lockout.wait("bob", "there") == 2


def test_another_password_lets_a_user_in_at_once(clock: HandClock) -> None:
    lockout = Lockout(clock)
    for number in range(40):
        lockout.failed("ann", "there" if number % 2 else f"place {number}")
        lockout.failed("bob", "yonder")
    assert lockout.locked() == {"ann", "bob"}
    lockout.forgive("ann")
    assert lockout.locked() == {"bob"}
    assert not lockout.wait("ann", "elsewhere")
    assert lockout.wait("ann", "yonder"), "the place has failed all the same"


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("somewhere", "somewhere"),
    ],
)
def test_a_whole_network_of_ipv6_is_one_place(address: str, place: str) -> None:
    assert locks.place_of(address) == place


def test_failures_are_forgotten_after_an_hour(clock: HandClock) -> None:
    lockout = Lockout(clock)
    for _ in range(8):
        lockout.failed("ann", "there")
    clock.advance(locks.FORGOTTEN)
    lockout.failed("ann", "there")
    assert lockout.wait("ann", "there") == 0


def test_what_is_remembered_is_bounded(clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MOST", 50)
    lockout = Lockout(clock)
    for number in range(1000):
        lockout.failed(f"user{number}", f"address {number}")
        lockout.succeeded(f"user{number}", f"address {number}")
    assert len(vars(lockout)["_failed"]) <= 50
    assert len(vars(lockout)["_at_home"]) == 50
