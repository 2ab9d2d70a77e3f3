"""Whether a program is being loaded only for its scheduler, which somebody else is going to run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import JobError

_BY: ContextVar[str] = ContextVar("loaded by", default="")


@contextmanager
def loaded_by(command: str) -> Iterator[None]:
    """What the program does meanwhile is done while `command` loads it."""
    before = _BY.set(command)
    try:
        yield
    finally:
        _BY.reset(before)


def check_not_loading() -> None:
    # It would run here, and be run once more when it has been told to end.
    if _BY.get():
        raise JobError(
            f"{_BY.get()} runs this scheduler itself, when the program is loaded: "
            'put run() below if __name__ == "__main__":, or start the program with python'
        )
