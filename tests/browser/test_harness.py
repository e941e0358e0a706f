"""The watch over a page sees what it is there to see."""

from tests.browser.conftest import violations

BAD = """<!doctype html><html><head><title>t</title></head><body>
<img src="missing.png"><script>console.error("said"); throw new Error("thrown")</script>"""
GOOD = """<!doctype html><html lang="en"><head><title>t</title></head><body>
<main><h1>A page</h1></main>"""


def test_errors_requests_and_violations_are_seen(opened, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text(BAD, encoding="utf-8")
    seen = opened(path)
    assert any("said" in each for each in seen.errors)
    assert any("thrown" in each for each in seen.errors)
    assert [each.rpartition("/")[2] for each in seen.requests] == ["missing.png"]
    assert any(each.startswith("image-alt") for each in violations(seen.page))


def test_a_plain_page_is_clean(opened, tmp_path):
    path = tmp_path / "good.html"
    path.write_text(GOOD, encoding="utf-8")
    seen = opened(path, width=390, dark=True)
    assert (seen.errors, seen.requests, violations(seen.page)) == ([], [], [])
