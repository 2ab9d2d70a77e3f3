"""The README tells the truth: its code runs and prints what it says, and its commands are there."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def test_the_code_runs_and_prints_what_the_readme_says(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    printed = ""
    compared = 0
    for language, text in BLOCK.findall(README):
        if language == "python":
            out = io.StringIO()
            code = text.replace("/tmp/shardwright-readme", str(tmp_path / "readme"))
            with contextlib.redirect_stdout(out):
                exec(compile(code, "README.md", "exec"), names)
            printed = out.getvalue()
        elif printed and not language:
            assert printed == text
            printed = ""
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z]+)`?", README))))
def test_every_make_target_it_names_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_file_it_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_extra_it_names_can_be_installed() -> None:
    declared = (ROOT / "pyproject.toml").read_text()
    for extras in re.findall(r"\.\[([\w,]+)\]", README):
        assert all(re.search(rf"^{extra} = \[", declared, re.MULTILINE) for extra in extras.split(","))
