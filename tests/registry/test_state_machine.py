"""Every driver does what a plain dictionary would, in any sequence hypothesis can think of."""

import os
import time
from collections.abc import Callable

import pytest

from .clusters import ZOOKEEPER, MakeCluster, driver, make_cluster
from .state_machine import try_it
from .summary import SAY

__all__ = ["driver", "make_cluster"]

#: So many times more than usual, for a night with nothing else to do.
TIMES = int(os.environ.get("SHARDWRIGHT_TIMES", "1"))

EXAMPLES = {"memory": 42, "sqlite": 42, "zookeeper": 42}


# Drivers have threads, some of them throw dice, and hypothesis takes that for ours.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
# Long enough to shrink what was found.
@pytest.mark.timeout(900 * TIMES)
@pytest.mark.parametrize(
    "driver", ["memory", pytest.param("sqlite", marks=pytest.mark.slow), ZOOKEEPER], indirect=True
)
def test_a_registry_and_a_plain_dictionary_never_differ(
    driver: str, make_cluster: MakeCluster, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    tally = try_it(make_cluster, EXAMPLES[driver] * TIMES)
    seconds = time.monotonic() - began
    record_property(SAY, f"state machine, {driver}: {tally}; {seconds:.0f} s")
    assert tally.operations >= 5_000 * TIMES
    assert tally.overtaken == 0 or driver == "zookeeper"  # only its commits may have to be sent again
