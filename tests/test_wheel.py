"""What users install: the wheel, in an environment of its own, and the README's first lines with it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.processes import ROOT, Process

PATIENCE = 60.0


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """The programs of an environment that has the wheel and what it asks for, and nothing else."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "clean")
    programs = tmp_path / "clean" / "bin"
    run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[trace]")
    return programs


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_readmes_first_lines_work_from_the_wheel_in_a_clean_environment(
    bin_folder: Path, tmp_path: Path
) -> None:
    home = tmp_path / "app"
    home.mkdir(mode=0o700)
    first = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    (home / "app.py").write_text(first.replace("/tmp/shardwright-readme", str(home / "registry")))
    command, registry = bin_folder / "shardwright", f"sqlite://{home}/registry/jobs.db"
    with (home / "log").open("wb") as log:
        there = ["env", "-C", str(home), "PYTHONUNBUFFERED=1"]
        service = Process([*there, str(command), "run", "app:scheduler"], output=log)
    try:
        wait_for(home / "log", "fires next at", service)
        asked = ["--registry", registry, "--json"]
        (job,) = json.loads(run(command, "jobs", *asked))["jobs"]
        assert (job["name"], job["shards"]) == ("reindex", 4)
        run(command, "trigger", "reindex", "--registry", registry)
        wait_for(home / "log", "part 3 of 4", service)
    finally:
        service.terminate()
    found = json.loads(run(command, "history", "reindex", *asked))
    assert {row["disposition"] for row in found["fires"]} == {"RAN"}
    assert {row["shard"] for row in found["fires"]} == {0, 1, 2, 3}


def wait_for(log: Path, text: str, service: Process) -> None:
    """Until a log says something; the service lives while it does not."""
    for _ in range(int(PATIENCE / 0.1)):
        if text in log.read_text():
            return
        try:
            service.wait(within=0.1)
        except TimeoutError:
            continue
        break
    raise AssertionError(f"{text!r} is not said:\n{log.read_text()}")
