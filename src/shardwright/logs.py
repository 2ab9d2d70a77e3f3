"""Logs for those whom a log that fails, such as for want of room on the disk, must not end: the threads of a
registry, whoever mends what has failed, whoever calls what users gave us."""

import contextlib
import logging
from collections.abc import MutableMapping
from typing import Any


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that never raises. What it is told is lost where the handlers fail."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name))

    def log(self, level: int, msg: object, *args: object, stacklevel: int = 1, **options: Any) -> None:
        with contextlib.suppress(Exception):
            # One more, or every line would be said to come from here.
            super().log(level, msg, *args, stacklevel=stacklevel + 1, **options)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, kwargs
