"""`python -m tests.browser.pictures` writes the stills of the page in docs/pictures."""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from fluidkv.explore.page import page
from fluidkv.explore.presets import NAMED
from tests.browser.conftest import FLAGS, alone, found

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
EMPTYING = 10
"""An iteration of Figure 6 that preempts."""


def main() -> None:
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=found(), args=[*FLAGS, *alone()])
        # The animation is off for those who ask for less motion; so it stands still here.
        context = browser.new_context(
            reduced_motion="reduce", viewport={"width": 1180, "height": 9}
        )
        opened = context.new_page()
        written = Path(folder) / "page.html"
        written.write_text(page(), encoding="utf-8")
        opened.goto(written.as_uri())
        opened.wait_for_selector("#t-band:not([hidden])")
        opened.screenshot(path=PICTURES / "explore.png", full_page=True)
        written.write_text(page(opens=NAMED["figure-6"].state, embed=True), encoding="utf-8")
        opened.set_viewport_size({"width": 760, "height": 9})
        opened.goto(written.as_uri())
        opened.locator("#moment").fill(str(EMPTYING))
        opened.locator("#moment").blur()
        opened.screenshot(path=PICTURES / "batch.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
