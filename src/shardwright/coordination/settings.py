"""Settings: what the members of a job have agreed on, and how they come to agree.

    (the job itself)    persistent    what runs: a class name that Java members know, a job type, or blank
    config              persistent    ElasticJob's YAML: the settings that hold for all

Who finds no settings writes its own; who finds some works by those, whatever its own code says, unless that
asks to `overwrite` them, once, as it starts. What is written later is taken up at once by everybody. Settings
that make no sense change nothing: the members go on by those they had, and who has none yet stays out.
"""

from collections.abc import Iterator
from functools import lru_cache

from .. import elasticjob
from ..errors import ConfigError
from ..jobs import JobConfig
from . import instance
from .step import Adopt, Create, Look, Put, Refuse, Reject, Require, Say, Step, Write, do
from .view import View

ROOT, NODE = "", "config"

parse = lru_cache(maxsize=256)(elasticjob.read_config)
_write = lru_cache(maxsize=256)(elasticjob.write_config)


def declared(view: View) -> JobConfig:
    return view.declared or view.config


def agreed(view: View) -> bool:
    """Whether we work by what the registry says. Nothing else is decided before, unless we are to stop."""
    if is_on_its_way_out(view):
        return True
    return view.local.adopted is not None and view.local.adopted == view.tree.get(NODE)


def unchanged(view: View) -> Iterator[Write]:
    """A guard: nobody has written other settings since."""
    if NODE in view.tree:
        yield Require(NODE, view.tree.version(NODE))


def is_on_its_way_out(view: View) -> bool:
    never_came = view.local.draining and not instance.registered(view)
    return never_came or view.local.stopped or instance.ordered_to_stop(view)


def conflict(view: View) -> str | None:
    """What is wrong with joining at all: the job is known to run something else."""
    theirs = (view.tree.get(ROOT) or "").strip()
    if not view.kind or not theirs or theirs == view.kind:
        return None
    return (
        f"the job {view.config.name!r} runs {theirs!r} and not {view.kind!r}: give this one another name, "
        f"or remove the old job first if nobody runs it any more"
    )


def decide(view: View) -> Iterator[Step | Look]:
    if is_on_its_way_out(view):
        return  # a job that was removed is not made again by those who are told to leave it
    view.tree.need([ROOT, NODE])
    first = view.local.adopted is None
    if first and (why := conflict(view)) is not None:
        yield do(then=Refuse(why))
    elif NODE not in view.tree or (first and replaces(view)):
        yield publish(view)
    elif not agreed(view):
        yield adopt(view)
        if first:
            yield from tell_difference(view)


def replaces(view: View) -> bool:
    """Whether our code asks for its own settings, and they mean something else than what is there."""
    if not declared(view).overwrite:
        return False
    try:
        return parse(view.tree.get(NODE) or "", job=view.config.name) != declared(view)
    except ConfigError:
        return True


def refused(view: View) -> bool:
    """Whether we go on by settings of before, because those in the registry make no sense to us."""
    try:
        return NODE in view.tree and parse(view.tree.get(NODE) or "", job=view.config.name) != view.config
    except ConfigError:
        return True


def tell_difference(view: View) -> Iterator[Step]:
    """Whoever has changed a setting in the code, and sees no effect, should know why."""
    try:
        held = dict(parse(view.tree.get(NODE) or "", job=view.config.name))
    except ConfigError:
        return
    names = [name for name, value in declared(view) if value != held[name] and name != "overwrite"]
    if names:
        yield do(
            then=Say(
                f"the registry's settings hold, which differ from this program's in {', '.join(names)}; "
                f"a program that declares the job with overwrite=True replaces them as it starts"
            )
        )


def publish(view: View) -> Step:
    """Write the settings: our own as we start, and later, should somebody have deleted them, those that
    held."""
    config = declared(view) if view.local.adopted is None else view.config
    text = _write(config)
    return do(*_root(view), *_config(view, text), then=Adopt(text, config))


def _config(view: View, text: str) -> Iterator[Write]:
    if NODE in view.tree:
        yield Put(NODE, text, view.tree.version(NODE))
    else:
        yield Create(NODE, text)


def _root(view: View) -> Iterator[Write]:
    """Say what runs, where we know it and nobody has said so."""
    if ROOT not in view.tree:
        yield Create(ROOT, view.kind)
    elif view.kind and not (view.tree.get(ROOT) or "").strip():
        yield Put(ROOT, view.kind, view.tree.version(ROOT))


def adopt(view: View) -> Step:
    text = view.tree.get(NODE) or ""
    try:
        return do(then=Adopt(text, parse(text, job=view.config.name)))
    except ConfigError as error:
        if view.local.adopted is None:
            return do(
                then=Say(f"stays out of the job until its settings in the registry make sense: {error}")
            )
        return do(then=Reject(text, str(error)))
