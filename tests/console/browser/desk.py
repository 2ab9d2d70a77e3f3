"""A desk: somebody before the console, in a browser of their own, and all that the browser complained about.

with Desk(browser, console) as desk:
    desk.sign_in_first("ann", "correct horse battery")
    desk.go("servers")
    desk.button("Disable").click()
    desk.check()
"""

import re
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page

from tests.console.browser import chromium
from tests.console.browser.stage import Console

#: Says what the page was forbidden to do, also while it is being loaded.
WATCH = """
addEventListener("securitypolicyviolation", (event) =>
  window.complain(`CSP: ${event.violatedDirective} forbids ${event.blockedURI}`));
"""

#: What pages have asked to be changed, until it is counted (`actions.py`): how, where, and what was said.
steered: list[tuple[str, str, str]] = []

#: What a browser says of an answer that the page itself tells people of.
ANSWERED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")


class Desk:
    """One browser context with one page. `url` is where the console is reached, if not where it listens."""

    def __init__(self, browser: Browser, console: Console, *, url: str | None = None, **context: Any) -> None:
        self.console, self.url = console, url or console.url
        options = {"locale": "en-GB", "viewport": {"width": 1280, "height": 800}, **context}
        self.speaks_chinese = str(options["locale"]).startswith("zh")
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(chromium.PATIENCE)
        self.complaints: list[str] = []
        self.context.expose_function("complain", lambda text: self.complaints.append(text))
        self.context.add_init_script(WATCH)
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("console", self._heard)
        self.page.on("request", self._asked)

    def _heard(self, message: Any) -> None:
        if message.type == "error" and not ANSWERED.search(message.text):
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Any) -> None:
        if request.method not in ("GET", "HEAD"):
            path = urlsplit(request.url.removeprefix(self.url)).path
            steered.append((request.method, path, request.post_data or ""))
        if not request.url.startswith((self.url, "data:", "blob:", "about:")):
            self.complaints.append(f"asked outside: {request.url}")

    # -- where it is ---------------------------------------------------------------------------------

    def go(self, path: str = "", registry: str = "main") -> None:
        """A page of a registry, opened as by its address."""
        self.page.goto(f"{self.url}/#/r/{registry}/{path}")

    def go_to(self, path: str) -> None:
        """A page that belongs to no registry."""
        self.page.goto(f"{self.url}/#/{path}")

    # -- signing in ----------------------------------------------------------------------------------

    def sign_in_first(self, user: str, password: str) -> None:
        """Make the first account, by the token that the console printed."""
        assert self.console.token is not None, self.console.lines
        self.page.goto(f"{self.url}/")
        self.page.get_by_label("One-time token").fill(self.console.token)
        self.button("Continue").click()
        self.page.get_by_label("Name", exact=True).fill(user)
        self.page.get_by_label("Password", exact=True).fill(password)
        self.page.get_by_label("Repeat the password").fill(password)
        self.button("Create the account").click()
        self.page.get_by_role("navigation").first.wait_for()

    def sign_in(self, user: str, password: str) -> None:
        self.page.goto(f"{self.url}/")
        self.page.get_by_label("Name", exact=True).fill(user)
        self.page.get_by_label("Password", exact=True).fill(password)
        self.button("Sign in").click()

    # -- what is on the page -------------------------------------------------------------------------

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def row(self, name: str) -> Locator:
        """The row of a table that something stands in."""
        return self.page.get_by_role("row").filter(has_text=name)

    def confirm(self, name: str) -> None:
        """Say yes to what is asked."""
        self.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()

    def choose(self, menu: str, item: str) -> None:
        """Open a menu and choose from it."""
        self.button(menu).click()
        self.page.get_by_role("menuitem", name=item, exact=True).click()

    def said(self, text: str) -> Locator:
        """What the page says of something that was done."""
        return self.page.locator(".toast").filter(has_text=text)

    def wait_said(self, text: str) -> None:
        self.said(text).first.wait_for()

    def get(self, path: str) -> Any:
        """What the API answers to this session."""
        answer = self.context.request.get(f"{self.url}/api/{path}")
        assert answer.ok, answer.text()
        return answer.json()

    # -- what went wrong -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget what was on the page, and what was complained about."""
        self.page.goto("about:blank")
        self.complaints.clear()

    def check(self) -> None:
        """Nothing was forbidden, nothing broke, nothing was asked of anybody else."""
        assert self.page.evaluate("window.broken") is None, "a text was run as a script"
        assert self.complaints == []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.context.close()
