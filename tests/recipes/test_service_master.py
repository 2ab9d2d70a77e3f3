"""A service's master as its replicas see it: real threads, a real clock, and all three registries."""

import asyncio
import threading
from contextlib import ExitStack
from functools import partial

import pytest

from shardwright import registry as registries
from shardwright.errors import RecipeError, RegistryUrlError
from shardwright.recipes import candidacy, participant
from shardwright.recipes.service_master import Masters, ServiceMaster
from shardwright.registry import Create, Delete, Put, Registry

from .heard import PATIENCE, Heard, listening, says
from .places import Place, until

ACCOUNT = "Account:1.0.0"


def services(place: Place) -> str:
    return f"{place.root}/soa/master/services"


def node(place: Place) -> str:
    return f"{services(place)}/{ACCOUNT}"


def master(place: Place, address: str, service: str = "Account", door: str | None = None) -> ServiceMaster:
    """One that stands as if in a process of its own."""
    return ServiceMaster(
        service, address=address, registry=door or place.door(), root=f"{place.root}/soa/master"
    )


# Who is master


def test_the_first_to_come_is_master_and_the_second_is_not(place: Place) -> None:
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        with master(place, "b:1") as second:
            assert second.wait(0.1) is False
            assert (first.is_master, second.is_master) == (True, False)
            assert first.masters() == second.masters() == {ACCOUNT: "a:1"}
    held = place.names(services(place))
    assert held == ()


def test_the_node_is_as_other_languages_make_it_and_nothing_else_stands_beside_it(place: Place) -> None:
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        found = place.read(node(place))
        assert found is not None
        assert found.data == "a:1"
        assert found.owner
        assert place.names(services(place)) == (ACCOUNT,)
        assert place.names(f"{place.root}/soa/master/candidates/{ACCOUNT}") == ("a:1",)


def test_of_several_that_come_at_once_one_is_master(place: Place) -> None:
    won: Heard[str] = Heard()
    everybody = {f"{name}:1": master(place, f"{name}:1") for name in "abcd"}
    with ExitStack() as running:
        for address, each in everybody.items():
            each.on_change(partial(lambda address, leading: won(address), address))
            running.enter_context(each)
        won.until(len)
        for each in everybody.values():
            until(each, partial(each.master_of, ACCOUNT))
        assert [address for address, each in everybody.items() if each.is_master] == won.all
        assert {each.master_of(ACCOUNT) for each in everybody.values()} == set(won.all)


def test_one_that_exits_in_order_hands_over_before_its_session_could_end(place: Place) -> None:
    first, second = master(place, "a:1"), master(place, "b:1")
    first.start()
    assert first.wait(PATIENCE)
    with second:
        before = first.token
        first.stop()
        assert not first.is_master
        assert second.wait(place.session / 2)
        assert before is not None
        assert second.token is not None
        assert second.token > before


def test_one_that_is_given_no_time_to_leave_is_not_master_afterwards(place: Place) -> None:
    first = master(place, "a:1")
    first.start()
    assert first.wait(PATIENCE)
    first.stop(within=0.0)
    assert (first.is_master, first.token, first.lease_left) == (False, None, 0.0)


def test_one_of_two_in_a_process_that_is_given_no_time_to_leave_is_out_of_it_all_the_same(
    place: Place,
) -> None:
    """They share a session, and that goes on."""
    door = place.door()
    with master(place, "a:1", "Order", door):
        first = master(place, "a:1", door=door)
        first.start()
        assert first.wait(PATIENCE)
        first.stop(within=0.0)
        with master(place, "b:1") as second:
            assert second.wait(PATIENCE)


def test_who_starts_again_is_a_candidate_again(place: Place) -> None:
    first = master(place, "a:1")
    tokens = []
    for _ in range(2):
        with first:
            assert first.wait(PATIENCE)
            tokens.append(first.token or 0)
        assert not first.is_master
    assert tokens[0] < tokens[1]


def test_one_that_resigns_lets_another_go_first(place: Place) -> None:
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        with master(place, "b:1") as second:
            first.resign()
            assert (first.is_master, first.token, first.lease_left) == (False, None, 0.0)
            assert second.wait(PATIENCE)
            until(first, lambda: first.master_of(ACCOUNT) == "b:1")
            assert not first.is_master


def test_one_that_resigns_and_finds_nobody_else_is_master_again_after_a_while(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidacy, "STAND_BACK", 0.2)
    heard: Heard[bool] = Heard()
    first = master(place, "a:1")
    first.on_change(heard)
    with first:
        heard.until(lambda calls: calls == [True])
        first.resign()
        heard.until(lambda calls: calls == [True, False, True])


