"""The registry's file: its tables, and the triggers that make one statement of a whole commit.

    node      the tree
    session   who is in; a row that goes takes the session's ephemeral nodes with it
    log       what happened, numbered for ever: the number of a commit, and the feed of every mirror
    request   no table: a commit is a row inserted here; its trigger checks the guards and does the rest

The write lock is held within one call of `sqlite3_step` and never while Python waits for its turn: there is
no BEGIN, and nothing that changes the file comes back row by row.
"""

import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from ...errors import Unreachable, Unsuitable
from ...forks import Connection

#: The oldest SQLite that knows all that is used here; 3.40 is what it is tested with.
OLDEST = (3, 38, 0)

#: What makes a file ours, in its header: "Shwr".
APPLICATION = 0x53687772

#: Grows with every change of the tables or triggers below.
VERSION = 1

#: How long one try waits for somebody else's commit, inside SQLite and without holding up other threads.
#: Short, because SQLite sleeps longer each time it looks again, and starts over with every try.
SLICE = 0.01

_TABLES = """
create table node (
    path text primary key not null,
    data text not null,
    version integer not null,
    owner text not null,
    made integer not null,
    written integer not null,
    -- up to and with the last slash
    parent text generated always as (rtrim(path, replace(path, '/', ''))) virtual
) without rowid;
create index node_by_parent on node (parent);
create index node_by_owner on node (owner) where owner <> '';

create table session (
    id text primary key not null, pid integer not null, timeout real not null
) without rowid;

create table log (
    number integer primary key autoincrement,
    session text not null,
    ref integer,       -- which commit of the session; null where the session itself began or ended
    gone text,         -- paths, as JSON: first these went,
    razed text,        -- some of them with all that stood below,
    touched text,      -- then these came or were written to,
    names text         -- and these, to which the commit gave their names
);

-- Numbers begin at the time the file was made, so that they grow even where a file is made anew: there
-- are not a thousand commits in every second of its life.
insert into sqlite_sequence (name, seq)
    values ('log', cast((julianday('now') - 2440587.5) * 86400000 as integer));

-- The last number given to a sequential node. Of all nodes: so it is greater than its siblings' whatever
-- was deleted meanwhile.
create table sequence (last integer not null);
insert into sequence values (-1);

create trigger session_begins after insert on session begin
    insert into log (session) values (new.id);
end;

create trigger session_ends before delete on session begin
    insert into log (session, gone)
        select old.id, json_group_array(path) from node where owner = old.id and owner <> '';
    delete from node where owner = old.id and owner <> '';
end;

create view request as select
    null as ref, null as session,
    null as there, null as absent, null as versions, null as persistent, null as childless,
    null as gone, null as razed, null as ground, null as made, null as born, null as put, null as queued,
    null as touched
where false;
"""

_VERSIONS_HOLD = """
    and not exists (select 1 from json_each(new.versions) v left join node n on n.path = v.key
        where coalesce(n.version, 0) <> v.value)
"""

