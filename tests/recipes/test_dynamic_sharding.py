"""A dynamic sharding as its processes see it: real threads, a real clock, and all three registries."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise

import pytest

from shardwright.errors import RecipeError
from shardwright.recipes import dynamic_sharding
from shardwright.recipes.dynamic_sharding import DynamicSharding
from shardwright.recipes.slicing import Slice
from shardwright.registry import Create

from .heard import PATIENCE, Heard, listening, says
from .places import Place, fail_inside, until

PAUSE = "pause"

Calls = Heard["Slice | str | None"]


class Member:
    """One that takes part as if in a process of its own, and remembers what it was told."""

    def __init__(
        self,
        place: Place,
        number: int = 1,
        *,
        on_start: Callable[[], object] = lambda: None,
        on_completed: Callable[[Slice | None], object] = lambda slice: None,
        exclusive: bool = False,
        order: str = "sticky",
        deadline: float = 30.0,
        door: str | None = None,
    ) -> None:
        self.told: Calls = Heard()

        def start() -> None:
            on_start()
            self.told(PAUSE)

        def completed(mine: Slice | None) -> None:
            self.told(mine)
            on_completed(mine)

        self.sharding = DynamicSharding(
            f"{place.root}/slices",
            on_start=start,
            on_completed=completed,
            exclusive=exclusive,
            order=order,
            deadline=deadline,
            registry=door or place.door(),
            address=f"10.0.0.{number}",
        )

    @property
    def slice(self) -> Slice | None:
        return self.sharding.slice

    @property
    def id(self) -> str:
        assert self.sharding._part is not None
        return self.sharding._part.me

    def has(self, total: int) -> Slice:
        """Its slice, as soon as it is one of so many."""
        until(self.sharding, lambda: self.slice is not None and self.slice.total == total)
        assert self.slice is not None
        return self.slice


def divided(members: Sequence[Member]) -> list[int]:
    """The members' slices, as soon as they are as many: all of them, under one epoch."""
    slices = [each.has(len(members)) for each in members]
    indexes = [each.index for each in slices]
    assert sorted(indexes) == list(range(len(members)))
    assert len({each.epoch for each in slices}) == 1
    return indexes


def run(running: ExitStack, *members: Member) -> None:
    for each in members:
        running.enter_context(each.sharding)


# As many slices as members


def test_one_alone_has_all_of_it_and_is_told_so(place: Place) -> None:
    only = Member(place)
    with only.sharding:
        mine = only.sharding.wait(PATIENCE)
        assert mine is not None
        assert (mine.index, mine.total) == (0, 1)
        only.told.until(lambda told: told == [PAUSE, mine])
    assert only.slice is None
    assert only.told.all == [PAUSE, mine, PAUSE]


def test_slices_cover_from_one_to_five_members_and_back_to_two(place: Place) -> None:
    with ExitStack() as running:
        first = Member(place, 1)
        run(running, first)
        assert divided([first]) == [0]
        more = [Member(place, number) for number in range(2, 6)]
        run(running, *more)
        divided([first, *more])
        for each in more[1:]:
            each.sharding.stop()
        divided([first, more[0]])
    assert place.names(f"{place.root}/slices/instances") == ()


def test_two_of_one_process_have_a_slice_each(place: Place) -> None:
    door = place.door()
    members = [Member(place, 1, door=door), Member(place, 1, door=door)]
    with ExitStack() as running:
        run(running, *members)
        divided(members)


def test_who_is_which_slice_stands_in_the_registry_and_nothing_else_does(place: Place) -> None:
    with ExitStack() as running:
        members = [Member(place, number) for number in (1, 2)]
        run(running, *members)
        root = f"{place.root}/slices"
        for each, index in zip(members, divided(members), strict=True):
            found = place.read(f"{root}/sharding/{index}/instance")
            assert found is not None
            assert (found.data, found.owner) == (each.id, "")
            card = place.read(f"{root}/instances/{each.id}")
            assert card is not None
            assert card.data == f"instanceId: {each.id}\nserverIp: {each.id.partition('@-@')[0]}\n"
        assert place.names(f"{root}/sharding") == ("0", "1")
        assert place.names(f"{root}/leader/sharding") in ((), ("acknowledged",))


def test_epochs_grow_with_every_round(place: Place) -> None:
    first = Member(place, 1)
    with first.sharding:
        first.told.until(lambda told: len(told) == 2)
        with Member(place, 2).sharding:
            first.told.until(lambda told: len(told) == 4)
        told = first.told.until(lambda told: len(told) == 6)
    epochs = [each.epoch for each in told if isinstance(each, Slice)]
    assert epochs == sorted(set(epochs))


def test_sorted_slices_go_by_the_members_ids(place: Place) -> None:
    with ExitStack() as running:
        members = [Member(place, number, order="sorted") for number in (3, 1, 2)]
        run(running, *members)
        assert divided(members) == [2, 0, 1]