def test_versions_of_a_service_have_a_master_each(place: Place) -> None:
    door, root = place.door(), f"{place.root}/soa/master"
    old = ServiceMaster("Account", version="1.0.0", address="a:1", registry=door, root=root)
    new = ServiceMaster("Account", version="2.0.0", address="a:1", registry=door, root=root)
    with old, new:
        assert old.wait(PATIENCE)
        assert new.wait(PATIENCE)
        until(old, lambda: old.masters() == {"Account:1.0.0": "a:1", "Account:2.0.0": "a:1"})


# What a master is told, and may do


def test_changes_are_told_in_order_and_a_callback_that_fails_does_not_stop_the_next(place: Place) -> None:
    heard: Heard[bool] = Heard()
    first = master(place, "a:1")

    @first.on_change
    def fails(leading: bool) -> None:
        raise RuntimeError("as it was told to")

    first.on_change(heard)
    with listening() as said:
        for _ in range(2):
            with first:
                assert first.wait(PATIENCE)
        heard.until(lambda calls: calls == [True, False, True, False])
        said.until(says("ERROR", ACCOUNT, "has failed"))


def test_a_master_may_stop_and_resign_in_what_it_is_told(place: Place) -> None:
    stopped: Heard[bool] = Heard()
    resigned: Heard[bool] = Heard()
    first, second = master(place, "a:1"), master(place, "b:1")
    first.on_change(lambda leading: first.stop() if leading else stopped(leading))
    # Whoever resigns stands again after a while: how often that is, nobody knows.
    second.on_change(lambda leading: second.resign() if leading else resigned(leading))
    with second:
        resigned.until(bool)
        first.start()
        stopped.until(bool)
    assert not any(stopped.all + resigned.all)


def test_a_function_only_for_the_master_does_nothing_elsewhere(place: Place) -> None:
    first, second = master(place, "a:1"), master(place, "b:1")

    @first.only
    def settle(amount: int, *, currency: str = "EUR") -> str:
        """Settle it."""
        return f"{amount} {currency}"

    @second.only
    def never() -> str:
        raise AssertionError("this is not the master")

    assert settle(1) is None
    assert (settle.__name__, settle.__doc__) == ("settle", "Settle it.")
    with first:
        assert first.wait(PATIENCE)
        with second:
            assert settle(3, currency="CNY") == "3 CNY"
            assert never() is None
    assert settle(1) is None


def test_a_coroutine_only_for_the_master_does_nothing_elsewhere(place: Place) -> None:
    first = master(place, "a:1")

    @first.only
    async def settle(amount: int) -> int:
        await asyncio.sleep(0)
        return amount

    assert asyncio.run(settle(1)) is None
    with first:
        assert first.wait(PATIENCE)
        assert asyncio.run(settle(3)) == 3


def test_a_master_knows_for_how_long_nobody_else_can_be(place: Place) -> None:
    first = master(place, "a:1")
    assert first.lease_left == 0.0
    with first:
        assert first.wait(PATIENCE)
        assert 0.0 < first.lease_left < place.session
    assert first.lease_left == 0.0


# What operators do


def test_one_designated_by_hand_is_master_at_once_and_stays_so_when_the_old_one_goes(place: Place) -> None:
    heard: Heard[bool] = Heard()
    first, second = master(place, "a:1"), master(place, "b:1")
    first.on_change(heard)
    with second, listening() as said, ExitStack() as old:
        first_is_master(first, second, old)
        before = first.token or 0
        place.write(Put(node(place), "b:1"))
        assert second.wait(place.session / 2)
        heard.until(lambda calls: calls == [True, False])
        said.until(says(ACCOUNT, "a:1 stands down", "b:1"))
        said.until(says(ACCOUNT, "b:1 takes over, as the node says"))
        token = second.token
        assert token is not None
        assert token > before
        old.close()
        found = place.read(node(place))
        assert found is not None
        assert (found.data, found.made) == ("b:1", token)
        assert second.token == token


def test_a_lost_election_is_logged_and_so_is_every_designation(place: Place) -> None:
    first, second = master(place, "a:1"), master(place, "b:1")
    with listening() as said, first:
        assert first.wait(PATIENCE)
        with second:
            said.until(says("INFO", ACCOUNT, "a:1 is master, and b:1 stands by"))
            for _ in range(2):
                place.write(Put(node(place), "b:1"))
                until(first, lambda: not first.is_master)
                assert second.wait(PATIENCE)
                place.write(Put(node(place), "a:1"))
                until(second, lambda: not second.is_master)
                assert first.wait(PATIENCE)
            said.until(lambda lines: sum("takes over, as the node says" in line for line in lines) == 4)


