"""The runner of the benchmarks: what it prints, what it writes, and what it does when one of them fails."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import history, jobs, lateness, on_time, recipes
from benchmarks.__main__ import Benchmark, discover, run
from benchmarks.many_jobs import Figures
from benchmarks.rows import Bounds, Row, as_row
from benchmarks.takeover import judged
from shardwright.history import open_store

QUICK = Row(
    "fires a second", ours=30_000, peer=10_000, peer_name="other", ratio=3.0, unit="1/s", note="one zone"
)


def failing() -> list[Row]:
    raise RuntimeError("no luck")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "build" / "bench.json"


def test_a_row_is_printed_and_written(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run({"cron": lambda: [QUICK]}, report=report) == 0
    assert "fires a second" in capsys.readouterr().out
    assert json.loads(report.read_text()) == {
        "fires a second": {
            "name": "fires a second",
            "ours": 30_000,
            "peer": 10_000,
            "peer_name": "other",
            "ratio": 3.0,
            "unit": "1/s",
            "note": "one zone",
        }
    }


def test_the_columns_stand_below_each_other(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = Row("restart", ours=0.25, peer=None, peer_name="", ratio=None, unit="s")
    run({"cron": lambda: [QUICK, slow]}, report=report)
    header, first, second, _ = capsys.readouterr().out.splitlines()
    end = header.index("ours") + len("ours")
    assert first[:end].endswith(" 30,000")
    assert second[:end].endswith(" 0.25")


def test_one_that_fails_is_named_and_the_others_still_run(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run({"a": failing, "b": lambda: [QUICK]}, report=report) == 1
    assert "RuntimeError: no luck" in (output := capsys.readouterr().out)
    assert "a failed" in output.splitlines()[-1]
    assert list(json.loads(report.read_text())) == ["fires a second"]


def test_only_one_is_run_when_one_is_asked_for(report: Path) -> None:
    assert run({"a": failing, "b": lambda: [QUICK]}, only="b", report=report) == 0


def test_a_name_that_does_not_exist_gets_those_that_do(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, Benchmark] = {"cron": list, "mirror": list}
    assert run(found, only="corn", report=report) == 2
    assert capsys.readouterr().out == "there is no benchmark 'corn', but: cron, mirror\n"
    assert not report.exists()


def test_a_row_may_be_a_mapping() -> None:
    plain = {"name": "x", "ours": 2, "peer": 1, "peer_name": "other", "ratio": 2.0, "unit": "s"}
    assert as_row(plain) == Row("x", ours=2.0, peer=1.0, peer_name="other", ratio=2.0, unit="s")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"name": "x", "ours": 1, "unit": "s", "factor": 2}, "a row has no factor"),
        ({"name": "x", "ours": "fast", "unit": "s"}, "a figure must be a number, not 'fast'"),
    ],
)
def test_a_mapping_that_is_no_row_is_refused(row: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        as_row(row)


def test_one_that_hands_over_too_late_fails_when_all_was_measured(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = [("one", [0.1] * 11 + [0.7], 0.5), ("two", [0.1, 0.2], 0.5)]
    assert run({"recipes": lambda: judged(measured)}, report=report) == 1
    output = capsys.readouterr().out
    assert "AssertionError: too late: one\n" in output
    rows = json.loads(report.read_text())
    assert rows["one, p99"]["note"] == "BROKEN: worst 0.700; must be <= 0.5"
    assert rows["two, p50"]["ours"] == 0.2
    assert "BROKEN" not in rows["two, p99"]["note"]


@pytest.mark.slow
def test_a_replica_that_goes_leaves_what_it_has_to_the_other(tmp_path: Path) -> None:
    for what in ("master", "slice"):
        place = tmp_path / what
        place.mkdir(mode=0o700)
        took = recipes.handovers(recipes.Replicas(f"sqlite://{place}/r.db", place, what), recipes.stop, 2)
        assert len(took) == 2
        assert min(took) > 0


def test_the_runner_and_its_rows_are_no_benchmarks() -> None:
    assert not {"__main__", "rows"} & discover().keys()


def test_a_bound_that_is_not_kept_fails_when_all_rows_are_told(report: Path) -> None:
    def measure() -> Iterator[Row]:
        bounds = Bounds()
        for size in (1, 2):
            note = bounds.note(f"size {size}", size <= 1, "must be <= 1")
            yield Row(f"size {size}", size, None, "", None, "MB", note)
        bounds.check()

    assert run({"size": measure}, report=report) == 1
    told = {name: row["note"] for name, row in json.loads(report.read_text()).items()}
    assert told == {"size 1": "must be <= 1", "size 2": "BROKEN: must be <= 1"}


@pytest.mark.parametrize(
    ("found", "most", "broken"),
    [
        (Figures(8, 400.0, 30.0, 9.0, 1.0), True, ""),
        (Figures(9, 399.0, 29.0, 9.0, 1.0), True, "ten: threads"),
        (Figures(8, 400.1, 29.0, 9.0, 1.0), True, "ten: memory"),
        (Figures(8, 399.0, 30.1, 9.0, 1.0), True, "ten: start"),
        (Figures(8, 400.1, 30.1, 9.0, 1.0), False, ""),
    ],
)
def test_jobs_that_take_more_than_they_may_fail(found: Figures, most: bool, broken: str) -> None:
    bounds = Bounds()
    told = [row.name for row in jobs.rows("ten", found, bounds, threads=8, most=most) if "BROKEN" in row.note]
    assert told == ([broken] if broken else [])
    with pytest.raises(AssertionError, match=broken) if broken else contextlib.nullcontext():
        bounds.check()


def test_a_history_that_answers_too_late_or_does_not_shrink_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, bounds = tmp_path / "history.db", Bounds()
    monkeypatch.setattr(history, "BOUND", 0.0)
    with open_store(file) as store:
        store.write(history.fires()[:10])  # fewer than are kept
        history.question("slow", store, file, lambda store: None, "select 1", bounds)
        list(history.tidied(store, file, bounds))
    with pytest.raises(AssertionError, match="history: slow; history: file with 10,000 rows kept"):
        bounds.check()


def test_lateness_is_told_beside_a_peers_and_not_judged() -> None:
    ours, peer = on_time.Figures(p50=6.0, p99=60.0, max=600.0), on_time.Figures(p50=3.0, p99=30.0, max=300.0)
    rows = list(lateness.rows("late", ours, peer))
    assert [(row.ours, row.peer, row.ratio) for row in rows] == [(6, 3, 2), (60, 30, 2), (600, 300, 2)]
    assert {row.note for row in rows} == {"ours / theirs"}