def test_sticky_slices_stay_where_they_are(place: Place) -> None:
    with ExitStack() as running:
        members = [Member(place, number) for number in (3, 2, 1)]
        for count, each in enumerate(members, start=1):
            run(running, each)
            assert divided(members[:count]) == list(range(count))
        members[0].sharding.stop()
        after = divided(members[1:])
        assert after == [1, 0]  # the one in the middle keeps its own, and the last fills the gap


# What a member is told


def test_pauses_and_their_ends_are_told_in_turns(place: Place) -> None:
    first = Member(place, 1)
    with first.sharding:
        first.has(1)
        for number in range(2, 5):
            with Member(place, number).sharding:
                first.has(2)
            first.has(1)
    told = first.told.all
    assert told[0] == told[-1] == PAUSE
    assert all((before == PAUSE) != (after == PAUSE) for before, after in pairwise(told))


def test_what_fails_when_it_is_told_does_not_stop_the_rest(place: Place) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("as it was told to")

    with listening() as said, ExitStack() as running:
        first = Member(place, 1, on_start=fail, on_completed=fail, exclusive=True)
        second = Member(place, 2, exclusive=True)
        run(running, first, second)
        divided([first, second])
        said.until(lambda lines: sum("has failed" in line for line in lines) >= 2)
        said.until(says("ERROR", "slices: on_start has failed"))
        said.until(says("ERROR", "slices: on_completed has failed"))


def test_while_a_round_is_open_nobody_has_a_slice(place: Place) -> None:
    paused, may_go_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        if first.told.all:
            paused.set()
            may_go_on.wait(PATIENCE)

    first = Member(place, 1, on_start=hold_up, exclusive=True)
    second = Member(place, 2, exclusive=True)
    with ExitStack() as running:
        run(running, first)
        first.has(1)
        run(running, second)
        assert paused.wait(PATIENCE)
        assert first.slice is None
        assert second.sharding.wait(0.3) is None
        assert place.read(f"{place.root}/slices/leader/sharding/necessary") is not None
        may_go_on.set()
        divided([first, second])
        assert place.read(f"{place.root}/slices/leader/sharding/necessary") is None


def test_one_whose_pause_does_not_end_holds_up_the_others_no_longer_than_its_deadline(place: Place) -> None:
    may_go_on = threading.Event()

    def hang() -> None:
        if first.told.all:
            may_go_on.wait(PATIENCE)

    first = Member(place, 1, on_start=hang, exclusive=True, deadline=0.5)
    second = Member(place, 2, exclusive=True, deadline=0.5)
    with ExitStack() as running, listening() as said:
        run(running, first)
        first.has(1)
        run(running, second)
        second.has(2)
        assert PAUSE not in first.told.all[1:]
        said.until(says("WARNING", "slices:", first.id, "did not pause within 0.5 s: not waited for"))
        may_go_on.set()
        divided([first, second])


def test_without_exclusive_nobody_is_waited_for(place: Place) -> None:
    may_go_on = threading.Event()

    def hang() -> None:
        if first.told.all:
            may_go_on.wait(2 * PATIENCE)

    first, second = Member(place, 1, on_start=hang), Member(place, 2)
    with ExitStack() as running:
        run(running, first)
        first.has(1)
        run(running, second)
        second.has(2)
        assert PAUSE not in first.told.all[1:]
        may_go_on.set()


def test_one_that_stops_pauses_first_and_its_slice_is_nobodys_until_then(place: Place) -> None:
    pausing, may_go_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        if first.told.all:
            pausing.set()
            may_go_on.wait(PATIENCE)

    first, second = Member(place, 1, on_start=hold_up), Member(place, 2)
    with second.sharding:
        second.has(1)
        first.sharding.start()
        first.told.until(lambda told: len(told) == 2)
        before = second.has(2)
        stopping = threading.Thread(target=first.sharding.stop)
        stopping.start()
        assert pausing.wait(PATIENCE)
        assert first.slice is None
        assert second.slice == before
        may_go_on.set()
        stopping.join(PATIENCE)
        assert [each == PAUSE for each in first.told.all] == [True, False, True]
        second.has(1)


