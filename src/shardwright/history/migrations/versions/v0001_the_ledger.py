"""The ledger, the log of its attempts, the roll-ups, retention and the audit log.

MySQL keeps what a step has done when it is killed half-way, so every part looks first whether it is there.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SchemaItem

from shardwright.history.tables import Moment, name, number, text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _the_ledger()
    _the_attempt_log()
    _the_rollup()
    _the_audit_log()


def _the_ledger() -> None:
    _table(
        "shardwright_ledger",
        sa.Column("known_as", name(32), primary_key=True),
        sa.Column("job", name(100), nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("fire", name(40), nullable=False),
        sa.Column("item", sa.Integer, nullable=False),
        sa.Column("due", Moment, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("disposition", name(20), nullable=False),
        sa.Column("outcome", name(20), nullable=False),
        sa.Column("began", Moment),
        sa.Column("ended", Moment),
        sa.Column("late_ms", sa.BigInteger),
        sa.Column("ran_ms", sa.BigInteger),
        sa.Column("ran_by", name(255), nullable=False),
        sa.Column("attempts", text(), nullable=False),
        sa.Column("verdict", name(20), nullable=False),
        sa.Column("told", Moment),
        sa.Column("reason", text(), nullable=False),
        sa.Column("later", name(40), nullable=False),
    )
    _index("shardwright_ledger_fire", "shardwright_ledger", ["job", "fire"])
    _index("shardwright_ledger_job_due", "shardwright_ledger", ["job", "due"])
    _index("shardwright_ledger_due", "shardwright_ledger", ["due"])
    _index("shardwright_ledger_disposition", "shardwright_ledger", ["disposition", "due"])
    _table(
        "shardwright_retention",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kept_from", Moment, nullable=False),
    )


def _the_attempt_log() -> None:
    _table(
        "shardwright_attempt_log",
        sa.Column("job", name(100), primary_key=True),
        sa.Column("made", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("fire", name(40), primary_key=True),
        sa.Column("item", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("attempt", name(64), primary_key=True),
        sa.Column("due", Moment, nullable=False),
        sa.Column("lines", text(), nullable=False),
        sa.Column("left_out", sa.Integer, nullable=False),
    )
    _index("shardwright_attempt_log_due", "shardwright_attempt_log", ["due"])


def _the_rollup() -> None:
    _table(
        "shardwright_rollup",
        sa.Column("job", name(100), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("disposition", name(20), primary_key=True),
        sa.Column("outcome", name(20), primary_key=True),
        sa.Column("fires", sa.BigInteger, nullable=False),
        sa.Column("late_ms", sa.BigInteger, nullable=False),
        sa.Column("latest_ms", sa.BigInteger, nullable=False),
        sa.Column("ran_ms", sa.BigInteger, nullable=False),
    )


def _the_audit_log() -> None:
    _table(
        "shardwright_audit",
        sa.Column("id", number(), primary_key=True, autoincrement=True),
        sa.Column("at", Moment, nullable=False),
        sa.Column("who", name(255), nullable=False),
        sa.Column("what", name(100), nullable=False),
        sa.Column("target", name(255), nullable=False),
        sa.Column("detail", text(), nullable=False),
        sa.Column("outcome", text(), nullable=False),
    )
    _index("shardwright_audit_at", "shardwright_audit", ["at"])
    _index("shardwright_audit_target", "shardwright_audit", ["target", "at"])


def _table(called: str, *parts: SchemaItem) -> None:
    op.create_table(called, *parts, if_not_exists=True, mysql_engine="InnoDB", mysql_charset="utf8mb4")


def _index(called: str, table: str, columns: list[str]) -> None:
    there = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}
    if called not in there:
        op.create_index(called, table, columns)
