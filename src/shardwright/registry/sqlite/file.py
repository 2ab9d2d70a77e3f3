"""The registry's file at work: every question and every change is one statement that gives one row at most.

One row, because fetching each one is a wait for the interpreter's lock, and a busy process would keep its
readers in the file for seconds; one statement, because then nobody is ever stopped between two halves of it.
Nothing here tries again or waits: who calls decides what an error means.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tree import Node
from . import plan, schema

_LAND = """
insert into request select
    json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
    json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
    json_extract(value, '$[6]'), json_extract(value, '$[7]'), json_extract(value, '$[8]'),
    json_extract(value, '$[9]'), json_extract(value, '$[10]'), json_extract(value, '$[11]'),
    json_extract(value, '$[12]'), json_extract(value, '$[13]'), json_extract(value, '$[14]')
from json_each(?)
"""

_HEAD = "select coalesce((select seq from sqlite_sequence where name = 'log'), 0)"

_NEWS = """
with news as (select * from log where number > ?1)
select json_array(
    coalesce((select seq from sqlite_sequence where name = 'log'), 0),
    (select json_group_array(json_array(
        number, session, ref, json(coalesce(gone, '[]')), json(coalesce(razed, '[]')),
        json(coalesce(touched, '[]')), json(coalesce(names, '[]'))))
        from (select * from news order by number)),
    (select json_group_array(json_array(path, data, version, owner, made, written)) from node
        where path in (
            select t.value from news, json_each(news.touched) t
            union select n.value from news, json_each(news.names) n)))
"""

_READ = """
select json_group_array(json_array(path, data, version, owner, made, written)) from node
where path in (select value from json_each(?))
"""

_GLANCE = """
select json_group_array(json_array(path, version, owner)) from node
where path in (select value from json_each(?))
"""

_NAMES = """
select json_group_array(json_array(exists (select 1 from node where path = w.value), (
    select json_group_array(substr(c.path, length(c.parent) + 1)) from node c
    where c.parent = rtrim(w.value, '/') || '/')))
from json_each(?) w
"""

_BELOW = """
select json_group_array(json_array(w.key, n.path, n.data, n.version, n.owner, n.made, n.written))
from json_each(?) w join node n on n.path = json_extract(w.value, '$[0]')
    or (n.path > json_extract(w.value, '$[1]') and n.path < json_extract(w.value, '$[2]'))
"""

_SESSIONS = "select json_group_array(json_array(id, timeout)) from session"

#: What stands at the root, which no row stands for.
ROOT = Node("", 0, "", 0, 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the log."""

    number: int
    session: str
    ref: int | None
    gone: Sequence[str]
    razed: Sequence[str]
    touched: Sequence[str]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class News:
    """What the log holds after a number, and what the nodes it speaks of hold by now."""

    head: int
    entries: Sequence[Entry]
    nodes: Mapping[str, Node]
    complete: bool
    """Whether none of it had been pruned."""


class File:
    """A connection to the file. Only one thread at a time may use it."""

    def __init__(self, path: Path, *, patience: float, plant: str | None = None) -> None:
        self.path = path
        self._connection = schema.open_file(path, patience=patience, plant=plant)
        self._log = Path(f"{path}-wal")
        try:
            self._inodes = self._look()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def is_moved(self) -> bool:
        """Whether somebody took the file or its log away, or put another in its place. Others delete the log
        only when nobody has the file open."""
        return None in self._inodes or self._look() != self._inodes

    def _look(self) -> tuple[int | None, int | None]:
        return _inode(self.path), _inode(self._log)

    # -- changes ------------------------------------------------------------------------------------

    def land(self, requests: Sequence[list[object]]) -> None:
        """Have commits land, each or not by itself and in this order. Which did is in the log."""
        self._connection.row(_LAND, (plan.as_text(requests),))

    def begin(self, session: str, pid: int, timeout: float) -> None:
        self._connection.row(
            "insert into session (id, pid, timeout) values (?, ?, ?)", (session, pid, timeout)
        )

    def end(self, sessions: Sequence[str]) -> None:
        """End sessions with all that goes with them; those that have ended already are passed over."""
        self._connection.row(
            "delete from session where id in (select value from json_each(?))", (json.dumps(sessions),)
        )

    def prune(self, up_to: int) -> None:
        self._connection.row("delete from log where number <= ?", (up_to,))

    # -- questions ----------------------------------------------------------------------------------

    def data_version(self) -> int:
        """A number that changes when another connection has changed the file."""
        version: int = self._connection.row("pragma data_version")[0]
        return version

    def head(self) -> int:
        """The number of the last commit."""
        head: int = self._connection.row(_HEAD)[0]
        return head

    def news(self, since: int) -> News:
        head, rows, nodes = self._ask(_NEWS, since)
        entries = [Entry(*row) for row in rows]
        complete = head == since if not entries else entries[0].number == since + 1
        return News(head, entries, _nodes(nodes), complete)

    def read(self, paths: Sequence[str]) -> dict[str, Node | None]:
        found = _nodes(self._ask(_READ, json.dumps(paths)))
        return {path: ROOT if path == "/" else found.get(path) for path in paths}

    def names(self, paths: Sequence[str]) -> dict[str, tuple[str, ...] | None]:
        found = self._ask(_NAMES, json.dumps(paths))
        return {
            path: tuple(sorted(names)) if there or path == "/" else None
            for path, (there, names) in zip(paths, found, strict=True)
        }

    def glance(self, paths: Sequence[str]) -> plan.Glance:
        return {path: (version, owner) for path, version, owner in self._ask(_GLANCE, json.dumps(paths))}

    def below(self, roots: Sequence[str]) -> list[dict[str, Node]]:
        """For each of these the node and all below it, by their full paths."""
        wanted = [(root, f"{root.rstrip('/')}/", f"{root.rstrip('/')}0") for root in roots]
        found: list[dict[str, Node]] = [{"/": ROOT} if root == "/" else {} for root in roots]
        for which, path, *row in self._ask(_BELOW, json.dumps(wanted)):
            found[which][path] = _node(*row)
        return found

    def sessions(self) -> dict[str, float]:
        """The time-out of every session there is, by its id."""
        return dict(self._ask(_SESSIONS))

    def _ask(self, sql: str, *parameters: object) -> list[Any]:
        """The one row, which is JSON."""
        text: str = self._connection.row(sql, parameters)[0]
        found: list[Any] = json.loads(text)
        return found


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _nodes(rows: list[Any]) -> dict[str, Node]:
    return {path: _node(*row) for path, *row in rows}


def _node(data: str, version: int, owner: str, made: int, written: int) -> Node:
    return Node(plan.restore(data), version, owner, made, written)
