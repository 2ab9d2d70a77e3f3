"""The runner of the benchmarks: what it prints, what it writes, and what it does when one of them fails."""

import json
from pathlib import Path

import pytest

from benchmarks import recipes
from benchmarks.__main__ import Benchmark, discover, run
from benchmarks.rows import Row, as_row
from benchmarks.takeover import judged

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
