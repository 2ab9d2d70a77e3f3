"""A real browser: Debian's Chromium, driven by playwright. Nothing is downloaded, and it asks nobody."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

#: For how many milliseconds a page may take to be as it should be: machines are slow, and others use them.
PATIENCE = 15_000

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
    return None if shutil.which("chromium") else "no browser: run `make setup` as root, or install chromium"


@contextmanager
def opened() -> Iterator[Browser]:
    """The browser, with nothing remembered from before."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