def first_is_master(first: ServiceMaster, second: ServiceMaster, running: ExitStack) -> None:
    """Whoever won: the first starts, and the second resigns until that is master."""
    running.enter_context(first)
    while not first.wait(0.1):
        second.resign()


def test_an_address_that_nobody_has_is_followed_by_an_election_after_a_grace(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidacy, "GRACE", 0.2)
    heard: Heard[bool] = Heard()
    first = master(place, "a:1")
    first.on_change(heard)
    with first, listening() as said:
        assert first.wait(PATIENCE)
        before = first.token or 0
        place.write(Put(node(place), "nobody:1"))
        said.until(says(ACCOUNT, "nobody is 'nobody:1', who was designated: elected anew"))
        heard.until(lambda calls: calls == [True, False, True])
        until(first, lambda: first.master_of(ACCOUNT) == "a:1")
        assert (first.token or 0) > before


def test_a_master_whose_node_is_deleted_by_hand_steps_down_and_stands_again(place: Place) -> None:
    heard: Heard[bool] = Heard()
    first = master(place, "a:1")
    first.on_change(heard)
    with first:
        assert first.wait(PATIENCE)
        before = first.token or 0
        place.write(Delete(node(place)))
        heard.until(lambda calls: calls == [True, False, True])
        assert (first.token or 0) > before


def test_where_everything_is_deleted_by_hand_all_of_it_is_made_again(place: Place) -> None:
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        before = first.token or 0
        place.write(Delete(f"{place.root}/soa", recursive=True))
        until(first, lambda: (first.token or 0) > before)
        assert place.names(f"{place.root}/soa/master/candidates/{ACCOUNT}") == ("a:1",)


def test_a_node_that_no_session_would_end_is_said_to_be_so(place: Place) -> None:
    place.write(Create(node(place), "somebody:1"))
    with listening() as said, master(place, "a:1") as first:
        said.until(says("WARNING", ACCOUNT, node(place), "is persistent", "delete it"))
        assert not first.is_master
        assert first.master_of(ACCOUNT) == "somebody:1"
        place.write(Delete(node(place)))
        assert first.wait(PATIENCE)


# Who else is there


def test_a_second_process_with_the_same_address_is_refused_at_its_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidacy, "LINGERS", 0.05)
    second = master(place, "a:1")
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        with pytest.raises(
            RecipeError, match=r"Account:1\.0\.0: another is a candidate as a:1 already \(.+@-@.+\): give"
        ):
            second.start()
        assert first.is_master
        assert not second.is_master
    with second:
        assert second.wait(PATIENCE)


def test_a_second_one_is_refused_also_where_a_session_lasts_longer_than_anything_else(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidacy, "LINGERS", 0.1)
    monkeypatch.setattr(participant, "PATIENCE", 3.0)  # a session lasts 10 s
    with master(place, "a:1"), pytest.raises(RecipeError, match="another is a candidate as a:1 already"):
        master(place, "a:1").start()


def test_two_of_one_process_are_not_both_master_under_one_address(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidacy, "LINGERS", 0.05)
    door = place.door()
    with master(place, "a:1", door=door) as first:
        assert first.wait(PATIENCE)
        token = first.token
        with pytest.raises(RecipeError, match="another is a candidate as a:1 already"):
            master(place, "a:1", door=door).start()
        assert first.token == token


