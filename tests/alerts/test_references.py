"""References are resolved where they are used, and tell nothing about what they refer to."""

import os
from pathlib import Path

import pytest

from shardwright import references
from shardwright.errors import ConfigError

CANARY = "c4n4ry-t1ttle"


@pytest.mark.parametrize(
    ("written", "resolved"),
    [
        ("${env:X_PW}", CANARY),
        ("https://h/${env:X_PW}/send?a=${env:X_B}", f"https://h/{CANARY}/send?a=b"),
        ("", ""),
        ("plain", "plain"),
        ("a${b}c ${} $env:X_PW ${ENV:X_PW} ${env:X_PW", "a${b}c ${} $env:X_PW ${ENV:X_PW} ${env:X_PW"),
    ],
)
def test_a_reference_stands_for_what_the_environment_holds_and_all_else_for_itself(
    written: str, resolved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_PW", CANARY)
    monkeypatch.setenv("X_B", "b")
    assert references.resolve(written, key="k") == resolved


@pytest.mark.parametrize(
    ("content", "resolved"),
    [
        ("pw\n", "pw"),
        ("pw\r\n", "pw"),
        ("pw", "pw"),
        ("two\nlines\n\n", "two\nlines\n"),
        (" pw ", " pw "),
        ("", ""),
        ("pässwörd", "pässwörd"),
    ],
)
def test_a_file_is_read_without_the_line_end_that_editors_put_there(
    content: str, resolved: str, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content.encode())
    assert references.resolve(f"${{file:{file}}}", key="k") == resolved


def test_what_a_reference_gives_is_not_resolved_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("${env:X_PW}")
    monkeypatch.setenv("X_PW", CANARY)
    monkeypatch.setenv("X_A", "${env:X_PW}")
    assert references.resolve(f"${{env:X_A}} ${{file:{tmp_path}/a}}", key="k") == "${env:X_PW} ${env:X_PW}"


def test_what_cannot_be_resolved_is_told_by_the_key_and_the_reference_and_by_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("X_PW", CANARY)
    (tmp_path / "large").write_text(CANARY * references.LARGEST)
    (tmp_path / "binary").write_bytes(b"\xff" + CANARY.encode())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    missing = {
        "${env:X_NOT_SET}": "is not set in the environment of this process",
        "${env:}": "must name a variable: letters, digits and _",
        "${env:A-B}": "must name a variable: letters, digits and _",
        "${file:}": "must be a path from the root, as in ${file:/run/secrets/x}",
        "${file:secret}": "must be a path from the root, as in ${file:/run/secrets/x}",
        f"${{file:{tmp_path}/none}}": "cannot be read: no such file or directory",
        f"${{file:{tmp_path}}}": "cannot be read: it is no ordinary file",
        f"${{file:{tmp_path}/pipe}}": "cannot be read: it is no ordinary file",
        f"${{file:{tmp_path}/loop}}": "cannot be read: too many levels of symbolic links",
        f"${{file:{tmp_path}/large}}": "is larger than 65,536 bytes, too large to be meant",
        f"${{file:{tmp_path}/binary}}": "is not a text in UTF-8",
    }
    for reference, why in missing.items():
        with pytest.raises(ConfigError) as raised:
            references.resolve(f"{CANARY}${{env:X_PW}}{reference}", key="email.password")
        assert str(raised.value) == f"email.password: {reference} {why}"
        assert raised.value.__context__ is None
        assert CANARY not in repr(raised.value)
