"""A job as it was declared here: its settings, what it does, and who listens."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .. import references, sentences, trust
from ..alerts import catalogue
from ..errors import JobError
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
    places: tuple[str, ...] | None = ()
    """Which of its props say where what it does is sent to, and what begins as they do is its own. None: any
    may, and all are."""

    @property
    def name(self) -> str:
        return self.config.name

    def body(self, config: JobConfig) -> Body:
        """What to run by these settings; where they make no sense, something that fails and says so."""
        try:
            self._check_trust(config.props)
            return self.make(trusted(config, self.config))
        except RAISED as error:
            return _failing(error)

    def _check_trust(self, props: Mapping[str, str]) -> None:
        """Refuse to send our secrets where we do not, and others that we do not have."""
        if self.places is None:  # what handlers of alerts read says nothing of where this is sent to
            ours = self.config.props
            props = {**props, **{key: ours.get(key, "") for key in catalogue.KEYS}}
        elsewhere = trust.moved(props, self.config.props, self.places)
        held = trust.withheld(props, self.config.props, self.places, elsewhere)
        own = None if self.places is None else {place.partition(".")[0] for place in self.places}
        found = [why for key, why in held.items() if own is None or key.partition(".")[0] in own]
        if found:
            raise JobError(sentences.together(found))


def trusted(config: JobConfig, declared: JobConfig | None) -> JobConfig:
    """Settings from the registry, in which only those secrets are referred to that our own code refers to
    under the same key: else whoever may write them could have any secret of this process sent anywhere."""
    strange = trust.strange(config.props, declared.props if declared is not None else None)
    if not strange:
        return config
    log.warning(
        "%s: its settings refer to secrets where this program's own do not: not looked up", config.name
    )
    props = {
        key: references.without(value) if key in strange else value for key, value in config.props.items()
    }
    return config.replace(props=props)


def _failing(error: BaseException) -> Body:
    def body(shard: Shard) -> None:
        raise error

    return body
