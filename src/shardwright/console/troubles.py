"""Troubles: what becomes of errors on the way out: a true status, a kind for programs, a sentence for people.

Nothing else of an error leaves the house: no stack, no statement, no value that somebody sent.
"""

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from ..errors import (
    ConfigError,
    CronError,
    MissingExtra,
    NotThere,
    NotValid,
    OperationError,
    Overtaken,
    RegistryError,
)
from ..history.engine import HistoryDown, HistoryError
from ..ops.opening import NoHistory, WrongAddress
from .models import ErrorKind

log = logging.getLogger("shardwright.console")

#: Which errors are told, and how: the status and the kind. An error counts as the first that it is one of.
TOLD: dict[type[Exception], tuple[int, ErrorKind]] = {
    NotThere: (404, "unknown"),
    NotValid: (400, "invalid"),
    Overtaken: (409, "conflict"),
    OperationError: (409, "refused"),
    ConfigError: (400, "invalid"),
    CronError: (400, "invalid"),
    NoHistory: (404, "no history"),
    HistoryDown: (503, "unreachable"),
    HistoryError: (400, "invalid"),
    WrongAddress: (503, "unreachable"),
    MissingExtra: (503, "unreachable"),
    RegistryError: (503, "unreachable"),
    TimeoutError: (503, "unreachable"),
}


def install(app: FastAPI) -> None:
    """Have an app tell its troubles like this."""
    for kind in TOLD:
        app.add_exception_handler(kind, _told)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(Exception, _unforeseen)


def _told(request: Request, error: Exception) -> JSONResponse:
    status, kind = next(told for each, told in TOLD.items() if isinstance(error, each))
    return _answer(status, kind, str(error))


def _not_understood(request: Request, error: Exception) -> JSONResponse:
    """What was sent makes no sense. What it was is not repeated."""
    assert isinstance(error, RequestValidationError)
    faults = [f"{_where(each['loc'])}: {each['msg']}" for each in error.errors()[:5]]
    return _answer(400, "invalid", "; ".join(faults) or "that makes no sense")


def _where(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place[1:]) or str(place[0])


def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    log.error("%s %s failed", request.method, request.scope.get("path"), exc_info=error)
    return _answer(500, "refused", "something went wrong here: the console's log says what")


def _answer(status: int, kind: ErrorKind, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence, "kind": kind}, status)
