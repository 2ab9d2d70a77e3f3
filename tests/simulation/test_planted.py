"""The simulation finds what is wrong: each planted bug makes it red."""

import pytest

from . import chaos, planted

#: How many seeds a bug may hide from.
MOST = 40


@pytest.mark.slow
@pytest.mark.parametrize("bug", planted.DECISIONS)
def test_a_planted_bug_is_found(bug: str) -> None:
    for seed in range(1, MOST + 1):
        try:
            chaos.run(seed, decide=planted.DECISIONS[bug])
        except AssertionError:
            return
    pytest.fail(f"{MOST} seeds did not notice that {bug}")
