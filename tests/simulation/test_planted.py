"""The simulation finds what is wrong: each planted bug makes it red."""

from collections.abc import Callable

import pytest

from tests.registry.summary import SAY

from . import many, planted

pytestmark = pytest.mark.simulation

#: How many seeds a bug may hide from.
MOST = 400


@pytest.mark.slow
@pytest.mark.parametrize("bug", planted.BUGS)
@pytest.mark.timeout(1800)
def test_a_planted_bug_is_found(bug: str, record_property: Callable[[str, object], None]) -> None:
    with many.in_haste():
        for seed in range(1, MOST + 1):
            try:
                planted.BUGS[bug].run(seed)
            except (AssertionError, ValueError) as found:
                # The registry refuses a commit whose writes contradict each other: that is found, too.
                how = str(found).partition("\n")[0] or type(found).__name__
                record_property(SAY, f"planted: {bug}: found by seed {seed}: {how[:80]}")
                return
    pytest.fail(f"{MOST} seeds did not notice that {bug}")


def test_without_a_bug_nothing_is_found() -> None:
    for seed in (1, 2, 3):
        planted.Bug().run(seed)
