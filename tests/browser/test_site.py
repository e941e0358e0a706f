"""The site as `make docs` built it: readable by everybody, and the ledger can be searched."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from docs._site.layout import ROOT
from tests.browser.conftest import violations

SITE = ROOT / "build" / "site"
PAGES = (
    "index.html",
    "start/operators.html",
    "model.html",
    "ledger.html",
    "claims.html?paper=WAIT&outcome=fails",
    "gallery.html",
    "reference/fluidkv.html",
    "commands/size.html",
    "tutorials/01_first_verdict.html",
)

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").is_file(), reason="no site in build/site: `make docs` builds it"
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Its address: axe looks into style sheets, which a browser hides from a page of a file."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=SITE)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_readable_by_everybody(opened, site, page, dark):
    seen = opened(site + page, dark=dark)
    assert seen.page.locator("html").get_attribute("data-theme") == ("dark" if dark else "light")
    assert seen.errors == []
    assert [each for each in seen.requests if not each.startswith(site)] == []
    assert violations(seen.page) == []  # last: axe looks for style sheets where they are not


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(opened, site, page):
    seen = opened(site + page, width=390)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 1280])
def test_no_line_of_code_is_clipped_in_a_tutorial(opened, site, width):
    page = opened(site + "tutorials/09_tokenpd.html", width=width).page
    code = page.locator("div.highlight-python pre")
    assert code.count() > 5
    assert (
        code.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length") == 0
    )


def test_statements_of_the_ledger_have_more_room_than_ids(opened, site):
    page = opened(site + "claims.html", width=1280).page
    heads = page.locator("#claims thead th").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().width)"
    )
    assert heads[0] < 0.3 * sum(heads)
    assert heads[1] > 0.4 * sum(heads)


def test_the_search_of_the_ledger_finds_a_claim(opened, site):
    page = opened(site + "claims.html").page
    rows = page.locator("#claims tbody tr:visible")
    every = rows.count()
    page.get_by_label("Words or id").fill("example-9 safety")
    assert rows.count() < every
    shown = rows.evaluate_all("rows => rows.map(row => row.id)")
    assert "congestion.example-9.safety-margin" in shown
    page.get_by_label("Outcome").select_option("holds")
    shown = rows.evaluate_all("rows => rows.map(row => row.id)")
    assert "congestion.example-9.safety-margin" not in shown
    assert page.url.endswith("?words=example-9+safety&outcome=holds")


def test_a_search_of_the_ledger_can_be_sent(opened, site):
    page = opened(site + "claims.html?paper=WAIT&outcome=fails").page
    rows = page.locator("#claims tbody tr:visible")
    assert rows.count() > 0
    assert set(rows.evaluate_all("rows => rows.map(row => row.dataset.outcome)")) == {"fails"}
    assert f"{rows.count()} of " in page.locator("form output").text_content()


def test_the_picture_in_the_model_moves_and_takes_another_example(opened, site):
    page = opened(site + "model.html").page
    page.locator("iframe.moving").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe.moving")
    frame.get_by_role("button", name="Pause").click()
    frame.get_by_label("Example").select_option("figure-2a")
    frame.locator("#says", has_text="STABLE").wait_for()
    frame.get_by_role("button", name="One iteration on").click()
    frame.locator("#batch-told", has_text="Iteration 1:").wait_for()
