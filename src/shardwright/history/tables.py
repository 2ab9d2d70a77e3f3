"""The tables of the ledger and what stands beside it. How they come about is told in `migrations`.

    shardwright_ledger       one row for each shard of each fire: what became of it, when, by whom
    shardwright_attempt_log  what its runs wrote to the log
    shardwright_rollup       for each job and day, how many fires came to what: kept when the rows go
    shardwright_retention    from when on rows are kept; what is older is not taken in again
    shardwright_audit        who asked for what, and what came of it

Times are in UTC, to the microsecond, in columns without a zone: so they sort and compare alike everywhere.
Names compare by their bytes, also in MySQL, where `Job` and `job` would be the same otherwise. A row is known
as a digest of its job, making, fire and shard: no database looks up hundreds of rows by four columns well.
That is its only key: there is one thing an insert can clash with.
"""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator, TypeEngine

LONGEST_BY = 255
LONGEST_ATTEMPT = 64
LONGEST_FIRE = 40


class Moment(TypeDecorator[datetime]):
    """A moment, kept in UTC."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[datetime]:
        return dialect.type_descriptor(mysql.DATETIME(fsp=6) if dialect.name == "mysql" else DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


def name(length: int) -> TypeEngine[str]:
    """A text that is compared."""
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql"
    )


def text() -> TypeEngine[str]:
    """A text that is only read."""
    return Text().with_variant(mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin"), "mysql")


def number() -> TypeEngine[int]:
    """SQLite counts up by itself in columns of one type only."""
    return BigInteger().with_variant(Integer(), "sqlite")


METADATA = MetaData()

#: Where alembic notes how far the schema has come.
VERSION_TABLE = "shardwright_history_version"


def _table(called: str, *parts: SchemaItem) -> Table:
    return Table(called, METADATA, *parts, mysql_engine="InnoDB", mysql_charset="utf8mb4")


LEDGER = _table(
    "shardwright_ledger",
    Column("known_as", name(32), primary_key=True),
    Column("job", name(100), nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("fire", name(LONGEST_FIRE), nullable=False),
    Column("item", Integer, nullable=False),
    Column("due", Moment, nullable=False),
    Column("day", Date, nullable=False),
    Column("disposition", name(20), nullable=False),
    Column("outcome", name(20), nullable=False),
    Column("began", Moment),
    Column("ended", Moment),
    Column("late_ms", BigInteger),
    Column("ran_ms", BigInteger),
    Column("ran_by", name(LONGEST_BY), nullable=False),
    Column("attempts", text(), nullable=False),
    Column("verdict", name(20), nullable=False),
    Column("told", Moment),
    Column("reason", text(), nullable=False),
    Column("later", name(LONGEST_FIRE), nullable=False),
    Index("shardwright_ledger_fire", "job", "fire"),
    Index("shardwright_ledger_job_due", "job", "due"),
    Index("shardwright_ledger_due", "due"),
    Index("shardwright_ledger_disposition", "disposition", "due"),
)

ATTEMPT_LOG = _table(
    "shardwright_attempt_log",
    Column("job", name(100), primary_key=True),
    Column("made", BigInteger, primary_key=True, autoincrement=False),
    Column("fire", name(LONGEST_FIRE), primary_key=True),
    Column("item", Integer, primary_key=True, autoincrement=False),
    Column("attempt", name(LONGEST_ATTEMPT), primary_key=True),
    Column("due", Moment, nullable=False),
    Column("lines", text(), nullable=False),
    Column("left_out", Integer, nullable=False),
    Index("shardwright_attempt_log_due", "due"),
)

ROLLUP = _table(
    "shardwright_rollup",
    Column("job", name(100), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("disposition", name(20), primary_key=True),
    Column("outcome", name(20), primary_key=True),
    Column("fires", BigInteger, nullable=False),
    Column("late_ms", BigInteger, nullable=False),
    Column("latest_ms", BigInteger, nullable=False),
    Column("ran_ms", BigInteger, nullable=False),
)

RETENTION = _table(
    "shardwright_retention",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("kept_from", Moment, nullable=False),
)

AUDIT = _table(
    "shardwright_audit",
    Column("id", number(), primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("who", name(255), nullable=False),
    Column("what", name(100), nullable=False),
    Column("target", name(255), nullable=False),
    Column("detail", text(), nullable=False),
    Column("outcome", text(), nullable=False),
    Index("shardwright_audit_at", "at"),
    Index("shardwright_audit_target", "target", "at"),
)
