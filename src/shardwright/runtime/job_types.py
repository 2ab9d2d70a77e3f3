"""Job types: what jobs can be besides functions.

Those that ElasticJob knows are made of a job's props, so that operators change them where they change
everything else. What a process lets them do is its own matter.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..egress import Egress
from ..errors import JobError
from ..executors.dataflow import Dataflow
from ..jobs import JobConfig
from .bodies import Body
from .job import Make

SCRIPT, HTTP = "SCRIPT", "HTTP"
#: Where a call goes.
URI = "http.uri"
COMMAND_LINE = "script.command.line"
#: Ours: whether a script is handed ElasticJob's JSON as its last argument; as with ElasticJob if unsaid.
CONTEXT = "script.sharding.context"

#: How many bodies are kept of those that settings asked for: mostly one for each job.
_KEPT = 256


class JobTypes:
    """The types that a scheduler knows. `script_folders` is where scripts may come from, `egress` where calls
    may go."""

    def __init__(self, script_folders: Iterable[str | Path], egress: Egress) -> None:
        if isinstance(script_folders, str | bytes | Path):  # of a text, the first letter may be all there is
            raise JobError(f"script_folders is a list: [{os.fsdecode(script_folders)!r}]")
        self.script_folders, self.egress = tuple(script_folders), egress
        self._makes: dict[str, Make] = {
            SCRIPT: _by_props(lambda props, bound: self._script(props, bound)),
            HTTP: _by_props(lambda props, bound: self._http(props)),
        }
        self._places: dict[str, tuple[str, ...] | None] = {SCRIPT: (), HTTP: (URI,)}
        self._by_class: dict[type, Callable[[Any, JobConfig], Body]] = {Dataflow: Dataflow.with_settings}

    def add(self, name: str, make: Make, places: Iterable[str] | None = None) -> None:
        if name in self._makes:
            raise JobError(f"there is a job type {name!r} already: give this one another name")
        if isinstance(places, str):
            raise JobError(f"places is a list of props: write ({places!r},)")
        self._places[name] = None if places is None else tuple(places)
        self._makes[name] = make

    def add_class(self, of: type, make: Callable[[Any, JobConfig], Body]) -> None:
        if of in self._by_class:
            raise JobError(f"there is a job type for {of.__name__} already")
        self._by_class[of] = make

    def of_object(self, job: object) -> Make | None:
        """What makes an object run, by the nearest of its classes; None where it needs nothing but to be
        called."""
        for each in type(job).__mro__:
            if each in self._by_class:
                make = self._by_class[each]
                return lambda config: make(job, config)
        return None

    def make(self, name: str) -> Make:
        if name not in self._makes:
            raise JobError(
                f"there is no job type {name!r}; there are {', '.join(self._makes)}, and what you add by "
                f"scheduler.add_type"
            )
        return self._makes[name]

    def places(self, name: str) -> tuple[str, ...] | None:
        """Which props say where a type sends what it is given; None where any may."""
        return self._places[name]

    def _script(self, props: Mapping[str, str], bound: bool) -> Body:
        from ..executors.script import Script

        line = props.get(COMMAND_LINE, "")
        told = props.get(CONTEXT, "true") == "true"
        return Script.of_command_line(line, folders=self.script_folders, elasticjob=told, bound=bound)

    def _http(self, props: Mapping[str, str]) -> Body:
        from ..executors.http import Http

        return Http.of_props(props, self.egress)


def _by_props(make: Callable[[Mapping[str, str], bool], Body]) -> Make:
    kept = lru_cache(maxsize=_KEPT)(make)
    return lambda config: kept(config.props, config.lease_lost == "stop")
