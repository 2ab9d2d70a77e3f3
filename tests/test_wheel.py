"""What users install: the wheel, in an environment of its own; what the README says done with it, and the
console with its page."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import urllib3

from tests.faults.processes import ROOT, Process

PATIENCE = 60.0


def run(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel; its page is built on the way where it is not there."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


README = (ROOT / "README.md").read_text()

#: Where the README keeps its file, which a test must not share with others.
PLACE = "/tmp/shardwright-readme"


def install(programs: Path, wheel: Path, extra: str) -> None:
    """Do what one of the README's lines says, with the wheel in the checkout's place."""
    (line,) = re.findall(rf"^pip install '\.\[{extra}\]'.*$", README, re.MULTILINE)
    asked = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    run("bash", "-c", line.replace("'.[", f"'{wheel}["), env=asked)


@pytest.fixture(scope="module")
def programs(wheel: Path) -> Path:
    """The programs of a new environment: the wheel, and what it asks for."""
    run(sys.executable, "-m", "venv", wheel.parent / "clean")
    folder = wheel.parent / "clean" / "bin"
    install(folder, wheel, "trace")
    return folder


@pytest.fixture(scope="module")
def with_console(programs: Path, wheel: Path) -> Path:
    install(programs, wheel, "console")
    return programs


class Follower:
    """Somebody who does what the README says, in a folder and an environment where nothing else is. The place
    of its file and the program on the path are all that differ."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.home, self.log = home, home / "log"
        self._said: list[str] = []
        # The README's rerun is of a fire as it falls there.
        self._env = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home), "TZ": "Europe/Berlin"}

    def put(self, text: str) -> str:
        return text.replace(PLACE, str(self.home / "registry"))

    def export(self, command: str) -> None:
        self._said.append(command)

    def __call__(self, command: str) -> str:
        lines = "\n".join(["set -e", *self._said, command])
        return run("bash", "-c", self.put(lines), cwd=self.home, env=self._env)

    def begin(self, command: str) -> Process:
        with self.log.open("wb") as log:
            clean = ["env", "-i", "-C", str(self.home), "PYTHONUNBUFFERED=1"]
            clean += [f"{name}={value}" for name, value in self._env.items()]
            return Process([*clean, "bash", "-c", f"exec {self.put(command)}"], output=log)

    def wait_for(self, command: str, pattern: str, count: int, service: Process) -> None:
        """Ask again until the answer has this so often: what happens is written a little later."""
        deadline = time.monotonic() + PATIENCE
        while len(re.findall(pattern, answer := self(command))) != count:
            assert service.alive(), self.log.read_text()
            assert time.monotonic() < deadline, answer


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_readme_is_followed_word_by_word_from_the_wheel_in_a_clean_environment(
    programs: Path, tmp_path: Path
) -> None:
    home = tmp_path / "app"
    home.mkdir(mode=0o700)
    follow = Follower(programs, home)
    quick = README.partition("### See it all in a browser")[0]
    (home / "app.py").write_text(follow.put(re.findall(r"```python\n(.*?)```", quick, re.DOTALL)[0]))
    start, export, trigger, watch, history, why, rerun, doctor = re.findall(
        r"`((?:shardwright|export) [^`]+)`", quick
    )
    service = follow.begin(start)
    try:
        wait_for(follow.log, "fires next at", service)
        follow.export(export)
        assert len(follow(trigger).splitlines()) == 1
        for part in range(4):
            wait_for(follow.log, f"part {part} of 4", service)
        assert "reindex" in follow(watch)
        follow.wait_for(history, r"\bRAN\b", 4, service)
        assert re.fullmatch(r"reindex, asked for as #\d+: 4 shards came out well\.\n", follow(why))
        assert follow(rerun) == "shard 3 runs 2026-03-30T00:00:00+00:00 as soon as it is free\n"
        follow.wait_for(history, r"\bRAN\b", 5, service)
        assert follow.log.read_text().count("part 3 of 4") == 2
        assert follow(doctor)
    finally:
        service.terminate()


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
    nowhere = {**os.environ, "PATH": "/nowhere"}
    refused = subprocess.run(command, cwd=copy, env=nowhere, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "install Node 20.19 or newer, or run `make ui`, or set SHARDWRIGHT_WITHOUT_UI=1" in refused.stderr
    assert list(tmp_path.glob("*.whl")) == []
    nowhere["SHARDWRIGHT_WITHOUT_UI"] = "1"
    subprocess.run(command, cwd=copy, env=nowhere, capture_output=True, check=True)
    (built,) = tmp_path.glob("*.whl")
    assert sum(page_in(zipfile.ZipFile(built).namelist()).values()) == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_console_serves_its_page_from_the_wheel_without_node(with_console: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    # Nothing is on the path but Python: no node, no npm.
    command = ["/usr/bin/env", "-i", "-C", str(tmp_path), "PYTHONUNBUFFERED=1", f"PATH={with_console}"]
    command += [str(with_console / "shardwright"), "console", "--port", "0"]
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
