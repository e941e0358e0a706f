"""Reports in a browser: they open clean on a phone, in the dark and on paper."""

import shlex
from itertools import product
from pathlib import Path

import pytest

from fluidkv.cli import main
from tests.browser.conftest import violations
from tests.cli.transcript import lines_in_every_form

COMMANDS = ("study", "recommend", "replay", "size", "compare", "wait", "cache", "route", "preempt")
COMMANDS += ("price",)
PHONE, SCREEN = 390, 1280  # pixels
CHART = "figure.chart >> nth=0"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Path of a command's report, made once."""
    folder, paths = tmp_path_factory.mktemp("reports"), {}

    def make(command: str) -> Path:
        if command not in paths:
            paths[command] = folder / f"{command}.html"
            line = shlex.split(lines_in_every_form(command)[0])
            assert main([command, *line, "--html", str(paths[command])]) == 0
        return paths[command]

    return make


@pytest.fixture
def page(opened, made):
    """The report on a study, on a screen; it is held to say no error and to ask for nothing."""
    seen = opened(made("study"), width=SCREEN)
    yield seen.page
    assert (seen.errors, seen.requests) == ([], [])


QUICK = {("study", PHONE, True), ("study", SCREEN, False), ("recommend", PHONE, False)}
"""What is opened each time; the others with --thorough."""


def _cases():
    for each in product(COMMANDS, (PHONE, SCREEN), (False, True)):
        command, width, dark = each
        name = f"{command}-{width}-{'dark' if dark else 'light'}"
        yield pytest.param(*each, id=name, marks=() if each in QUICK else pytest.mark.thorough)


@pytest.mark.parametrize(("command", "width", "dark"), list(_cases()))
def test_it_opens_without_errors_requests_and_violations(opened, made, command, width, dark):
    seen = opened(made(command), width=width, dark=dark)
    assert seen.page.locator("figure.chart svg").count() >= 1
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(seen.page.screenshot(full_page=True)) > 20_000  # bytes; an empty page has fewer
    assert (seen.errors, seen.requests, violations(seen.page)) == ([], [], [])


def test_a_series_says_its_name_under_the_pointer(opened, made):
    seen = opened(made("replay"), width=SCREEN)
    line = seen.page.locator(f"{CHART} >> svg g:has(> title)", has_text="measured").first
    box = line.bounding_box()
    assert box["width"] > 100  # pixels
    assert box["height"] > 100
    hit = "([x, y]) => document.elementsFromPoint(x, y).some(e => e.closest('g:has(> title)'))"
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    across = [[box["x"] + box["width"] / 2, box["y"] + at] for at in range(int(box["height"]))]
    assert any(seen.page.evaluate(hit, place) for place in across)


def test_on_a_phone_a_picture_scrolls_by_keys_and_keeps_its_size(opened, made):
    seen = opened(made("study"), width=PHONE)
    picture = seen.page.locator(f"{CHART} >> .scroll >> nth=0")
    assert picture.locator("svg").bounding_box()["width"] > PHONE
    picture.focus()
    for _ in range(3):
        seen.page.keyboard.press("ArrowRight")
    seen.page.wait_for_function("e => e.scrollLeft > 0", arg=picture.element_handle())


def test_colours_are_those_that_one_chooses(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="dark").click()
    dark = page.evaluate(paper)
    assert dark != light
    page.get_by_role("button", name="as the system").click()
    assert page.evaluate(paper) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == dark


def test_print_is_light_and_has_no_controls(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("figure.chart svg >> nth=0").is_visible()


def test_by_keyboard_one_skips_to_the_answer_and_follows_the_contents(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answer"
    page.get_by_role("link", name="What was assumed").press("Enter")
    assert page.get_by_role("heading", name="What was assumed").is_visible()
    assert page.locator("section >> nth=-2").get_attribute("id") in page.url
