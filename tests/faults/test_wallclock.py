"""A clock that is said to be set is set, and no other."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import require
from tests.faults import children, wallclock
from tests.faults.processes import Child
from tests.faults.wallclock import WallClock

pytestmark = pytest.mark.slow

HOUR = 3600.0
SLACK = 60.0


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    require(wallclock.missing())
    return WallClock(tmp_path)


def asked(child: Child) -> list[float]:
    """How far the child's clocks are from ours."""
    os.kill(child.pid, signal.SIGUSR1)
    told = [float(word) for word in child.expect("it is").split()[2:]]
    ours = [time.time(), time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)]
    return [theirs - here for theirs, here in zip(told, ours, strict=True)]


@pytest.mark.parametrize("offset", [HOUR, -HOUR])
def test_the_wall_clock_steps_at_run_time_and_the_boot_clock_does_not(
    clock: WallClock, offset: float
) -> None:
    with Child(children.tell_the_time, env=clock.env) as child:
        child.expect("ready")
        assert asked(child) == pytest.approx([0.0, 0.0, 0.0], abs=SLACK)
        clock.set(offset)
        assert asked(child) == pytest.approx([offset, offset, 0.0], abs=SLACK)
        clock.set(0.0)
        assert asked(child) == pytest.approx([0.0, 0.0, 0.0], abs=SLACK)
