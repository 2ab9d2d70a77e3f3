"""Processes as people name them."""

from ..coordination import instance
from ..errors import OperationError
from ..ops import jobs
from ..registry import Registry


def member(registry: Registry, job: str, text: str) -> str:
    """The id of the one process of a job that a text names: its id, or how that begins, such as the address
    of its server."""
    ids = [each.id for each in jobs.detail(registry, job).members]
    likely = [text] if text in ids else [each for each in ids if _begins(each, text)]
    if len(likely) == 1:
        return likely[0]
    if not likely:
        raise OperationError(f"no process of the job {job!r} is called {text!r}; {_list('there are', ids)}")
    raise OperationError(f"{text!r} may be {_list('any of', likely)}: write more of it")


def _begins(who: str, text: str) -> bool:
    """Whether an id begins like this, with whole words: 10.0.0.1 is not 10.0.0.10. Only what was drawn by lot
    may be cut anywhere."""
    if not text or not who.startswith(text):
        return False
    return instance.is_python(text) or not (text[-1:].isalnum() and who[len(text) :][:1].isalnum())


def _list(begin: str, ids: list[str]) -> str:
    return f"{begin}: {', '.join(ids) or 'none'}"
