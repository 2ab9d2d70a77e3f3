"""A wall clock that a test can set, for processes it starts: the machine's own is left alone.

    clock = WallClock(tmp_path)
    child = Child(worker, env=clock.env)
    clock.set(3600)                     # an hour ahead from now on, for the child

Boot and monotonic clocks are not touched.
"""

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
NANOSECONDS = 1_000_000_000


def missing() -> str | None:
    """Why no such clock can be had, in one line; None if it can."""
    return None if shutil.which("cc") else "no C compiler: install gcc, so that a clock can be set"


class WallClock:
    """How far the wall clock of some processes is off; at first not at all."""

    def __init__(self, folder: Path) -> None:
        library, offset = folder / "wallclock.so", folder / "wallclock.offset"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl"], check=True
        )
        offset.write_bytes(struct.pack("q", 0))
        with offset.open("r+b") as file:
            self._mapped = mmap.mmap(file.fileno(), 8)
        self.env = {"LD_PRELOAD": str(library), "SHARDWRIGHT_WALLCLOCK": str(offset)}

    def set(self, seconds: float) -> None:
        """Off by so much from now on."""
        self._mapped[:] = struct.pack("q", int(seconds * NANOSECONDS))
