"""Again: a fire of the past is claimed under its own name when nothing is due, and is then off the list."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from shardwright.coordination import again, claim, ending, firing
from shardwright.coordination.step import Claim, Delete, Put, Step
from shardwright.coordination.view import Hooks, Run, Source
from shardwright.registry import Node

from .test_firing import FIRE, LED, T, cursor, owned, starts
from .views import MADE, NOW, A, Told, a_view

OLD = (NOW - timedelta(hours=1)).isoformat()
OLDER = (NOW - timedelta(hours=2)).isoformat()


def wishing(*wishes: again.Wish) -> dict[str, Told]:
    return {**LED, **owned(A, A), "~again/0": (again.text(wishes, MADE), 5)}


def writes(steps: Sequence[object]) -> list[object]:
    return [write for step in steps if isinstance(step, Step) for write in step.writes]


def test_a_fire_of_the_past_is_claimed_by_its_name_and_goes_off_the_list_in_the_same_commit() -> None:
    view = a_view(wishing((OLDER, 2), (OLD, 2)), now=NOW, cursors={0: cursor(), 1: cursor()})
    steps = list(firing.decide(view))
    assert starts(list(steps)) == [Claim(0, OLDER, Source.TRIGGER, "4", 2)]
    assert Put("~again/0", again.text([(OLD, 2)], MADE), 5) in writes(steps)


def test_with_the_last_one_the_list_goes() -> None:
    view = a_view(wishing((OLD, 2)), now=NOW, cursors={0: cursor(), 1: cursor()})
    assert Delete("~again/0", 5) in writes(list(firing.decide(view)))


def test_it_leaves_the_place_in_the_schedule_where_it_is() -> None:
    view = a_view(wishing((OLD, 2)), now=NOW, cursors={0: cursor(), 1: cursor()})
    moved = [
        write for write in writes(list(firing.decide(view))) if getattr(write, "path", "") == "~~cursor/0"
    ]
    assert [claim.read(write.data).at for write in moved if isinstance(write, Put)] == [NOW]


def test_what_is_due_goes_first() -> None:
    view = a_view(wishing((OLD, 2)), now=T, cursors={0: cursor(), 1: cursor()})
    steps = list(firing.decide(view))
    assert [each.fire for each in starts([*steps])] == [FIRE, FIRE]
    assert Delete("~again/0", 5) not in writes(steps)


def fallen_into_a_run(*, past: bool = False) -> dict[int, Node | None]:
    """A shard whose run has just ended, and took longer than to the next fire."""
    return {0: cursor(ended=T + timedelta(seconds=1), past=past), 1: cursor(at=T)}


@pytest.mark.parametrize(("past", "first"), [(False, OLD), (True, FIRE)])
def test_where_a_shard_is_never_idle_they_take_turns(past: bool, first: str) -> None:
    view = a_view(wishing((OLD, 2)), now=T + timedelta(seconds=2), cursors=fallen_into_a_run(past=past))
    assert [each.fire for each in starts([*firing.decide(view)])] == [first]


def test_whose_turn_it_was_is_in_the_cursor() -> None:
    view = a_view(wishing((OLD, 2)), now=T + timedelta(seconds=2), cursors=fallen_into_a_run())
    moved = [each for each in writes(list(firing.decide(view))) if getattr(each, "path", "") == "~~cursor/0"]
    assert [claim.read(each.data).past for each in moved if isinstance(each, Put)] == [True]


def test_a_fire_that_ends_the_run_before_it_does_not_wait_for_one_of_the_past() -> None:
    view = a_view(
        wishing((OLD, 2)),
        now=T + timedelta(seconds=2),
        cursors=fallen_into_a_run(),
        config={"overlap": "cancel"},
    )
    assert [each.fire for each in starts([*firing.decide(view)])] == [FIRE]


def test_what_is_owed_stays_owed() -> None:
    view = a_view(
        {**wishing((OLD, 2)), "sharding/0/misfire": ""},
        now=T + timedelta(seconds=2),
        cursors=fallen_into_a_run(),
    )
    steps = list(firing.decide(view))
    assert [each.fire for each in starts([*steps])] == [OLD]
    assert Delete("sharding/0/misfire") not in writes(steps)


def test_a_shard_that_runs_is_waited_for() -> None:
    view = a_view(
        {**wishing((OLD, 2)), "sharding/0/running": (A, 0, "s")},
        now=NOW,
        cursors={0: cursor(run=claim.Tenure(A, "3", FIRE, "scheduled", 1)), 1: cursor()},
        runs={0: Run("3", None, FIRE)},
    )
    assert starts([*firing.decide(view)]) == []


def test_no_milestone_goes_back_for_it() -> None:
    view = a_view(
        wishing((OLD, 2)),
        now=NOW,
        cursors={0: cursor(), 1: cursor()},
        hooks=Hooks(started=True, completed=True),
    )
    paths = [getattr(write, "path", "") for write in writes(list(firing.decide(view)))]
    assert not [path for path in paths if path.startswith("~barrier")]
    over = a_view(
        {**LED, **owned(A, A), "sharding/0/running": (A, 0, "s")},
        now=NOW,
        cursors={0: cursor(run=claim.Tenure(A, "3", OLD, "trigger", 2)), 1: cursor()},
        runs={0: Run("3", "ok", OLD)},
        hooks=Hooks(started=True, completed=True),
    )
    paths = [getattr(write, "path", "") for write in writes(list(ending.decide(over)))]
    assert not [path for path in paths if path.startswith("~barrier")]


@pytest.mark.parametrize(
    "told",
    [
        *("", "x", "[3]", '{"a": 1}', "[[[]]]", "null", f'[["{OLD}", 1]]', f'{{"fires": [["{OLD}", 1]]}}'),
        *(f'{{"made": {MADE}, "fires": {fires}}}' for fires in ('[["x", 1]]', '[["2030-01-01", 1]]', "3")),
        f'{{"made": 1e999, "fires": [["{OLD}", 1]]}}',
    ],
)
def test_what_makes_no_sense_asks_for_nothing(told: str) -> None:
    view = a_view({**LED, **owned(A, A), "~again/0": told}, now=NOW, cursors={0: cursor(), 1: cursor()})
    assert starts([*firing.decide(view)]) == []