def test_one_that_could_not_start_does_not_become_a_candidate_later(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where others of its process keep their session."""
    door = place.door()
    with master(place, "a:1", "Order", door):
        with master(place, "a:1") as first:
            assert first.wait(PATIENCE)
            with monkeypatch.context() as short:
                short.setattr(ServiceMaster, "_patience", lambda self: 0.2)
                with pytest.raises(TimeoutError, match=r"Account:1\.0\.0: does not take part within 0\.2 s"):
                    master(place, "a:1", door=door).start()
        with master(place, "b:1") as second:
            assert second.wait(PATIENCE)
            assert place.names(f"{place.root}/soa/master/candidates/{ACCOUNT}") == ("b:1",)


def test_one_that_waits_to_be_master_is_let_go_when_it_is_stopped(place: Place) -> None:
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        with master(place, "b:1") as second:
            threading.Timer(0.2, second.stop).start()
            assert second.wait() is False


def test_one_that_is_stopped_while_it_starts_starts_no_further(place: Place) -> None:
    second = master(place, "a:1")
    with master(place, "a:1"), listening() as said:
        starting = threading.Thread(target=second.start)
        starting.start()
        said.until(says("WARNING", ACCOUNT, "a:1 is announced already, by", "to see whether it lives on"))
        second.stop()
        starting.join(place.session / 2)
        assert not starting.is_alive()
        with pytest.raises(RecipeError, match="does not run"):
            second.wait()


def test_one_that_could_not_leave_in_time_does_not_speak_for_whoever_follows(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others of its process keep the session, so it goes on until it has left."""
    monkeypatch.setattr(candidacy, "LINGERS", 0.5)
    door = place.door()
    with master(place, "b:1", "Order", door):
        first = master(place, "a:1", door=door)
        heard: Heard[bool] = Heard()
        first.on_change(heard)
        for _ in range(3):
            first.start()
            assert first.wait(PATIENCE)
            first.stop(within=0.0)
        heard.until(lambda calls: calls == [True, False] * 3)


def test_what_another_registry_does_holds_nobody_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, may_answer = threading.Event(), threading.Event()
    connect = registries.connect

    def silent(url: str) -> Registry:
        if "silent" in url:
            asked.set()
            may_answer.wait(PATIENCE)
        return connect(url)

    monkeypatch.setattr(registries, "connect", silent)
    other = ServiceMaster("Account", registry="memory://silent")
    starting = threading.Thread(target=other.start)
    with master(place, "a:1") as first:
        assert first.wait(PATIENCE)
        starting.start()
        assert asked.wait(PATIENCE)
        first.stop()
        assert not may_answer.is_set()
    may_answer.set()
    starting.join(PATIENCE)
    other.stop()


def test_one_that_only_asks_knows_all_masters_and_is_told_of_changes(place: Place) -> None:
    with Masters(registry=place.door(), root=f"{place.root}/soa/master") as asking:
        assert asking.masters() == {}
        assert asking.master_of(ACCOUNT) is None
        with master(place, "a:1"), master(place, "b:1", "Order"):
            until(asking, lambda: asking.masters() == {ACCOUNT: "a:1", "Order:1.0.0": "b:1"})
            assert asking.master_of("Order:1.0.0") == "b:1"
        until(asking, lambda: asking.masters() == {})
    assert place.names(f"{place.root}/soa/master/candidates/{ACCOUNT}") == ()


def test_one_that_asks_again_later_knows_nothing_from_before(place: Place) -> None:
    asking = Masters(registry=place.door(), root=f"{place.root}/soa/master")
    with master(place, "a:1"), asking:
        until(asking, lambda: asking.masters() == {ACCOUNT: "a:1"})
    with asking:
        assert asking.masters() == {}


# Mistakes


def test_what_runs_cannot_be_started_and_what_does_not_can_be_stopped(place: Place) -> None:
    first = master(place, "a:1")
    first.stop()
    for asked in (first.resign, first.wait, first.masters, partial(first.master_of, ACCOUNT)):
        with pytest.raises(RecipeError, match=r"Account:1\.0\.0: this does not run: call start\(\) first"):
            asked()
    with first:
        with pytest.raises(RecipeError, match=r"Account:1\.0\.0: this runs already"):
            first.start()
        assert first.wait(PATIENCE)
    first.stop()


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({"service": "Account/Settle"}, "the service 'Account/Settle' has a slash in it"),
        ({"service": ""}, "the service is a text that is not empty, not ''"),
        ({"version": "1/0"}, "the version '1/0' has a slash in it"),
        ({"address": "http://a:1"}, "the address 'http://a:1' has a slash in it"),
        ({"address": "a:1/settle"}, "the address 'a:1/settle' has a slash in it"),
        ({"address": "a\0:1"}, "the address 'a.*' cannot be a node's name"),
        ({"root": "soa/master"}, "the path 'soa/master' must begin with a slash"),
        ({"root": "/"}, "name a node below it"),
        ({"address": ""}, "the address is a text that is not empty, not ''"),
        ({"service": "Account:1.0.0"}, r"has a colon in it: its version is said apart, by version='1\.0\.0'"),
    ],
)
def test_a_name_that_no_node_can_have_is_refused_in_words(names: dict[str, str], why: str) -> None:
    with pytest.raises(RecipeError, match=why):
        ServiceMaster(**{"service": "Account", "registry": "memory://", **names})


def test_an_address_of_no_registry_is_refused_at_once() -> None:
    with pytest.raises(RegistryUrlError, match="begins with memory://"):
        ServiceMaster("Account", registry="localhost:2181")


def test_what_cannot_be_called_is_refused_in_words() -> None:
    async def soon(leading: bool) -> None:
        pass

    first = ServiceMaster("Account", registry="memory://")
    with pytest.raises(RecipeError, match="what on_change is given is a function, not None"):
        first.on_change(None)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="give it a function, not a coroutine"):
        first.on_change(soon)


def test_a_service_is_asked_for_with_its_version() -> None:
    asking = Masters(registry="memory://")
    with asking, pytest.raises(RecipeError, match="'Account' is a service without its version"):
        asking.master_of("Account")
