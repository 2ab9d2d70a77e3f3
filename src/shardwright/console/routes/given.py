"""What handlers are given: the room of the registry in the path, and answers as models."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query, Request
from pydantic import BaseModel

from ...errors import NotValid
from ...ops.operator import Done, Operator
from ...ops.values import Shown
from ..desk import Room
from ..models import Done as DoneModel
from ..models import Time
from ..routing import Visitor

Model = TypeVar("Model", bound=BaseModel)


def room(request: Request, registry: str) -> Room:
    """The room of a registry; the guard has seen to it that the visitor may know of it."""
    found = request.app.state.desk.room(registry)
    assert isinstance(found, Room)
    return found


#: How a handler is given the room that it works in.
Here = Annotated[Room, Depends(room)]

JobName = Annotated[str, Path(min_length=1, max_length=1000)]
Address = Annotated[str, Path(min_length=1, max_length=1000)]
OneJob = Annotated[str | None, Query(min_length=1, max_length=1000)]
When = Annotated[Time | None, Query()]
Offset = Annotated[int, Query(ge=0, le=10_000_000)]


def check_stretch(begin: Time | None, end: Time | None) -> None:
    """Refuse a stretch of time that ends before it begins."""
    if begin is not None and end is not None and begin >= end:
        raise NotValid("begin must be before end")


def shown(model: type[Model], value: Shown) -> Model:
    """A value of `ops` as a model."""
    return model.model_validate(value.as_json())


@contextmanager
def operating(here: Room, visitor: Visitor) -> Iterator[Operator]:
    """Somebody who changes things in the visitor's name."""
    with here.registry() as registry:
        yield Operator(registry, who=visitor.who, audit=here.audit)


def done(told: Done) -> DoneModel:
    return shown(DoneModel, told)
