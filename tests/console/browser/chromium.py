"""A real browser: Debian's Chromium, driven by playwright. Nothing is downloaded, and it asks nobody."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing() -> str | None:
    """Why there is no browser and how to get one, in one line; None if there is one."""
    if shutil.which("chromium") is None:
        return "no browser: run `make setup` as root, or install chromium"
    if find_spec("playwright") is None:
        return "no playwright: run `make setup`, which installs the development requirements"
    return None


@contextmanager
def opened() -> Iterator["Browser"]:
    """The browser, with nothing remembered from before."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
