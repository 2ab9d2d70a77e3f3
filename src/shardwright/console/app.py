"""The console put together: the page at the root, the API below `api/`, each behind its guard."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from . import entry, people, refusals, routing, troubles
from .accounts import AccountError, AccountsFileError, TooMany, UnknownAccount
from .desk import Desk
from .gate import Gate
from .guard import Front, Guard, with_headers
from .refusals import Refusal
from .routes import every as of_the_desk
from .routing import SIGNED_IN, Routes
from .static import Static

log = logging.getLogger("shardwright.console")

#: Reached as it is, at the root.
DIRECT = Front()

_SAID = {404: "there is nothing here", 405: "that is not how this is asked"}

NO_STORE = {"cache-control": "no-store"}


def build(
    gate: Gate,
    desk: Desk,
    front: Front = DIRECT,
    *,
    version: str = "0",
    more: tuple[Routes, ...] = (),
) -> FastAPI:
    """The API; with more routes, if there are."""
    api = FastAPI(
        title="Shardwright console",
        version=version,
        # Their pages load scripts from elsewhere, and the description is not for everybody.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        redirect_slashes=False,
    )
    api.state.gate = gate
    api.state.desk = desk
    api.state.front = front
    routing.install(api, (entry.routes, people.routes, _description(api), *of_the_desk, *more))
    routing.check(api)
    _install_troubles(api)
    troubles.install(api)
    return api


class Console:
    """All of it, as one ASGI app. It is told to start, and to stop, by the server's lifespan."""

    def __init__(self, api: FastAPI, front: Front, page: Static) -> None:
        self.api = api
        self._front = front
        self._guarded = Guard(api, api.state.gate, front)
        # No answer there holds a secret of the session, and no other site's page can ask with the session.
        self._packed = GZipMiddleware(self._guarded, minimum_size=2000, compresslevel=5)
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # nobody speaks WebSocket here
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            routing.check(self.api)
        except routing.Unguarded as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._below(scope["path"])
        scope = {**scope, "path": path or "/", "root_path": "", "state": {}}
        if path.startswith(f"{routing.PREFIX}/r/"):
            await self._packed(scope, receive, with_headers(send, NO_STORE))
        elif path.startswith(f"{routing.PREFIX}/"):
            await self._guarded(scope, receive, with_headers(send, NO_STORE))
        elif not path:  # addresses in the page are relative to the slash
            there = RedirectResponse(f"{self._front.root_path}/", 307)
            await there(scope, receive, with_headers(send, NO_STORE))
        else:
            await self._page(scope, receive, with_headers(send, {}))

    def _below(self, path: str) -> str:
        """The path below ours; a proxy may have taken ours off already, or not."""
        root = self._front.root_path
        if root and (path == root or path.startswith(root + "/")):
            return path[len(root) :]
        return path


def _description(api: FastAPI) -> Routes:
    routes = Routes("description")

    @routes.get("/openapi.json", needs=SIGNED_IN)
    def describe_api() -> dict[str, Any]:
        """The description of this API."""
        return api.openapi()

    return routes


def _install_troubles(api: FastAPI) -> None:
    """What becomes of errors that are the gate's own."""

    def refuse(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refusal)
        return error.answer()

    def refuse_plainly(request: Request, error: Exception) -> JSONResponse:
        """What FastAPI itself refuses: a path or a method that is not there, a body that is no text."""
        assert isinstance(error, HTTPException)
        kind: refusals.Kind = "unknown" if error.status_code in (404, 405) else "invalid"
        said = _SAID.get(error.status_code, error.detail)
        return Refusal(error.status_code, kind, said, headers=error.headers).answer()

    def refuse_account(request: Request, error: Exception) -> JSONResponse:
        kind = refusals.unknown if isinstance(error, UnknownAccount) else refusals.invalid
        return kind(str(error)).answer()

    def no_accounts(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, AccountsFileError)
        return refusals.no_accounts(error).answer()

    def too_many(request: Request, error: Exception) -> JSONResponse:
        return Refusal(503, "busy", str(error), headers={"Retry-After": "5"}).answer()

    api.add_exception_handler(Refusal, refuse)
    api.add_exception_handler(HTTPException, refuse_plainly)
    api.add_exception_handler(AccountError, refuse_account)
    api.add_exception_handler(AccountsFileError, no_accounts)
    api.add_exception_handler(TooMany, too_many)
