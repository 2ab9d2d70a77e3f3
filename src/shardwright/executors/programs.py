"""Programs: which files may be run as scripts. Those out of the folders that the operator listed, if nobody
but root and ourselves can have written them.

What is checked is the open file. A binary is then started from that very file. What begins with #! is opened
once more, by its path, by the program named there: in the moment between, root or whoever we run as could put
another in its place, and nobody else.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import JobError

_BY_FILE = os.execve in os.supports_fd


@contextmanager
def opened(program: str, folders: Sequence[Path]) -> Iterator[tuple[str, int | None]]:
    """The program's path, and its open file where it can be started from that; refused if it may not run."""
    path = _found(program, folders)
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise JobError(f"the script {path} is refused: {why}") from None
    try:
        _check_file(path, os.fstat(file))
        for folder in path.parents:
            _check_folder(path, folder, os.lstat(folder), listed=_is_in(folder, folders))
        is_text = os.pread(file, 2, 0) == b"#!"
        yield str(path), None if is_text or not _BY_FILE else file
    finally:
        os.close(file)


def _found(program: str, folders: Sequence[Path]) -> Path:
    """Where the program is, links followed; a name without a folder is looked for in the folders listed."""
    if not folders:
        raise JobError(
            f"the script {program} is refused: scripts are off until the operator lists the folders "
            'they may come from, as in folders=["/opt/jobs"]'
        )
    for folder in folders:
        try:
            path = (folder / program).resolve(strict=True)
        except (OSError, RuntimeError):
            continue
        if _is_in(path, folders):
            return path
        raise JobError(f"the script {program} is refused: it is {path}, in none of {_listed(folders)}")
    raise JobError(f"the script {program} is refused: it is not there, in none of {_listed(folders)}")


def _check_file(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise JobError(f"the script {path} is refused: it is no file")
    if not found.st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH):
        raise JobError(f"the script {path} is refused: it is not executable (chmod +x)")
    if found.st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise JobError(
            f"the script {path} is refused: it runs as somebody else (setuid), who could not be stopped"
        )
    _check_owner(path, path, found)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise JobError(f"the script {path} is refused: others may write it (chmod go-w)")


def _check_folder(path: Path, folder: Path, found: os.stat_result, *, listed: bool) -> None:
    """A folder on the way to the program: nobody else may put one there or, further up, move it away."""
    _check_owner(path, folder, found)
    shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    keeps = found.st_mode & stat.S_ISVTX and not listed  # as in /tmp, nobody moves what is another's
    if shared and not keeps:
        raise JobError(f"the script {path} is refused: others may write to {folder} (chmod go-w)")


def _check_owner(path: Path, checked: Path, found: os.stat_result) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise JobError(
            f"the script {path} is refused: {checked} belongs to user {found.st_uid}, "
            f"and must to root or to user {os.geteuid()}"
        )


def _is_in(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder.resolve()) for folder in folders)


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
