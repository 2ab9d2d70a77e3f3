"""Where a registry's file may live: a folder nobody else writes to, on a disk of this machine.

SQLite's locks and shared memory hold between the processes of one machine. A file that two machines see,
or that a stranger may replace, is refused before anything is written there.
"""

import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from ...errors import Unsuitable
from . import schema

#: File systems that another machine may write to as well, or on which locks are not what they seem.
_SHARED = {
    *("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "9p", "virtiofs", "afs", "coda"),
    *("ceph", "glusterfs", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2", "ocfs2", "gfs2", "davfs", "fuse"),
}

#: Of the file systems that a program provides, those that are a local disk underneath.
_LOCAL_FUSE = {"fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.gocryptfs", "fuse.encfs", "fuse.ntfs-3g"}

_OCTAL = re.compile(r"\\([0-7]{3})")


def prepare(path: Path) -> None:
    """Make the file and its folder, each for us alone, unless they are there. What is there is left as it is:
    it may be somebody else's. Raises Unsuitable, with what to do, where this is no place for it.
    """
    if sqlite3.sqlite_version_info < schema.OLDEST:
        oldest = ".".join(map(str, schema.OLDEST))
        raise Unsuitable(
            f"this Python comes with SQLite {sqlite3.sqlite_version}, and {oldest} is needed: "
            "use a newer Python, or zookeeper://"
        )
    with _told_as_unsuitable(path):
        _check_file_system(path)
        _make_folder(path.parent)
        _make_file(path)


def settle(path: Path) -> Path:
    """Keep a file that has turned out to be a registry to ourselves, and make the folder for its sessions,
    which is given back. Raises Unsuitable as well."""
    with _told_as_unsuitable(path):
        for each in (path, *(path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm"))):
            _keep_to_ourselves(each)
        sessions = sessions_of(path)
        _make_folder(sessions)
        return sessions


@contextlib.contextmanager
def _told_as_unsuitable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unsuitable(
            f"{path}: {error.strerror} ({error.filename}): name a place where we may write"
        ) from error


def sessions_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sessions")


def file_system(path: str, mountinfo: str) -> str:
    """The kind of file system a path is on, by the text of /proc/self/mountinfo; empty if that is silent."""
    kind, longest = "", -1
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4])
        is_above = path == point or path.startswith(point.rstrip("/") + "/")
        # Of two mounts on one point the later one covers the earlier.
        if is_above and len(point) >= longest:
            kind, longest = after.split(" ")[0], len(point)
    return kind


def is_shared(kind: str) -> bool:
    return kind in _SHARED or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


def _check_file_system(path: Path) -> None:
    there = path.parent
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        mountinfo = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
    except FileNotFoundError:
        return
    kind = file_system(os.path.realpath(there), mountinfo)
    if is_shared(kind):
        raise Unsuitable(
            f"{path} is on a network file system ({kind}), where locks cannot be trusted: "
            "name a file on a local disk, or use zookeeper:// for many machines"
        )


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid not in (0, os.geteuid()):
        raise Unsuitable(f"{folder} belongs to another user: name a folder of ours")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unsuitable(
            f"others may write to {folder}, and so replace the registry: name a folder of its own, "
            f"such as {folder / 'shardwright' / 'registry.db'}, or keep them out: chmod go-w {folder}"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Unsuitable(f"we may not write to {folder}: name a folder of ours")


def _make_file(path: Path) -> None:
    """Never opens a file that is there: closing it would take away the locks that this process may have
    on it through another registry."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise Unsuitable(f"{path} is a symbolic link: name the file itself")
    if stat.S_ISDIR(found.st_mode):
        raise Unsuitable(f"{path} is a folder: name a file in it, such as {path / 'registry.db'}")
    if not stat.S_ISREG(found.st_mode):
        raise Unsuitable(f"{path} is not a file: name one")
    if _is_open_to_others(found) and found.st_uid != os.geteuid():
        raise Unsuitable(f"others may use {path}, and it is not ours to change: chmod 600 {path}")
    if not os.access(path, os.R_OK | os.W_OK):
        raise Unsuitable(f"we may not write to {path}: name a file of ours")


def _keep_to_ourselves(path: Path) -> None:
    """Others may read what jobs are told, or even write it: nobody but us, from now on."""
    with contextlib.suppress(FileNotFoundError):
        if _is_open_to_others(path.stat()):
            path.chmod(0o600)


def _is_open_to_others(found: os.stat_result) -> bool:
    return bool(found.st_mode & (stat.S_IRWXG | stat.S_IRWXO))
