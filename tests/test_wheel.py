"""What users install: the wheel, in an environment of its own; the README's first lines with it, and the
console with its page."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import urllib3

from tests.faults.processes import ROOT, Process

PATIENCE = 60.0


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel; its page is built on the way where it is not there."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bin_folder(wheel: Path) -> Path:
    """The programs of an environment that has the wheel and what it asks for, and nothing else."""
    run(sys.executable, "-m", "venv", wheel.parent / "clean")
    programs = wheel.parent / "clean" / "bin"
    run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[trace,console]")
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


def page_in(names: list[str]) -> dict[str, int]:
    """How many files of the page there are, by what they are."""
    below = [name.partition("shardwright/console/static/")[2] for name in names]
    return {
        "index.html": below.count("index.html"),
        "scripts": sum(bool(re.fullmatch(r"assets/[\w.-]+-[\w-]{8}\.js", name)) for name in below),
        "styles": sum(bool(re.fullmatch(r"assets/[\w.-]+-[\w-]{8}\.css", name)) for name in below),
    }


@pytest.mark.slow
def test_wheel_and_sdist_have_the_page_once_and_no_packages_of_node(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        source = packed.getnames()
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert page_in(names) == page_in(source)
    assert page_in(names)["index.html"] == 1
    assert min(page_in(names).values()) >= 1
    assert not [name for name in (*names, *source) if "node_modules" in name]
    assert not [name for name in names if name.startswith("console-ui")]
    assert [name for name in source if name.endswith("console-ui/package-lock.json")]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_without_a_page_and_without_npm_nothing_is_built_unless_that_is_wanted(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    left_out = shutil.ignore_patterns("node_modules", "static", ".git", ".venv", "tests", "build")
    shutil.copytree(ROOT, copy, ignore=left_out)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    environment = {**os.environ, "PATH": "/nowhere"}
    refused = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "install Node 20.19 or newer, or run `make ui`, or set SHARDWRIGHT_WITHOUT_UI=1" in refused.stderr
    assert list(tmp_path.glob("*.whl")) == []
    environment["SHARDWRIGHT_WITHOUT_UI"] = "1"
    subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=True)
    (built,) = tmp_path.glob("*.whl")
    assert sum(page_in(zipfile.ZipFile(built).namelist()).values()) == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_console_serves_its_page_from_the_wheel_without_node(bin_folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    # Nothing is on the path but Python: no node, no npm.
    command = ["/usr/bin/env", "-i", "-C", str(tmp_path), "PYTHONUNBUFFERED=1", f"PATH={bin_folder}"]
    command += [str(bin_folder / "shardwright"), "console", "--port", "0"]
    with log.open("wb") as output, Process(command, output=output) as console:
        wait_for(log, "One-time token", console)
        url = re.findall(r"The console is at (\S+)", log.read_text())[0]
        page = urllib3.request("GET", url)
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assets = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', page.data.decode())
        assert assets
        for asset in assets:
            assert urllib3.request("GET", url + asset).status == 200
        assert urllib3.request("GET", f"{url}api/about").json()["first"] is True
        assert console.terminate() == 0


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
