"""A job that somebody removes is not brought back by members who see that bit by bit."""

from shardwright import coordination
from shardwright.coordination.step import Create, Delete, Forbid, Put, Require, do


def test_what_is_made_below_a_job_relies_on_that_being_there() -> None:
    for made in (do(Create("servers/10.0.0.1")), do(Forbid("b"), Put("~term", "a", 1), Create("leader/x"))):
        guarded = coordination.reviving_nothing(made)
        assert guarded == do(Require(""), *made.writes)


def test_who_makes_the_job_or_relies_on_a_node_of_it_needs_no_other_guard() -> None:
    for made in (
        do(Create(""), Create("config", "x")),
        do(Require("sharding/0/instance", 3), Create("sharding/0/running")),
        do(Delete("trigger/a"), Create("sharding/0/running")),
        do(Create("~alive/a", ephemeral=True)),
        do(Put("config", "x", 3)),
        do(),
    ):
        assert coordination.reviving_nothing(made) == made
