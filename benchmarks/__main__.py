"""Runs the benchmarks: a table on the screen that grows as they go, and build/bench.json at the end.

python -m benchmarks             all of them
ONLY=cron python -m benchmarks   one
"""

import importlib
import json
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import benchmarks
from benchmarks.rows import Row, as_row

Benchmark = Callable[[], Iterable[Row | Mapping[str, object]]]

REPORT = Path("build/bench.json")
LINE = "{:<44} {:>12} {:>12} {:>8}  {:<12} {:<20} {}"


def discover() -> dict[str, Benchmark]:
    """The modules beside this one that have a `run`, by name; one that cannot be imported fails when run."""
    found: dict[str, Benchmark] = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name.startswith("_"):
            continue
        try:
            names = vars(importlib.import_module(f"benchmarks.{module.name}"))
        except Exception as error:
            found[module.name] = failing(error)
            continue
        if "run" in names:
            found[names.get("NAME", module.name)] = names["run"]
    return found


def failing(error: Exception) -> Benchmark:
    def run() -> list[Row]:
        raise error

    return run


def run(found: Mapping[str, Benchmark], *, only: str = "", report: Path = REPORT) -> int:
    """Run them, and say how it went as an exit code. One that fails does not keep the others from running."""
    if only and only not in found:
        print(f"there is no benchmark {only!r}, but: {', '.join(sorted(found)) or 'none at all'}")
        return 2
    print(LINE.format("", "ours", "peer", "ratio", "unit", "peer is", "").rstrip())
    rows: list[Row] = []
    failed: list[str] = []
    for name in [only] if only else sorted(found):
        try:
            for row in map(as_row, found[name]()):
                rows.append(row)
                print(line(row), flush=True)
        except Exception:
            failed.append(name)
            print(f"{name} failed:\n{traceback.format_exc()}", flush=True)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps({row.name: asdict(row) for row in rows}, indent=2) + "\n")
    print(f"{len(rows)} rows in {report}" + "".join(f"; {name} failed" for name in failed))
    return 1 if failed else 0


def line(row: Row) -> str:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    cells = (row.name, figure(row.ours), figure(row.peer), ratio, row.unit, row.peer_name, row.note)
    return LINE.format(*cells).rstrip()


def figure(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    sys.exit(run(discover(), only=os.environ.get("ONLY", "")))