_REQUEST = """
create trigger request_lands instead of insert on request
when exists (select 1 from session where id = new.session)
    and not exists (select 1 from json_each(new.there) t
        where not exists (select 1 from node n where n.path = t.value))
    and not exists (select 1 from json_each(new.absent) a join node n on n.path = a.value)
    {versions_hold}
    and not exists (select 1 from json_each(new.persistent) p join node n on n.path = p.value
        where n.owner <> '')
    and not exists (select 1 from json_each(new.childless) c join node n on n.parent = c.key || '/'
        where n.path not in (select value from json_each(c.value)))
begin
    insert into log (session, ref, gone, razed, touched)
        values (new.session, new.ref, new.gone, new.razed, new.touched);

    delete from node where path in (
        select n.path from json_each(new.razed) r
        cross join node n where n.path > r.value || '/' and n.path < r.value || '0');
    delete from node where path in (select value from json_each(new.gone));

    insert or ignore into node (path, data, version, owner, made, written)
        select value, '', 0, '', last_insert_rowid(), last_insert_rowid() from json_each(new.ground);
    insert into node (path, data, version, owner, made, written)
        select key, value, 0, '', last_insert_rowid(), last_insert_rowid() from json_each(new.made);
    insert into node (path, data, version, owner, made, written)
        select key, value, 0, new.session, last_insert_rowid(), last_insert_rowid() from json_each(new.born);
    update node set data = p.value, version = version + 1, written = last_insert_rowid()
        from json_each(new.put) p where node.path = p.key;

    update log set names = (
            select json_group_array(json_extract(q.value, '$[0]') || printf('%010d', s.last + 1 + q.key))
            from json_each(new.queued) q, sequence s)
        where number = last_insert_rowid() and new.queued is not null;
    insert into node (path, data, version, owner, made, written)
        select json_extract(q.value, '$[0]') || printf('%010d', s.last + 1 + q.key),
            json_extract(q.value, '$[1]'), 0,
            case json_extract(q.value, '$[2]') when 'e' then new.session else '' end,
            last_insert_rowid(), last_insert_rowid()
        from json_each(new.queued) q, sequence s where json_extract(q.value, '$[2]') <> 'x';
    update sequence set last = last + json_array_length(new.queued) where new.queued is not null;
end;
"""


def open_file(path: Path, *, patience: float, plant: str | None = None) -> Connection:
    """A connection to the registry's file, which is laid out first if it is empty.

    Raises Unsuitable where it is not a file of ours, Unreachable where it stays locked.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return Connection(path, lambda: _open(path, plant))
        except sqlite3.DatabaseError as error:
            # Of several who lay a file out at once SQLite turns some away without waiting: they come again.
            if is_busy(error) and time.monotonic() < until:
                time.sleep(SLICE)
            elif is_busy(error):
                raise Unreachable(
                    f"{path}: another process has held the file's lock for {patience:g} s: see what it does"
                ) from error
            elif error.sqlite_errorname == "SQLITE_NOTADB":
                raise Unsuitable(f"{path} is not a registry: name another file") from error
            else:
                raise Unsuitable(f"{path} cannot be used ({error}): name another file") from error


def _open(path: Path, plant: str | None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=SLICE,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _check(connection, path)
        _lay_out(connection, path, plant)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma journal_size_limit = 16777216")
    except BaseException:
        connection.close()
        raise
    return connection


def is_busy(error: sqlite3.Error) -> bool:
    """Whether it was somebody else's turn; nothing was done then."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the file is ours, or nobody's yet. Asked in one go: somebody may be laying it out."""
    ((application, version, tables),) = connection.execute(
        "select application_id, user_version, (select count(*) from sqlite_schema)"
        " from pragma_application_id, pragma_user_version"
    )
    if application != APPLICATION and (application or version or tables):
        raise Unsuitable(f"{path} is somebody else's database: name another file")
    if application == APPLICATION and version != VERSION:
        newer = "a newer" if version > VERSION else "an older"
        raise Unsuitable(
            f"{path} was laid out by {newer} Shardwright: its schema is version {version}, "
            f"ours is {VERSION}; run the same version everywhere, or name another file"
        )


def _lay_out(connection: sqlite3.Connection, path: Path, plant: str | None) -> None:
    """Make the tables unless they are there: all of it or nothing, and only one process does."""
    connection.execute("pragma journal_mode = wal").fetchall()
    ((application,),) = connection.execute("pragma application_id")
    if application == APPLICATION:
        return
    connection.execute("begin immediate")
    try:
        _check(connection, path)
        ((application,),) = connection.execute("pragma application_id")
        if application != APPLICATION:
            for statement in statements(plant):
                connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def statements(plant: str | None = None) -> list[str]:
    """What lays a file out, one statement after the other."""
    script = _TABLES + _REQUEST.format(versions_hold="" if plant == "versions" else _VERSIONS_HOLD)
    found: list[str] = []
    rest = ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            found.append(rest.strip())
            rest = ""
    return found
