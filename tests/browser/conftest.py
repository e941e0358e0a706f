"""A real headless Chromium; tests skip with a reason where there is none.

`make test-browser` installs what it needs.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@dataclass
class Opened:
    """A page in the browser, and what it said and asked for since it was opened.

    Fields:
        page: Playwright's page.
        errors: lines of its console that are errors, and exceptions that nobody caught.
        requests: addresses that it asked for, besides its own.
    """

    page: "object"
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def found() -> str | None:
    """The browser: `FLUIDKV_CHROMIUM`, or the first one on the PATH."""
    return os.environ.get("FLUIDKV_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def alone() -> list[str]:
    """Chromium's own sandbox needs a user that is not root."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """Playwright's browser, started once."""
    path = found()
    if path is None:
        pytest.skip("no Chromium on the PATH: `make test-browser` installs one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=[*FLAGS, *alone()])
        yield started
        started.close()


@pytest.fixture
def opened(browser) -> Iterator[Callable[..., Opened]]:
    """`opened(path or address, width=1280, dark=False)`: a fresh page; its requests are watched."""
    contexts = []

    def open_(address: Path | str, *, width: int = 1280, dark: bool = False) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        seen = Opened(page)
        page.on("console", lambda m: seen.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        url = address.resolve().as_uri() if isinstance(address, Path) else address
        own = url.partition("#")[0]
        page.on("request", lambda r: None if _plain(r) == own else seen.requests.append(r.url))
        page.goto(url)
        return seen

    yield open_
    for context in contexts:
        context.close()


def _plain(request) -> str:
    """Its address without what stands behind "#"."""
    return request.url.partition("#")[0]


def violations(page) -> list[str]:
    """What axe-core finds against WCAG 2 A and AA on a page, a line each."""
    from axe_playwright_python.sync_playwright import Axe

    tags = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}
    found = Axe().run(page, options=tags).response["violations"]
    return [
        f"{each['id']}: {each['help']}: {node['html'][:120]}"
        for each in found
        for node in each["nodes"]
    ]
