"""Try many seeds: python -m tests.simulation HOW_MANY FIRST. Says what was seen, and what was broken."""

import logging
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from . import chaos


def one(seed: int) -> chaos.Report | tuple[int, str]:
    logging.disable(logging.CRITICAL)
    try:
        return chaos.run(seed)
    except Exception as broken:
        return seed, f"{type(broken).__name__}: {broken}"


def main(count: int, first: int) -> int:
    seen: Counter[str] = Counter()
    looks, faults, hours, broken = 0, 0, 0.0, 0
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        for report in pool.map(one, range(first, first + count), chunksize=4):
            if isinstance(report, tuple):
                broken += 1
                print(f"seed {report[0]}: {report[1]}\n")
                continue
            seen += report.seen
            looks += report.looks
            faults += report.faults
            hours += report.hours
    took = time.perf_counter() - start
    print(f"{count:,} seeds, {broken} broke a promise")
    print(f"{hours:,.1f} virtual hours, {faults:,} faults, {looks:,} looks")
    print(f"{looks / took:,.0f} looks a second, {hours * 3600 / took:,.0f} times as fast as real time")
    print(", ".join(f"{what} {number:,}" for what, number in sorted(seen.items())))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
