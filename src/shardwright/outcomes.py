"""Outcomes: how the run of a shard came out, as its cursor tells it."""

OK = "ok"
FAILED = "failed"
TIMED_OUT = "timed out"

#: The next fire came, and the job wants that to end the run.
SUPERSEDED = "superseded"

#: We stopped it before it was through: where the job wants that, it is put up for somebody else.
CUT_SHORT = "cut short"
