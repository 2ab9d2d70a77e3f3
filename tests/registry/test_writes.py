"""Writes: what a commit may hold, in which order it is done, and what it weighs on the wire."""

import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shardwright.registry import Create, Delete, Forbid, Put, Refused, Require, Write, protected, weight
from shardwright.registry.writes import check_path, in_order, parents, too_large

from .state_machine import contradiction

# -- paths --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/", "/a", "/a/b-c/d.e", "/...", "/.hidden", "/10.0.0.1@-@7", "/x y%z漢 ~'\"_\\", "/\xa0", "/\uffef"],
)
def test_a_path_may_hold_any_text_a_zookeeper_server_takes(path: str) -> None:
    check_path(path)


@pytest.mark.parametrize(
    "path",
    ["", "a", "a/b", "/a/", "//", "/a//b", "/.", "/a/./b", "/..", "/a/..", "\\a"],
)
def test_a_path_begins_with_a_slash_and_has_no_part_that_is_empty_or_only_dots(path: str) -> None:
    with pytest.raises(ValueError, match=r"the path .* (must begin|has a part)"):
        check_path(path)


@pytest.mark.parametrize(
    "char",
    [
        "\0", "\n", "\x1f", "\x7f", "\x9f", "\ud800", "\ue000", "\uf8ff", "\ufff0", "\uffff",
        "\U00010000", "😀", "\U0010ffff",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_character_a_zookeeper_server_refuses_is_refused_by_every_driver(char: str) -> None:
    with pytest.raises(ValueError, match="has a character that no path may have"):
        check_path(f"/a/b{char}c")


def test_the_parents_of_a_path_are_named_from_the_top_without_the_root() -> None:
    assert (parents("/"), parents("/a"), parents("/a/b/c")) == ((), (), ("/a", "/a/b"))


def test_a_protected_name_can_be_found_again_by_its_token() -> None:
    assert protected("latch-", "6d2c").startswith("_c_6d2c-")


# -- order and contradictions -------------------------------------------------------------------------


def test_guards_come_first_and_the_rest_keeps_its_order() -> None:
    put, forbid, create, require, delete = Put("/a"), Forbid("/f"), Create("/b"), Require("/a"), Delete("/c")
    assert in_order([put, forbid, create, require, delete]) == (forbid, require, put, create, delete)


@pytest.mark.parametrize(
    ("writes", "sentence"),
    [
        ([], "a commit needs at least one write"),
        ([Create("/")], "the root itself cannot be written"),
        ([Put("/", "x")], "the root itself cannot be written"),
        ([Delete("/", recursive=True)], "the root itself cannot be written"),
        ([Put("/a"), Put("/a")], "one commit writes '/a' twice"),
        ([Create("/a"), Put("/a")], "one commit writes '/a' twice"),
        ([Create("/a"), Delete("/a")], "one commit writes '/a' twice"),
        ([Delete("/a"), Delete("/a")], "one commit writes '/a' twice"),
        ([Delete("/a"), Create("/a"), Put("/a")], "one commit writes '/a' twice"),
        ([Delete("/a", recursive=True), Create("/a/b/c")], "one commit writes '/a/b/c' and takes '/a' away"),
        ([Put("/a/b"), Delete("/a", recursive=True)], "one commit writes '/a/b' and takes '/a' away"),
        (
            [Create("/a/b"), Delete("/a", recursive=True), Create("/a")],
            "one commit writes '/a/b' and takes '/a' away",
        ),
        ([Delete("/a"), Create("/a/b"), Create("/a")], "one commit writes '/a/b' and takes '/a' away"),
        ([Put("bad")], "the path 'bad' must begin with a slash and not end with one"),
        ([Forbid("/a//b")], "the path '/a//b' has a part that is empty or only dots"),
    ],
    ids=str,
)
def test_a_commit_that_contradicts_itself_is_told_so_in_a_sentence(
    writes: list[Write], sentence: str
) -> None:
    with pytest.raises(ValueError, match="^" + sentence.replace(".", r"\.") + "$"):
        in_order(writes)


@pytest.mark.parametrize(
    "writes",
    [
        [Delete("/a"), Create("/a")],
        [Delete("/a", recursive=True), Create("/a"), Create("/a/b")],
        [Delete("/a/b"), Delete("/a")],
        [Delete("/a", recursive=True), Create("/ab")],
        [Require("/a"), Require("/a", 3), Put("/a")],
        [Require("/"), Forbid("/")],
        [Forbid("/a"), Create("/a")],
    ],
    ids=str,
)
def test_what_can_be_done_one_after_the_other_is_no_contradiction(writes: list[Write]) -> None:
    in_order(writes)


some_paths = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
some_writes = st.one_of(
    st.builds(Create, some_paths, ephemeral=st.booleans()),
    st.builds(Put, some_paths),
    st.builds(Delete, some_paths, recursive=st.booleans()),
    st.builds(Require, some_paths),
    st.builds(Forbid, some_paths),
)


@settings(deadline=None, max_examples=500)
@given(st.lists(some_writes, min_size=1, max_size=6))
def test_exactly_the_contradictions_are_refused_and_nothing_is_lost_or_moved(writes: list[Write]) -> None:
    if contradiction(writes):
        with pytest.raises(ValueError, match="one commit writes"):
            in_order(writes)
        return
    guards = [write for write in writes if isinstance(write, Require | Forbid)]
    effects = [write for write in writes if not isinstance(write, Require | Forbid)]
    assert in_order(writes) == (*guards, *effects)


# -- weight -------------------------------------------------------------------------------------------


def frame(writes: list[Write]) -> bytes:
    """A ZooKeeper transaction to the byte, from the protocol's description: length, xid, type, then each
    operation behind a header of its own, and an end mark."""

    def text(value: str) -> bytes:
        encoded = value.encode("utf-8", "surrogateescape")
        return struct.pack(">i", len(encoded)) + encoded

    def create(path: str, data: str) -> bytes:
        everybody = struct.pack(">ii", 1, 31) + text("world") + text("anyone")
        return struct.pack(">i?i", 15, False, -1) + text(path) + text(data) + everybody + struct.pack(">i", 0)

    def versioned(kind: int, path: str, body: bytes = b"") -> bytes:
        return struct.pack(">i?i", kind, False, -1) + text(path) + body + struct.pack(">i", -1)

    operations = b""
    for write in writes:
        match write:
            case Create(path, data):
                operations += create(path, data)
            case Put(path, data):
                operations += versioned(5, path, text(data))
            case Delete(path):
                operations += versioned(2, path)
            case Require(path):
                operations += versioned(13, path)
            case Forbid(path):
                operations += create(path, "") + versioned(2, path)
    body = struct.pack(">ii", 1, 14) + operations + struct.pack(">i?i", -1, True, -1)
    return struct.pack(">i", len(body)) + body


path_texts = st.text(st.characters(max_codepoint=0xD7FF, min_codepoint=0xA0), min_size=1, max_size=30)
any_paths = path_texts.map(lambda name: f"/{name}")
any_data = st.text(max_size=200) | st.binary(max_size=50).map(
    lambda raw: raw.decode("utf-8", "surrogateescape")
)
any_writes = st.one_of(
    st.builds(Create, any_paths, any_data, ephemeral=st.booleans()),
    st.builds(Put, any_paths, any_data),
    st.builds(Delete, any_paths),
    st.builds(Require, any_paths),
    st.builds(Forbid, any_paths),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(any_writes, min_size=1, max_size=10))
@example([Forbid("/a")])
@example([Require("/")])
@example([Create("/a", "x" * 100_000)])
@example([Forbid(f"/{n}") for n in range(300)])
def test_a_commit_weighs_no_less_than_its_frame_and_not_much_more(writes: list[Write]) -> None:
    real = len(frame(writes))
    assert real <= weight(writes) <= real + 24 + sum(68 + len(write.path.encode()) for write in writes)


def test_a_commit_as_heavy_as_may_be_passes_and_one_byte_more_is_refused_with_a_sentence() -> None:
    commit = [Create("/a", "é" * 100)]
    assert too_large(commit, weight(commit)) is None
    assert too_large(commit, weight(commit) - 1) == Refused(
        f"the commit takes about {weight(commit):,} bytes and the registry takes at most "
        f"{weight(commit) - 1:,}: split it"
    )
