"""Prose that tells the truth: the code in a document runs, and prints what stands below it."""

import contextlib
import io
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def play(document: Path, folders: Mapping[str, Path]) -> int:
    """Run a document's Python from top to bottom, with other folders than it names, and hold what each block
    prints against the block without a language that comes next; how many were compared."""
    names: dict[str, object] = {}
    printed = ""
    compared = 0
    for language, text in BLOCK.findall(document.read_text()):
        if language == "python":
            assert not printed, f"{document.name} does not show that it prints {printed!r}"
            out = io.StringIO()
            for named, folder in folders.items():
                text = text.replace(named, str(folder))
            with contextlib.redirect_stdout(out):
                exec(compile(text, document.name, "exec"), names)
            printed = out.getvalue()
        elif printed and not language:
            assert printed == text
            printed = ""
            compared += 1
    assert not printed, f"{document.name} does not show that it prints {printed!r}"
    return compared


def dead_links(document: Path) -> list[str]:
    """The files a document links to that are not there."""
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    return [link for link in links if not (document.parent / link).exists()]
