"""The built page, as Vite has left it in `static/`; without it a plain page that says how to build it."""

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from .guard import headers_of

HERE = Path(__file__).parent / "static"

#: A name that changes with what is in the file: it may be kept for ever.
_HASHED = re.compile(r"assets/[\w.-]+-[\w-]{8}\.\w+")

_FOREVER, _ASK_FIRST = "public, max-age=31536000, immutable", "no-cache"
_PACKED = {".js", ".css", ".html", ".svg", ".json", ".txt"}
_KINDS = {".js": "text/javascript; charset=utf-8", ".html": "text/html; charset=utf-8"}

WITHOUT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Shardwright console</title>
<h1>The page is not built</h1>
<p>This is a checkout without the built page. Run <code>make ui</code> in it, and load this again.</p>
<p>The API below <code>api/</code> works all the same.</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page, as it is sent."""

    plain: bytes
    packed: bytes | None
    kind: str
    kept: str
    tag: str


class Static:
    """The files of the page. All of them are in memory: no path that somebody sends is ever opened."""

    def __init__(self, folder: Path = HERE) -> None:
        self._folder = folder
        self._built: float | None = None
        self._files: dict[str, File] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("only GET and HEAD are for the page", 405, {"allow": "GET, HEAD"})
        files = self._current()
        if not files:
            return Response(WITHOUT, 503, {"cache-control": "no-store"}, "text/html; charset=utf-8")
        file = files.get(scope["path"].removeprefix("/") or "index.html")
        if file is None:
            return PlainTextResponse("there is no such file", 404, {"cache-control": "no-store"})
        return _sent(file, headers_of(scope))

    def _current(self) -> dict[str, File]:
        """Read anew when it was built anew: in a checkout that happens while the console runs."""
        try:
            built = (self._folder / "index.html").stat().st_mtime
        except OSError:
            self._built, self._files = None, {}
            return self._files
        if built != self._built:
            found = [file for file in self._folder.rglob("*") if file.is_file()]
            self._files = {
                file.relative_to(self._folder).as_posix(): _read(file, self._folder) for file in found
            }
            self._built = built
        return self._files


def _read(file: Path, folder: Path) -> File:
    plain = file.read_bytes()
    packed = gzip.compress(plain, 9, mtime=0) if file.suffix in _PACKED and len(plain) > 1000 else None
    hashed = _HASHED.fullmatch(file.relative_to(folder).as_posix())
    return File(
        plain,
        packed,
        _KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream",
        _FOREVER if hashed else _ASK_FIRST,
        f'"{hashlib.sha256(plain).hexdigest()[:32]}"',
    )


def _sent(file: File, asked: dict[str, str]) -> Response:
    headers = {"cache-control": file.kept, "etag": file.tag, "vary": "accept-encoding"}
    if file.tag in asked.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in asked.get("accept-encoding", ""):
        return Response(file.packed, headers=headers | {"content-encoding": "gzip"}, media_type=file.kind)
    return Response(file.plain, headers=headers, media_type=file.kind)
