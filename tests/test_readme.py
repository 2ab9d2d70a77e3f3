"""The README tells the truth: its code runs and prints what it says, and its commands are there."""

import re
from pathlib import Path

import pytest

from . import prose

ROOT = prose.ROOT
README = (ROOT / "README.md").read_text()


def test_the_code_runs_and_prints_what_the_readme_says(tmp_path: Path) -> None:
    assert prose.play(ROOT / "README.md", {"/tmp/shardwright-readme": tmp_path / "readme"}) >= 2


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z]+)`?", README))))
def test_every_make_target_it_names_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_file_it_links_to_is_there() -> None:
    assert prose.LINK.findall(README)
    assert prose.dead_links(ROOT / "README.md") == []


def test_every_extra_it_names_can_be_installed() -> None:
    declared = (ROOT / "pyproject.toml").read_text()
    for extras in re.findall(r"\.\[([\w,]+)\]", README):
        assert all(re.search(rf"^{extra} = \[", declared, re.MULTILINE) for extra in extras.split(","))
