"""What may be asked of a recipe: each check says what is wrong, and is made before anything begins."""

import inspect

from ..errors import RecipeError
from ..registry.writes import check_path


def checked_root(path: str) -> str:
    """A path that everything of a recipe may stand below."""
    if path == "/":
        raise RecipeError("the root '/' is everybody's: name a node below it")
    try:
        check_path(path)
    except ValueError as error:
        raise RecipeError(str(error)) from None
    return path


def checked_name(what: str, text: str) -> str:
    """A text that can be a node's name."""
    if not text or not isinstance(text, str):
        raise RecipeError(f"the {what} is a text that is not empty, not {text!r}")
    if "/" in text:
        raise RecipeError(f"the {what} {text!r} has a slash in it, which no node's name may have")
    try:
        check_path(f"/{text}")
    except ValueError as error:
        raise RecipeError(f"the {what} {text!r} cannot be a node's name: {error}") from None
    return text


def checked_callback(what: str, function: object) -> None:
    """Something that can be called in a thread of its own."""
    if inspect.iscoroutinefunction(function):
        raise RecipeError(f"{what} is called in a thread of its own: give it a function, not a coroutine")
    if not callable(function):
        raise RecipeError(f"{what} is a function, not {function!r}")
