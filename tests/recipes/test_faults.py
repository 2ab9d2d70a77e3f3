"""Masters and slices in real processes, on a file and on ZooKeeper, with everything that can happen to a
process: it is killed, it is stopped and goes on later, it comes at the wrong moment."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from shardwright.recipes import slicing
from shardwright.recipes.service_master import ServiceMaster
from shardwright.registry import Put, Tree, connect
from tests.acceptance.notes import Notes
from tests.faults.processes import Child

from . import children
from .heard import PATIENCE
from .places import Place

ACCOUNT = "Account:1.0.0"

Note = dict[str, str | int]


class Scene:
    """The processes of a test, and what all of them have noted."""

    def __init__(self, place: Place, folder: Path, running: ExitStack) -> None:
        self.place = place
        self.masters = f"{place.root}/soa/master"
        self.slices = f"{place.root}/slices"
        self._path = folder / "notes.jsonl"
        self._notes = Notes(self._path)
        self._running = running
        running.callback(self._notes.close)

    def candidate(self, address: str) -> Child:
        child = Child(children.stand, self.place.door(), self.masters, address, str(self._path))
        return self._running.enter_context(child)

    def member(self, address: str, *, exclusive: bool = True, holds: bool = False) -> Child:
        place, path = self.place.door(), str(self._path)
        arguments = (place, self.slices, address, path, exclusive, holds)
        return self._running.enter_context(Child(children.take_a_slice, *arguments, listens=True))

    def kill(self, child: Child, address: str) -> None:
        self._notes.add("dead", who=address)
        child.kill()

    def stop(self, child: Child, address: str) -> None:
        child.stop()
        self._notes.add("dead", who=address)

    def wait(self, path: str, true: Callable[[Tree], object]) -> None:
        """Until the nodes below this path are as they should be."""
        with connect(self.place.door()) as registry:
            tree = registry.mirror(path)
            registry.wait_for(lambda: tree.synced and bool(true(tree)), PATIENCE)

    def notes(self) -> list[Note]:
        text = self._path.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@pytest.fixture
def scene(shared_place: Place, tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as running:
        yield Scene(shared_place, tmp_path, running)


# Masters


def accepted(notes: Sequence[Note]) -> tuple[list[Note], int]:
    """What a sink has taken that refuses smaller tokens than it knows, and how many it has refused."""
    taken: list[Note] = []
    refused = 0
    for note in notes:
        if note["what"] != "effect":
            continue
        if taken and note["token"] < taken[-1]["token"]:  # type: ignore[operator]
            refused += 1
        else:
            taken.append(note)
    return taken, refused


def tenures(taken: Sequence[Note]) -> list[str]:
    """Who was master, one after the other, by the tokens of what was taken; no token is two masters'."""
    by_token: dict[int, str] = {}
    for note in taken:
        assert by_token.setdefault(int(note["token"]), str(note["who"])) == note["who"]
    return [by_token[token] for token in sorted(by_token)]


@pytest.mark.slow
def test_when_the_master_is_killed_another_is_master(scene: Scene) -> None:
    first, second = one_is_master_and_one_is_not(scene)
    scene.kill(first, "a:1")
    second.expect("acts with token", PATIENCE)
    assert second.terminate(PATIENCE) == 0
    taken, refused = accepted(scene.notes())
    assert tenures(taken) == ["a:1", "b:1"]
    assert refused == 0


def one_is_master_and_one_is_not(scene: Scene) -> tuple[Child, Child]:
    first = scene.candidate("a:1")
    first.expect("acts with token", PATIENCE)
    second = scene.candidate("b:1")
    second.expect("is a candidate", PATIENCE)
    return first, second


@pytest.mark.slow
def test_a_master_that_was_stopped_for_longer_than_its_session_has_stood_down_when_it_goes_on(
    scene: Scene,
) -> None:
    """It may have been about to write when it was stopped: that comes too late, and its token tells."""
    first, second = one_is_master_and_one_is_not(scene)
    first.stop()
    second.expect("acts with token", PATIENCE)
    first.cont()
    first.expect("stands down", PATIENCE)
    scene.wait(scene.masters, lambda tree: f"candidates/{ACCOUNT}/a:1" in tree)
    assert first.terminate(PATIENCE) == 0
    taken, refused = accepted(scene.notes())
    assert tenures(taken) == ["a:1", "b:1"]
    assert refused <= 1


@pytest.mark.slow
def test_one_designated_by_hand_is_master_and_stays_so_when_the_old_one_is_killed(scene: Scene) -> None:
    first, second = one_is_master_and_one_is_not(scene)
    node = f"{scene.masters}/services/{ACCOUNT}"
    scene.place.write(Put(node, "b:1"))
    second.expect("acts with token", PATIENCE)
    first.expect("stands down", PATIENCE)
    scene.kill(first, "a:1")
    scene.wait(scene.masters, lambda tree: f"candidates/{ACCOUNT}/a:1" not in tree)
    found = scene.place.read(node)
    assert found is not None
    assert found.data == "b:1"
    assert "stands down" not in second.lines
    taken, _ = accepted(scene.notes())
    assert tenures(taken) == ["a:1", "b:1"]
    assert taken[-1]["token"] == found.made


