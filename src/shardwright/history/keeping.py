"""What one may choose about a history: how much is kept, and in which form ElasticJob's tables are made.

A module that needs no extra, so that what cannot be is refused before a database is spoken to.
"""

from dataclasses import dataclass
from datetime import timedelta

#: The last version of ElasticJob with a column `source` in its table of states, which its console asks for,
#: and the first one without.
OLD_TABLES, NEW_TABLES = "3.0.4", "3.0.5"


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept: nothing older than `age`, and the latest `rows` at most; changes by operators for
    `audit_age`."""

    age: timedelta = timedelta(days=90)
    rows: int = 1_000_000
    audit_age: timedelta = timedelta(days=400)


def is_choice_of_tables(given: object) -> bool:
    """Whether this says something about ElasticJob's tables: as a rule (None), whether, or in which form."""
    return given is None or isinstance(given, bool) or given in (OLD_TABLES, NEW_TABLES)
