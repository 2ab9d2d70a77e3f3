"""A job as it was declared here: its settings, what it does, and who listens."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from .. import references
from ..jobs import JobConfig
from ..shard import Shard
from .bodies import Body
from .listeners import Listener
from .tries import RAISED

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
            return self.make(trusted(config, self.config))
        except RAISED as error:
            return _failing(error)


def trusted(config: JobConfig, declared: JobConfig | None) -> JobConfig:
    """Settings from the registry, in which only those secrets are referred to that our own code refers to:
    else whoever may write them could have any secret of this process sent anywhere."""
    if not any(references.has_any(value) for value in config.props.values()):
        return config
    named = references.all_in(declared.props.values()) if declared is not None else frozenset()
    props = {key: references.without(value, named) for key, value in config.props.items()}
    if props == dict(config.props):
        return config
    log.warning(
        "%s: its settings refer to secrets that this program's own do not: not looked up", config.name
    )
    return config.replace(props=props)


def _failing(error: BaseException) -> Body:
    def body(shard: Shard) -> None:
        raise error

    return body