def test_one_that_is_stopped_by_a_signal_while_it_starts_starts_no_further(scene: Scene) -> None:
    with ServiceMaster("Account", address="a:1", registry=scene.place.door(), root=scene.masters) as first:
        assert first.wait(PATIENCE)
        with Child(children.stop_when_told_to_end, scene.place.door(), scene.masters) as child:
            child.expect("is announced already", PATIENCE)
            assert child.terminate(PATIENCE) == 0
            child.expect("has come to its end")


def test_one_that_is_told_twice_to_stop_does_so(scene: Scene) -> None:
    with Child(children.stop_twice, scene.place.door(), scene.slices, listens=True) as child:
        child.expect("goes on", PATIENCE)
        child.tell("stop")
        child.expect("pauses", PATIENCE)
        assert child.terminate(PATIENCE) == 0
        child.expect("has come to its end")


@pytest.mark.slow
def test_what_a_process_is_its_forks_are_not_and_each_stands_for_itself(scene: Scene) -> None:
    with Child(children.fork, scene.place.door(), scene.masters, scene.slices, listens=True) as parent:
        parent.expect("parent: True True", PATIENCE)
        scene.wait(scene.masters, lambda tree: len(tree.children(f"candidates/{ACCOUNT}")) == 3)
        for number in range(2):
            assert f"child {number}: False None None" in parent.lines
        scene.wait(scene.slices, lambda tree: len(tree.children(slicing.SLICES)) == 3)
        for _ in range(3):
            parent.tell("end")
        assert parent.wait(PATIENCE) == 0
        assert "parent still: True" in parent.lines


# Slices


def no_two_held_one(notes: Sequence[Note]) -> None:
    """No slice was two members' at once, nor were there two divisions; who is dead holds nothing."""
    held: dict[str, tuple[int, int]] = {}
    for note in notes:
        who = str(note["who"])
        if note["what"] == "hold":
            mine = int(note["index"]), int(note["total"])
            held.pop(who, None)
            assert mine not in held.values(), (note, held)
            assert {total for _, total in held.values()} <= {mine[1]}, (note, held)
            held[who] = mine
        elif note["what"] in ("release", "dead"):
            held.pop(who, None)


@pytest.mark.slow
def test_slices_cover_from_one_process_to_five_and_back_to_two(scene: Scene) -> None:
    first = scene.member("10.0.0.1")
    first.expect("has 0 of 1", PATIENCE)
    more = {f"10.0.0.{number}": scene.member(f"10.0.0.{number}") for number in range(2, 6)}
    everybody = {"10.0.0.1": first, **more}
    got = {each.expect("of 5", PATIENCE) for each in everybody.values()}
    assert got == {f"has {index} of 5" for index in range(5)}
    for address in list(everybody)[:3]:
        scene.kill(everybody.pop(address), address)
    got = {each.expect("of 2", PATIENCE) for each in everybody.values()}
    assert got == {"has 0 of 2", "has 1 of 2"}
    no_two_held_one(scene.notes())


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "stop"])
def test_a_round_that_its_leader_leaves_open_is_finished_by_the_next(scene: Scene, fault: str) -> None:
    leader = scene.member("10.0.0.1", holds=True)
    leader.expect("has 0 of 1", PATIENCE)
    second = scene.member("10.0.0.2")
    leader.expect("pauses", PATIENCE)
    scene.wait(scene.slices, lambda tree: slicing.PROCESSING in tree)
    (scene.kill if fault == "kill" else scene.stop)(leader, "10.0.0.1")
    second.expect("has 0 of 1", PATIENCE)
    scene.wait(scene.slices, lambda tree: slicing.NECESSARY not in tree)
    if fault == "stop":
        leader.cont()
        leader.tell("go on")
        second.expect("of 2", PATIENCE)
        leader.expect("of 2", PATIENCE)
    no_two_held_one(scene.notes())


@pytest.mark.slow
def test_one_that_comes_during_a_round_is_given_a_slice_too(scene: Scene) -> None:
    first = scene.member("10.0.0.1", holds=True)
    first.expect("has 0 of 1", PATIENCE)
    second = scene.member("10.0.0.2")
    first.expect("pauses", PATIENCE)
    third = scene.member("10.0.0.3")
    scene.wait(scene.slices, lambda tree: len(tree.children(slicing.INSTANCES)) == 3)
    assert scene.place.read(f"{scene.slices}/{slicing.NECESSARY}") is not None
    first.tell("go on")
    got = {each.expect("of 3", PATIENCE) for each in (first, second, third)}
    assert got == {f"has {index} of 3" for index in range(3)}
    no_two_held_one(scene.notes())


@pytest.mark.slow
def test_when_the_leader_is_killed_another_leads_and_divides_among_those_who_are_left(scene: Scene) -> None:
    members = {}
    for number in range(1, 4):
        members[f"10.0.0.{number}"] = scene.member(f"10.0.0.{number}")
        members[f"10.0.0.{number}"].expect(f"of {number}", PATIENCE)
    for address in list(members)[:2]:
        members[address].expect("of 3", PATIENCE)
    found = scene.place.read(f"{scene.slices}/{slicing.LEADER}")
    assert found is not None
    address = found.data.partition("@-@")[0]
    scene.kill(members.pop(address), address)
    got = {each.expect("of 2", PATIENCE) for each in members.values()}
    assert got == {"has 0 of 2", "has 1 of 2"}
    again = scene.place.read(f"{scene.slices}/{slicing.LEADER}")
    assert again is not None
    assert again.data.partition("@-@")[0] in members
    no_two_held_one(scene.notes())