def test_with_exclusive_one_that_stops_is_waited_for_until_its_deadline(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else is given its slice before it has paused, unless it says how long that may take."""
    monkeypatch.setattr(dynamic_sharding, "LEAVING", 0.1)
    may_go_on = threading.Event()

    def hold_up() -> None:
        if first.told.all:
            may_go_on.wait(PATIENCE)

    first = Member(place, 1, on_start=hold_up, exclusive=True)
    second = Member(place, 2, exclusive=True)
    with second.sharding:
        second.has(1)
        first.sharding.start()
        before = second.has(2)
        first.told.until(lambda told: len(told) == 2)
        stopping = threading.Thread(target=first.sharding.stop)
        stopping.start()
        stopping.join(0.5)
        assert stopping.is_alive()
        assert second.slice == before
        may_go_on.set()
        second.has(1)
        stopping.join(PATIENCE)


def test_what_came_too_late_to_be_told_is_not_told_after_the_end(place: Place) -> None:
    pausing, may_go_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        if first.told.all:
            pausing.set()
            may_go_on.wait(PATIENCE)

    first = Member(place, 1, on_start=hold_up, exclusive=True, deadline=0.3)
    second = Member(place, 2, exclusive=True, deadline=0.3)
    with ExitStack() as running:
        run(running, first)
        first.told.until(lambda told: len(told) == 2)
        run(running, second)
        assert pausing.wait(PATIENCE)
        first.has(2)  # it was not waited for, and has not been told
        first.sharding.stop(within=0.1)
        second.has(1)
        may_go_on.set()
        first.sharding.stop()
    assert [each == PAUSE for each in first.told.all] == [True, False, True]


def test_one_that_is_given_no_time_to_stop_has_nothing_afterwards_and_is_told_so(place: Place) -> None:
    only = Member(place)
    only.sharding.start()
    only.told.until(lambda told: len(told) == 2)
    only.sharding.stop(within=0.0)
    assert only.slice is None
    only.told.until(lambda told: told[0] == told[-1] == PAUSE and len(told) == 3)


def test_one_that_has_failed_inside_pauses_and_is_given_a_slice_again(place: Place) -> None:
    only = Member(place)
    with only.sharding:
        before = only.has(1)
        only.told.until(lambda told: len(told) == 2)
        fail_inside(only.sharding)
        told = only.told.until(lambda told: len(told) == 4)
        after = only.has(1)
    assert told == [PAUSE, before, PAUSE, after]
    assert after.epoch > before.epoch


def test_who_starts_again_is_given_a_slice_again(place: Place) -> None:
    only = Member(place)
    slices = []
    for _ in range(2):
        with only.sharding:
            slices.append(only.has(1))
    first, second = slices
    assert only.told.all == [PAUSE, first, PAUSE, second, PAUSE]


# What goes wrong


def test_a_member_that_cannot_be_read_is_given_no_slice_and_said(place: Place) -> None:
    with listening() as said, Member(place).sharding as sharding:
        place.write(Create(f"{place.root}/slices/instances/10.0.0.9@-@1", "not: [yaml"))
        said.until(says("WARNING", "slices: instances/10.0.0.9@-@1 cannot be read: it is given no slice"))
        mine = sharding.wait(PATIENCE)
        assert mine is not None
        assert (mine.index, mine.total) == (0, 1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"order": "random"}, "the order 'random' is not one of sticky, sorted"),
        ({"deadline": 0}, "the deadline is a number of seconds, more than 0, not 0"),
        ({"deadline": float("nan")}, "the deadline is a number of seconds, more than 0, not nan"),
        ({"name": ""}, "name a node below it"),
        ({"name": "/"}, "name a node below it"),
        ({"name": "a//b"}, "has a part that is empty"),
        ({"name": None}, "the name is a text, not None"),
        ({"deadline": "3"}, "the deadline is a number of seconds, more than 0, not '3'"),
        ({"exclusive": "no"}, "exclusive is True or False, not 'no'"),
        ({"on_start": None}, "on_start is a function, not None"),
        ({"on_completed": 5}, "on_completed is a function, not 5"),
        ({"address": ""}, "the address is a text that is not empty"),
        ({"address": "a/b"}, "the address 'a/b' has a slash in it"),
        ({"address": "a\x01b"}, "the address .* cannot be a node's name"),
        ({"address": "a@-@1"}, "the address 'a@-@1' has '@-@' in it"),
    ],
)
def test_what_cannot_be_is_refused_in_words(options: dict[str, object], why: str) -> None:
    with pytest.raises(RecipeError, match=why):
        DynamicSharding(**{"name": "slices", "registry": "memory://", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["@host", "h: x", "[::1]"])
def test_an_address_may_be_any_text_that_a_node_may_be_called(place: Place, address: str) -> None:
    with DynamicSharding(f"{place.root}/slices", address=address, registry=place.door()) as only:
        assert only.wait(PATIENCE) is not None


def test_what_is_told_cannot_stop_what_waits_for_it_to_come_back(place: Place) -> None:
    refused: Heard[str] = Heard()

    def stop(_: object) -> None:
        with pytest.raises(RecipeError) as error:
            only.sharding.stop()
        refused(str(error.value))

    only = Member(place, on_completed=stop)
    with only.sharding:
        assert "cannot call stop()" in refused.until(len)[0]
        only.has(1)


def test_what_runs_cannot_be_started_and_what_does_not_can_be_stopped(place: Place) -> None:
    sharding = Member(place).sharding
    sharding.stop()
    with pytest.raises(RecipeError, match=r"slices: this does not run: call start\(\) first"):
        sharding.wait()
    with sharding, pytest.raises(RecipeError, match="runs already"):
        sharding.start()
    sharding.stop()
