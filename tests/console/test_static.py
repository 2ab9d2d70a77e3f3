"""The page: how it is served, and what is served where it is not built."""

import gzip
from pathlib import Path

import pytest

from shardwright.console.guard import Front

from .visiting import house

SCRIPT = "assets/index-m8ppkONQ.js"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Console</title>")
    (folder / SCRIPT).write_text("let shards = 0;\n" * 200)
    (folder / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("not for you")
    return folder


def test_the_page_is_asked_for_each_time_and_what_has_a_hash_is_kept_for_ever(
    tmp_path: Path, page: Path
) -> None:
    with house(tmp_path, page=page) as here:
        start = here.stranger.get("/")
        assert (start.status, start.body) == (200, (page / "index.html").read_bytes())
        assert start.headers["content-type"] == "text/html; charset=utf-8"
        assert start.headers["cache-control"] == "no-cache"
        script = here.stranger.get(f"/{SCRIPT}")
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert here.stranger.get("/icon.svg").headers["cache-control"] == "no-cache"


def test_what_is_worth_it_is_sent_packed_to_whoever_takes_it(tmp_path: Path, page: Path) -> None:
    with house(tmp_path, page=page) as here:
        packed = here.stranger.but(more={"accept-encoding": "br, gzip"}).get(f"/{SCRIPT}")
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == here.stranger.get(f"/{SCRIPT}").body
        assert len(packed.body) < 100


def test_who_has_it_already_is_not_sent_it_again(tmp_path: Path, page: Path) -> None:
    with house(tmp_path, page=page) as here:
        tag = here.stranger.get("/").headers["etag"]
        again = here.stranger.but(more={"if-none-match": tag}).get("/")
        assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "//etc/passwd",
        "/%2e%2e/secret.txt",
        "/nothing",
        "/assets",
    ],
)
def test_nothing_else_is_ever_sent(tmp_path: Path, page: Path, path: str) -> None:
    with house(tmp_path, page=page) as here:
        answer = here.stranger.get(path)
        assert (answer.status, answer.body) == (404, b"there is no such file")


def test_the_page_is_only_looked_at(tmp_path: Path, page: Path) -> None:
    with house(tmp_path, page=page) as here:
        assert here.stranger.post("/").status == 405
        head = here.stranger.call("HEAD", "/")
        assert head.status == 200


def test_without_a_build_a_plain_page_says_how_to_build_it_and_the_api_works(tmp_path: Path) -> None:
    with house(tmp_path) as here:
        for path in ("/", "/index.html", "/assets/index-m8ppkONQ.js"):
            answer = here.stranger.get(path)
            assert answer.status == 503
            assert b"make ui" in answer.body
            assert b"src=" not in answer.body  # self-contained
            assert b"href=" not in answer.body
        assert here.stranger.get("/api/about").status == 200


def test_a_page_that_is_built_meanwhile_is_served(tmp_path: Path) -> None:
    with house(tmp_path, page=tmp_path / "page") as here:
        assert here.stranger.get("/").status == 503
        (tmp_path / "page").mkdir()
        (tmp_path / "page" / "index.html").write_text("there")
        assert here.stranger.get("/").body == b"there"


@pytest.mark.parametrize("stripped", [False, True])
def test_below_a_path_all_works_whether_a_proxy_takes_the_path_off_or_not(
    tmp_path: Path, page: Path, stripped: bool
) -> None:
    with house(tmp_path, page=page, front=Front("/ops")) as here:
        root = "" if stripped else "/ops"
        assert here.stranger.get(f"{root}/").status == 200
        assert here.stranger.get(f"{root}/{SCRIPT}").status == 200
        assert here.stranger.get(f"{root}/api/about").json["version"] == "7"
        here.gate.accounts.add("ann", "correct horse battery", {"*": "admin"})
        answer = here.stranger.post(f"{root}/api/login", {"user": "ann", "password": "correct horse battery"})
        assert "; Path=/ops/;" in answer.headers["set-cookie"]


def test_the_path_itself_leads_to_where_relative_addresses_work(tmp_path: Path, page: Path) -> None:
    with house(tmp_path, page=page, front=Front("/ops")) as here:
        answer = here.stranger.get("/ops")
        assert (answer.status, answer.headers["location"]) == (307, "/ops/")
        assert here.stranger.get("/opsx").status == 404
