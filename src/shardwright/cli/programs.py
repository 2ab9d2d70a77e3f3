"""Somebody's program, loaded to find the scheduler in it."""

import importlib
import importlib.util
import sys
import traceback
from itertools import dropwhile, takewhile
from pathlib import Path
from types import ModuleType

import click

from ..errors import ShardwrightError
from ..runtime.loading import loaded_by
from ..runtime.scheduler import Scheduler

PACKAGE = Path(__file__).parent.parent

#: What a scheduler is called where nobody says.
USUAL = "scheduler"


def scheduler_of(program: str) -> Scheduler:
    """The scheduler that `module:name`, `module`, `file.py:name` or `file.py` stands for."""
    place, colon, name = program.rpartition(":")
    if not colon:
        place, name = program, ""
    if colon and not (place and name):
        raise click.UsageError(f"{program!r}: write module:name, file.py:name or file.py")
    with loaded_by("shardwright run"):
        module = _file(Path(place)) if place.endswith(".py") or "/" in place else _module(place)
    return _named(module, place, name) if name else _only(module, place)


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise click.UsageError(f"there is no file {str(path)!r}")
    file, name = path.resolve(), path.stem
    known = sys.modules.get(name)
    if known is not None or name in sys.stdlib_module_names:
        raise click.UsageError(
            f"{str(path)!r} has the name of another module, {name!r}: give it one of its own"
        )
    # Found by its name from now on, also by the processes of isolated runs, which are handed this path.
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{str(path)!r} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _broken(str(path), error) from None
    return module


def _module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = all(name.split(".")) and importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as missing:
        if not f"{name}.".startswith(f"{missing.name}."):  # it is there, and what it needs is not
            raise _broken(name, missing) from None
        found = False
    except Exception as error:
        raise _broken(name, error) from None
    if not found:
        raise click.UsageError(_no_module(name))
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise _broken(name, error) from None


def _no_module(name: str) -> str:
    if Path(name).is_file():
        return f"{name!r} is no Python file: its name must end in .py"
    if Path(name).is_dir():
        return f"{name!r} is a folder: name the file in it, or module:name"
    return f"there is no module {name!r} here; for a file write its path: {name}.py"


def _broken(place: str, error: Exception) -> click.ClickException:
    """The program's own mistake, told by its own traceback: without what loads it, and without what of ours
    found the mistake."""
    told = traceback.TracebackException.from_exception(error)
    frames = list(dropwhile(_loads, told.stack))
    if isinstance(error, ShardwrightError):
        frames = list(takewhile(_theirs, frames))
    told.stack = traceback.StackSummary.from_list(frames)
    return click.ClickException(f"{place} could not be loaded:\n\n{''.join(told.format())}")


def _loads(frame: traceback.FrameSummary) -> bool:
    return frame.filename in (__file__, importlib.__file__) or frame.filename.startswith("<frozen importlib")


def _theirs(frame: traceback.FrameSummary) -> bool:
    return PACKAGE not in Path(frame.filename).parents


def _named(module: ModuleType, place: str, name: str) -> Scheduler:
    found: object = module
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if isinstance(found, Scheduler):
        return found
    what = f"is a {type(found).__name__}, no Scheduler" if found is not None else "is not there"
    raise click.UsageError(f"{name!r} {what} in {place}; {_there(module)}")


def _only(module: ModuleType, place: str) -> Scheduler:
    there = _schedulers(module)
    if USUAL in there:
        return there[USUAL]
    if len({id(each) for each in there.values()}) == 1:
        return next(iter(there.values()))
    if not there:
        raise click.UsageError(
            f"which scheduler of {place}? {_there(module)}; make one at its top: scheduler = Scheduler()"
        )
    raise click.UsageError(
        f"which scheduler of {place}? {_there(module)}; name one, as in {place}:{sorted(there)[0]}"
    )


def _schedulers(module: ModuleType) -> dict[str, Scheduler]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Scheduler)}


def _there(module: ModuleType) -> str:
    names = ", ".join(sorted(_schedulers(module)))
    return f"there is: {names}" if names else "there is no Scheduler in it"
