"""A job as it was declared here: its settings, what it does, and who listens."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from ..jobs import JobConfig
from ..shard import Shard
from .bodies import Body
from .listeners import Listener

log = logging.getLogger("shardwright")

#: Makes what is run for a shard out of the settings that hold: a script's command line is one of them.
Make = Callable[[JobConfig], Body]


@dataclass(frozen=True, slots=True)
class Job:
    """What a process needs to take part in a job."""

    config: JobConfig
    """The settings that our own code asks for."""
    make: Make
    kind: str = ""
    """What Java members know its code by: a class name, or a type such as SCRIPT."""
    listeners: tuple[Listener, ...] = ()

    @property
    def name(self) -> str:
        return self.config.name

    def body(self, config: JobConfig) -> Body:
        """What to run by these settings; where they make no sense, something that fails and says so."""
        try:
            return self.make(config)
        except Exception as error:
            return _failing(error)


def _failing(error: Exception) -> Body:
    def body(shard: Shard) -> None:
        raise error

    return body
