"""Whatever address comes from a browser, nobody is called there: neither by the console, nor for its page."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from shardwright.console import routing
from tests.faults.processes import ROOT

from .visiting import House, house

LOCK = Path(ROOT, "console-ui/package-lock.json")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("console")) as opened:
        yield opened


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody who waits to be called."""
    with socket.create_server(("127.0.0.1", 0)) as waiting:
        waiting.setblocking(False)
        yield waiting


def schema_of(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema
    while "$ref" in found:
        found = described["components"]["schemas"][found["$ref"].rpartition("/")[2]]
    return found


def filled(described: dict[str, Any], schema: dict[str, Any], text: str) -> Any:
    """Something of this shape, with the text wherever a text may stand."""
    schema = schema_of(described, schema)
    if "anyOf" in schema:
        return filled(described, schema["anyOf"][0], text)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            known = schema.get("properties", {})
            return {name: filled(described, each, text) for name, each in known.items()} or {
                "parameter": text
            }
        case "array":
            return [filled(described, schema["items"], text)]
        case "integer" | "number":
            return 0
        case "boolean":
            return True
    return text


@pytest.mark.parametrize("form", ["zookeeper://{0}/x", "postgresql://{0}/x", "http://{0}/x", "{0}"])
def test_nobody_is_called_at_an_address_that_comes_from_a_browser(
    here: House, listener: socket.socket, form: str
) -> None:
    text = form.format(f"127.0.0.1:{listener.getsockname()[1]}")
    described = here.api.openapi()
    asked = 0
    for route in routing.declared(here.api):
        operation = described["paths"].get(f"/api{route.path}", {}).get(route.method.lower())
        if operation is None:
            continue
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        query = "&".join(
            f"{each['name']}={quote(str(filled(described, each['schema'], text)), safe='')}"
            for each in operation.get("parameters", ())
            if each["in"] == "query"
        )
        for registry in ("main", quote(text, safe="")):
            path = f"/api{route.path}".replace("{registry}", registry)
            for part in [each for each in path.split("/") if each.startswith("{")]:
                path = path.replace(part, quote(text, safe=""))
            answer = here.admin.call(
                route.method, f"{path}?{query}", None if body is None else filled(described, body, text)
            )
            assert answer.status < 500 or answer.status == 503, answer.body
            asked += 1
    assert asked > 60
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_what_the_page_is_built_of_is_locked_by_hash_and_not_by_where_it_once_came_from() -> None:
    packages = {name: each for name, each in json.loads(LOCK.read_text())["packages"].items() if name}
    assert len(packages) > 50
    assert [name for name, each in packages.items() if "resolved" in each] == []
    # npm leaves out those of platforms that it was not locked on: tools of which only one is ever there
    unknown = [each for each in packages.values() if "integrity" not in each]
    assert [
        each for each in unknown if not (each.get("optional") and (each.get("os") or each.get("cpu")))
    ] == []
