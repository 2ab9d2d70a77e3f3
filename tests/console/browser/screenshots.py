"""Pictures of every page, light and dark, of a real fleet at work: `make screenshots` puts them into
docs/images.

Each has at most 256 colours, which nobody sees on such pages, and a third of the size.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect

from shardwright.ops import looking
from shardwright.registry import Create
from tests.console.browser import chromium
from tests.console.browser.conftest import ADMIN, SESSION
from tests.console.browser.desk import Desk
from tests.console.browser.pages import PAGES, Place
from tests.console.browser.stage import Stage, wait_until
from tests.faults.processes import ROOT

FOLDER = ROOT / "docs" / "images"
THEMES = ("light", "dark")
SIZE = {"width": 1280, "height": 800}

#: Where this checkout is tells a reader nothing.
HIDE = """root => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(root, "/srv/shop");
}"""

#: No picture in the documentation is larger, in bytes.
MOST = 200_000


def main() -> None:
    wanted = set(sys.argv[1:])
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium.opened() as browser:
        folder = Path(name)
        url = f"sqlite://{folder / 'registry.db'}?session_timeout={SESSION}s"
        with Stage(url, folder) as stage:
            stage.start(3)
            stage.take_part(3)
            with Desk(browser, stage.open_console(), viewport=SIZE) as desk:
                desk.sign_in_first(*ADMIN)
                live_a_while(desk, stage)
                for place in PAGES:
                    if not wanted or place.name in wanted:
                        take(desk, place)
                if not wanted or "login" in wanted:
                    take_login(browser, desk)


def live_a_while(desk: Desk, stage: Stage) -> None:
    """Something happens that is worth a picture: runs, failures, a death, a change, something left over."""
    (victim,) = stage.start()
    wait_until(lambda: desk.get("r/main/history?job=index-photos&outcome=ok")["fires"], "a fire")
    wait_until(lambda: desk.get("r/main/history?job=index-photos&disposition=RUNNING")["fires"], "a run")
    stage.kill(victim)
    with stage.operator() as operator:
        operator.disable("index-photos", shard=4)
        operator.disable("on-request", server="10.0.0.2")
        operator.registry.wait(
            operator.registry.commit(
                Create(f"{operator.registry.namespace}{looking.OURS}/thumbnails/watched")
            )
        )
    desk.go("servers")
    desk.choose("Actions for 10.0.0.3", "Disable")
    desk.confirm("Disable")
    expect(desk.row("10.0.0.3")).to_contain_text("Disabled")
    desk.choose("Actions for 10.0.0.3", "Enable")
    expect(desk.row("10.0.0.3")).to_contain_text("Up")
    enough = "r/main/history?job=index-photos&shard=0&outcome=ok&limit=500"
    wait_until(lambda: len(desk.get(enough)["fires"]) > 10, "some fires")


def take(desk: Desk, place: Place) -> None:
    for theme in THEMES:
        desk.begin()
        desk.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        place.open(desk)
        desk.page.mouse.move(1279, 799)
        desk.page.evaluate(HIDE, str(ROOT))
        expect(desk.page.locator(".toast")).to_have_count(0)
        keep(desk.page.screenshot(animations="disabled"), f"console-{place.name}-{theme}.png")


def take_login(browser: Browser, desk: Desk) -> None:
    for theme in THEMES:
        with Desk(browser, desk.console, color_scheme=theme, viewport=SIZE) as stranger:
            stranger.page.goto(f"{stranger.url}/")
            expect(stranger.button("Sign in")).to_be_visible()
            keep(stranger.page.screenshot(), f"console-login-{theme}.png")


def keep(picture: bytes, name: str) -> None:
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    few = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(FOLDER / name, optimize=True)
    size = (FOLDER / name).stat().st_size
    print(f"{name}: {size:,} bytes")
    assert size < MOST, f"{name} is too large: {size:,} bytes"


if __name__ == "__main__":
    main()
