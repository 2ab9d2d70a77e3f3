"""Masters and slices broken by chance: nothing that is promised is broken, and what was planted is found."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest

from shardwright.coordination.step import Look, Step, do
from shardwright.recipes import candidacy, slicing
from shardwright.recipes.slicer import Slicer
from shardwright.recipes.slicing import GoOn
from tests.recipes import mastership, slices

pytestmark = pytest.mark.simulation

SEEDS = 150

#: How many seeds a planted bug may take to be found.
ENOUGH = 300

#: What is objected to where a slice is given before its holder has given it up.
TWO = "two hold one slice|two divisions of the work at once"

#: What happens to the processes of a job happens to these too.
NEMESES = (
    *("crash", "crash_all", "restart", "pause", "cut", "lose_reply", "expire", "slow", "leave"),
    "step_clock",
)

Seen = tuple[int, int, Counter[str]]


def a_mastership(seed: int) -> Seen:
    logging.disable(logging.CRITICAL)
    hall = mastership.run(seed)
    return hall.looks, hall.faults, hall.seen


def some_slices(seed: int) -> Seen:
    logging.disable(logging.CRITICAL)
    hall = slices.run(seed)
    return hall.looks, hall.faults, hall.seen


def many(one: Callable[[int], Seen]) -> Counter[str]:
    seen: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool:
        for looks, faults, what in pool.map(one, range(1, SEEDS + 1), chunksize=5):
            assert looks > 50
            assert faults >= 3
            seen += what
    return seen


@pytest.mark.slow
def test_there_is_one_master_whatever_happens_and_one_in_the_end() -> None:
    seen = many(a_mastership)
    for what in (*NEMESES, "resign", "delete", "relieve"):
        assert seen[what], what
    for what in ("designate", "nobody designated", "lost", "connected", "master"):
        assert seen[what], what


@pytest.mark.slow
def test_no_slice_has_two_holders_and_in_the_end_all_are_had() -> None:
    seen = many(some_slices)
    for what in (*NEMESES, "delete", "delete_instance", "reshard"):
        assert seen[what], what
    for what in ("start", "completed", "lost", "connected"):
        assert seen[what], what


def test_the_same_seed_tells_the_same_story() -> None:
    assert mastership.run(7).log == mastership.run(7).log
    assert slices.run(7).log == slices.run(7).log


# What was planted


def found(run: Callable[[int], object]) -> tuple[int, str]:
    """The first seed that objects, and to what."""
    for seed in range(1, ENOUGH + 1):
        try:
            run(seed)
        except AssertionError as objection:
            return seed, str(objection).partition("\n")[0]
    return 0, "nothing was found"


def the_text_makes_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidacy, "_is_ours", lambda view, held: held.data == view.address)


def stands_down_when_it_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    token = candidacy.token

    def late(view: candidacy.View) -> int | None:
        return token(replace(view, local=replace(view.local, leaving=False, resigning=False)))

    monkeypatch.setattr(candidacy, "token", late)


def a_version_is_guard_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidacy, "_use_warrant", lambda view: [])


def strangers_are_respected_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidacy, "_fill_anew", lambda view, held: iter(()))


def stands_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = candidacy._stand

    def once(view: candidacy.View) -> Iterator[object]:
        return iter(()) if view.tree.since(candidacy.node(view.service)) > 1 else stand(view)

    monkeypatch.setattr(candidacy, "_stand", once)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "objection"),
    [
        (the_text_makes_the_master, r"is master under \d+, which was"),
        (stands_down_when_it_hears_of_it, "two masters"),
        (a_version_is_guard_enough, "takes away the node of"),
        (strangers_are_respected_for_ever, r"in the end masters are \[\]"),
        (stands_only_once, r"in the end masters are \[\]"),
    ],
)
def test_a_bug_planted_in_mastership_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    objection: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    plant(monkeypatch)
    seed, why = found(mastership.run)
    record_property("seeds", seed)
    assert re.search(objection, why), why


def nobody_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "_awaited", lambda view, there: [])


def acknowledges_before_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    acknowledge = slicing.acknowledge
    monkeypatch.setattr(
        slicing,
        "acknowledge",
        lambda view: acknowledge(replace(view, local=replace(view.local, at_rest=True))),
    )


def old_acknowledgements_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def awaited(view: slicing.View, there: list[str]) -> list[str]:
        holders = {who for who in slicing.shared_out(view) if who in there and who is not None}
        return [who for who in holders if not view.tree.get(f"{slicing.ACKNOWLEDGED}/{who}")]

    monkeypatch.setattr(slicing, "_awaited", awaited)


def whose_instance_is_gone_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    awaited = slicing._awaited
    monkeypatch.setattr(
        slicing, "_awaited", lambda view, there: [who for who in awaited(view, there) if who in there]
    )


def an_older_round_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        slicing, "last_round", lambda view: len(slicing.shared_out(view)) if slicing.shared_out(view) else 0
    )


def any_rest_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = Slicer.rests
    monkeypatch.setattr(Slicer, "rests", lambda self, pause: rests(self, self._pauses))


def rounds_of_the_dead_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    lead = slicing.lead

    def only_ones_own(view: slicing.View) -> Iterator[Step | Look]:
        made = {
            path: view.tree.node(path).made
            for path in (slicing.LEADER, slicing.NECESSARY)
            if path in view.tree
        }
        if made.get(slicing.NECESSARY, made[slicing.LEADER]) < made[slicing.LEADER]:
            return iter(())
        return lead(view)

    monkeypatch.setattr(slicing, "lead", only_ones_own)


def only_who_goes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lead = slicing.lead

    def blind(view: slicing.View) -> Iterator[Step | Look]:
        holders = slicing.shared_out(view)
        if holders and set(holders) < set(slicing.live(view)) and not slicing.is_open(view):
            return iter(())
        return lead(view)

    monkeypatch.setattr(slicing, "lead", blind)


def a_flag_that_came_and_went_is_told_by_its_end_only(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = slicing.tell

    def only_the_end(view: slicing.View) -> Iterator[Step]:
        round_, last = view.local.round, slicing.last_round(view)
        if round_ is not None and last > round_ and not slicing.is_open(view):
            return iter([do(then=GoOn(last, slicing.mine(view)))])
        return tell(view)

    monkeypatch.setattr(slicing, "tell", only_the_end)


def a_lost_lease_pauses_who_has_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slicer, "lose_lease", Slicer._be_paused)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "objection"),
    [
        (nobody_is_awaited, TWO),
        (acknowledges_before_it_rests, TWO),
        (old_acknowledgements_count, TWO),
        (whose_instance_is_gone_is_not_awaited, TWO),
        (an_older_round_is_told, r"the epoch \d+ after"),
        (any_rest_will_do, TWO),
        (rounds_of_the_dead_are_left_open, r"in the end slices are had by {}"),
        (only_who_goes_is_noticed, "in the end slices are had by"),
        (a_flag_that_came_and_went_is_told_by_its_end_only, "completed twice in a row"),
        (a_lost_lease_pauses_who_has_paused, "start twice in a row"),
    ],
)
def test_a_bug_planted_in_slicing_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    objection: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    plant(monkeypatch)
    seed, why = found(lambda seed: slices.run(seed, exclusive=True))
    record_property("seeds", seed)
    assert re.search(objection, why), why
