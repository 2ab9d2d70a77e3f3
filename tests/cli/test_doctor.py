"""`shardwright doctor`."""

from shardwright.registry import Create, Put
from tests.stories.telling import Story

from . import schemas
from .calling import Calling


def leave_something(story: Story) -> None:
    """A node of a job that was removed, by somebody who knew nothing of our own nodes."""
    story.write(Create(f"{story.operator.namespace}~shardwright/forgotten/cursor/0", "{}"))


def test_where_all_is_well_that_is_said(calls: Calling) -> None:
    report = calls.document(schemas.Doctor, "doctor")
    assert report.healthy
    assert [each.job for each in report.costs] == ["reindex"]
    assert calls("doctor", "reindex").startswith("All is well.")


def test_trouble_is_explained_and_the_exit_code_says_so(calls: Calling, story: Story) -> None:
    story.write(Put(story.path("config", "reindex"), "nonsense"))
    report = calls.document(schemas.Doctor, "doctor", code=1)
    assert not report.healthy
    told = calls("doctor", code=1)
    assert "trouble: reindex: " in told
    assert "  do: " in told


def test_what_can_be_repaired_is_after_a_yes(calls: Calling, story: Story) -> None:
    leave_something(story)
    (before,) = calls.document(schemas.Doctor, "doctor").findings
    assert (before.severity, before.repairable) == ("notice", True)
    assert "(--repair does it)" in calls("doctor")
    assert "Repair one finding? Nobody is here to ask" in calls.refused("doctor", "--repair", code=2)
    after = calls.document(schemas.Doctor, "doctor", "--repair", "--yes")
    assert (after.healthy, after.findings, after.refused) == (True, [], [])
    assert len(after.done) == 1
    assert calls("doctor", "--repair", "--yes").startswith("All is well.")
