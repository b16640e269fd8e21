"""Chromium of the system, driven by Playwright, with what pages log and request."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DEADLINE = 120_000  # milliseconds that a busy machine may take


def missing() -> str:
    """Why there is no browser; empty if there is one."""
    try:
        import axe_playwright_python  # noqa: F401
        import playwright  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed: the extra browser"
    return "" if shutil.which("chromium") else "there is no chromium: apt-get install chromium"


class Seen(NamedTuple):
    """A page; ``hosts`` it sent requests to, and what it said: errors, console messages and dialogs."""

    page: Page
    hosts: set[str]
    said: list[str]


@contextmanager
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        yield made
        made.close()


@contextmanager
def opened(browser: Browser, *, dark: bool = False, width: int = 1280, script: bool = True) -> Iterator[Seen]:
    scheme = "dark" if dark else "light"
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 800}, java_script_enabled=script
    )
    context.set_default_timeout(DEADLINE)
    seen = Seen(context.new_page(), set(), [])
    seen.page.on("request", lambda request: seen.hosts.add(urlsplit(request.url).hostname or ""))
    seen.page.on("console", lambda message: seen.said.append(message.text))
    seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
    seen.page.on("dialog", lambda dialog: dialog.dismiss())
    seen.page.on("dialog", lambda dialog: seen.said.append(f"dialog {dialog.message}"))
    yield seen
    context.close()
