"""The built page, as Vite has left it in `static/`; without it a plain page that says how to build it."""

import mimetypes
import re
from pathlib import Path

from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

HERE = Path(__file__).parent / "static"

#: A name that changes with what is in the file: it may be kept for ever.
_HASHED = re.compile(r"assets/[\w.-]+-[\w-]{8}\.\w+")

_FOREVER = "public, max-age=31536000, immutable"

WITHOUT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Shardwright console</title>
<h1>The page is not built</h1>
<p>This is a checkout without the built page. Run <code>make ui</code> in it, and load this again.</p>
<p>The API below <code>api/</code> works all the same.</p>
</html>
"""


class Static:
    """The files of the page, all known at the start: no path that somebody sends is ever opened."""

    def __init__(self, folder: Path = HERE) -> None:
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("only GET and HEAD are for the page", 405, {"allow": "GET, HEAD"})
        name = scope["path"].lstrip("/") or "index.html"
        files = self._files()
        if "index.html" not in files:
            return Response(WITHOUT, 503, {"cache-control": "no-store"}, "text/html; charset=utf-8")
        if name not in files:
            return PlainTextResponse("there is no such file", 404, {"cache-control": "no-store"})
        kept = _FOREVER if _HASHED.fullmatch(name) else "no-cache"
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return FileResponse(files[name], media_type=kind, headers={"cache-control": kept})

    def _files(self) -> dict[str, Path]:
        """Looked up anew: in a checkout the page may be built while the console runs."""
        return {
            str(file.relative_to(self._folder)): file for file in self._folder.rglob("*") if file.is_file()
        }
