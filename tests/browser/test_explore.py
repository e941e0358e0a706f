"""The page in a browser: it opens clean, moves by keyboard, and its link holds what it shows."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluidkv.explore.page import page, proved
from fluidkv.explore.presets import NAMED, PRESETS
from fluidkv.explore.server import LoopbackServer
from fluidkv.explore.state import Lengths, Load, PageState
from fluidkv.footprints import noise
from fluidkv.workload import Workload
from tests.browser.conftest import violations

PHONE, SCREEN = 390, 1280  # pixels

SAYS = {"stable": "STABLE", "unstable": "UNSTABLE", "undecided": "Too close to tell"}
"""The first words of the page's answer."""


@pytest.fixture(scope="module")
def text() -> str:
    return page()


@pytest.fixture(scope="module")
def exported(text, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def served(text) -> Iterator[str]:
    """Its address."""
    with LoopbackServer(text, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


@pytest.fixture
def shown(opened, exported):
    """The page of a link, which is held to say no error and to ask for nothing."""
    seen = []

    def show(link: str = "", **how):
        seen.append(opened(f"{exported.as_uri()}#{link}", **how))
        return seen[-1].page

    yield show
    assert [(each.errors, each.requests) for each in seen] == [([], [])] * len(seen)


def read(page) -> dict[str, str]:
    """The answer: what stands in the box, and each number by its name."""
    numbers = page.evaluate(  # at once: they are written anew where the slider rests
        "() => [...document.querySelectorAll('#numbers div')].map(each => each.innerText)"
    )
    named = dict(each.split("\n", 1) for each in numbers)
    return {"says": page.inner_text("#says"), "why": page.inner_text("#why"), **named}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_it_opens_without_errors_requests_and_violations(opened, exported, width, dark):
    seen = opened(exported, width=width, dark=dark)
    assert seen.page.inner_text("#says").startswith("STABLE")
    seen.page.wait_for_selector("#t-band:not([hidden])")
    assert (seen.errors, seen.requests, violations(seen.page)) == ([], [], [])


def test_the_served_page_is_the_same(opened, served):
    seen = opened(served)
    assert read(seen.page)["Running at the balance"] == "97.74 requests"
    assert (seen.errors, seen.requests) == ([], [])


def test_the_part_that_other_pages_embed_moves(opened, tmp_path):
    path = tmp_path / "embed.html"
    path.write_text(page(embed=True), encoding="utf-8")
    seen = opened(path, width=720)
    assert seen.page.locator("input[type=range]:visible").count() == 1
    before = seen.page.inner_text("#batch-told")
    seen.page.wait_for_function(
        "before => document.querySelector('#batch-told').textContent !== before", arg=before
    )
    seen.page.click("#play")
    assert seen.page.inner_text("#play") == "Play"
    assert (seen.errors, seen.requests, violations(seen.page)) == ([], [], [])


def test_the_numbers_are_read(shown):
    found = read(shown(NAMED["figure-2b"].state.link))
    assert found["says"] == "UNSTABLE: a small push grows"
    assert found["why"].startswith("1 of 3 modes grows.")
    assert found["Throughput in the last half"] == "99.05 % of the balance"
    assert found["Preemptions in the last half"] == "0.03 per completed request"
    assert found["It turns once in"] == "2 iterations"


SLIDERS = "#controls input[type=range]:visible, #moment"


def visible_sliders(page) -> list[str]:
    """Their ids; more may come while some are moved."""
    return page.locator(SLIDERS).evaluate_all("all => all.map(each => each.id)")


def test_every_slider_moves_by_keyboard_and_the_page_follows(shown):
    page = shown(NAMED["figure-2b"].state.link)
    ids = visible_sliders(page)
    assert len(ids) == 11
    for id_ in ids:
        slider = page.locator(f"#{id_}")
        slider.focus()
        before, address = slider.input_value(), page.get_attribute("#here", "href")
        told = slider.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == int(before) + 1
        assert slider.get_attribute("aria-valuetext") != told
        if id_ != "moment":  # which is of the picture, not of the state
            assert page.get_attribute("#here", "href") != address
            assert re.fullmatch(r"Last move: [0-9.]+ ms .*", page.inner_text("#timing"))
    assert page.locator("#problem").is_hidden()


def test_every_slider_reaches_both_ends(shown):
    page = shown("in=50&out=2:1,4:1,7:2,9:1&kv=5000&start=over:25&n=100")
    for id_ in visible_sliders(page):
        slider = page.locator(f"#{id_}")
        for key, end in (("End", "max"), ("Home", "min")):
            slider.focus()
            page.keyboard.press(key)
            # memory stays above what the largest request needs
            if page.locator("#problem").is_hidden():
                assert slider.input_value() == slider.get_attribute(end), (id_, key)
            assert "NaN" not in page.inner_text("main")
            assert page.inner_text("#says").split(":")[0] in SAYS.values()


def test_a_longer_input_turns_the_verdict(shown):
    """2 and 7 tokens: stable from 18 tokens of input on (`congestion.figure-3.a.threshold`)."""
    page = shown(NAMED["figure-3"].state.link)
    assert read(page)["says"].startswith("UNSTABLE")
    for tokens, said in ((17, "UNSTABLE"), (18, "STABLE")):
        page.get_by_label("Input length, tokens").fill(str(tokens))
        assert read(page)["says"].startswith(said)


def test_an_output_length_is_added_and_removed(shown):
    page = shown(NAMED["figure-2a"].state.link)
    lengths = page.get_by_label(re.compile("^Output length.*tokens$"))
    assert lengths.count() == 2
    page.click("#add")
    assert lengths.count() == 3
    page.click("#drop")
    page.click("#drop")
    assert lengths.count() == 1
    assert page.locator("#drop").is_disabled()
    assert page.evaluate("fluidkv.state().outputs") == [[2, 1]]


def test_memory_is_raised_to_what_a_request_needs_and_that_is_said(shown):
    page = shown(NAMED["figure-2a"].state.link)
    page.get_by_label("KV memory, tokens").fill("10")
    assert "KV memory raised to 54 tokens" in page.inner_text("#problem")
    assert page.evaluate("fluidkv.state().capacity") == 54


def test_shares_that_no_link_holds_are_not_taken(shown):
    page = shown("in=50&out=3:999,4:1000,5:1&kv=1000")
    before = page.evaluate("fluidkv.state()")
    page.get_by_label("Output length 1, tokens").fill("4")
    assert "that change was not made" in page.inner_text("#problem")
    assert page.evaluate("fluidkv.state()") == before
    assert page.get_by_label("Output length 1, tokens").input_value() == "3"


def test_parts_of_a_link_are_counted_once_equal_lengths_are_one(shown):
    page = shown("in=50&out=4:2000,5:2000&kv=1000")
    assert page.locator("#problem").is_hidden()
    assert page.evaluate("fluidkv.state().outputs") == [[4, 1], [5, 1]]


def test_a_copied_link_opens_the_same_state(shown):
    first = shown(NAMED["figure-17c"].state.link)
    first.get_by_label("Input length, tokens").fill("33")
    first.context.grant_permissions(["clipboard-read", "clipboard-write"])
    first.click("#copy")
    first.wait_for_function("document.querySelector('#copied').textContent === 'Copied.'")
    link = first.evaluate("navigator.clipboard.readText()")
    assert link.endswith("#in=33&out=2:1,8:1,12:1&kv=777&start=empty&n=600")
    second = shown(link.partition("#")[2])
    assert second.evaluate("fluidkv.state()") == first.evaluate("fluidkv.state()")
    assert read(second) == read(first)


def test_a_browser_that_does_not_copy_is_told_where_the_link_is(shown):
    page = shown()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    page.click("#copy")
    page.wait_for_function("document.querySelector('#copied').textContent.includes('address bar')")


def test_the_back_button_returns_to_the_state_before(shown):
    page = shown(NAMED["figure-2a"].state.link)
    page.get_by_label("Input length, tokens").fill("60")
    before = page.evaluate("fluidkv.state()")
    page.select_option("#preset", "figure-16b")
    after = page.evaluate("fluidkv.state()")
    assert after != before
    page.go_back()
    page.wait_for_function("fluidkv.state().inputs[0] === 60")
    assert page.evaluate("fluidkv.state()") == before
    page.go_forward()
    page.wait_for_function("fluidkv.state().inputs[0] === 40")
    assert page.evaluate("fluidkv.state()") == after
    assert page.input_value("#preset") == "figure-16b"


def test_a_theme_alone_leaves_what_is_shown(shown):
    page = shown(NAMED["figure-9"].state.link)
    page.evaluate("location.hash = 'theme=dark'")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert page.evaluate("location.hash") == f"#{NAMED['figure-9'].state.link}"
    assert page.input_value("#preset") == "figure-9"


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("in=0", "in: 0: a whole number from 1 to 131072"),
        ("out=2:1,40000:1", "out: 40000: a whole number from 1 to 32768"),
        ("out=1,2,3,4,5", "at most 4 output lengths"),
        ("out=4:999,4:1000,5:1&kv=1000", "out: 1999: at most 1000 parts for a length"),
        ("kv=52&in=50", "kv: 52: at least 55"),
        ("start=full", "start: full: empty, over:PERCENT"),
        ("in=%zz", "in: %zz: a % begins a character's code"),
        ("in=5=6", "in: in=5=6: one = in a field"),
        ("in=50&kv=700&in=60", "in: 60: one field of this name"),
        ("theme=dark&theme=light", "theme: light: one field of this name"),
        ("start=over:1e3", "start: over:1e3: empty, over:PERCENT"),
        ("start=over:1234567890", "start: over:1234567890: empty, over:PERCENT"),
        (
            "colour=red",
            "colour: red: one of load, scale, in, out, kv, n, start, window, drafts, theme",
        ),
        ("load=mine", "load: mine: a load of this page: sharegpt, alpaca"),
        ("load=alpaca&in=50", "load: alpaca: no in and no out beside it"),
        ("load=sharegpt&scale=100", "scale: 100: INPUTS:OUTPUTS, per cent"),
        ("in=50&scale=200:200", "scale: 200:200: together with load"),
        ("in=50,60,70", "in: 50,60,70: one input length, or one for each output length"),
        ("window=0:50", "window: 0: a whole number from 1 to 163840"),
        ("window=128", "window: 128: TOKENS:PERCENT"),
        ("drafts=9:50", "drafts: 9: a whole number from 1 to 8"),
        ("drafts=3:101", "drafts: 101: a whole number from 0 to 100"),
        ("preset=figure-99", "preset: figure-99: no such example"),
        ("out=<b>2</b>", "out: <b>2</b>: a whole number"),
    ],
)
def test_a_bad_link_says_so_and_shows_the_default(shown, link, said):
    page = shown(link)
    problem = page.inner_text("#problem")
    assert said in problem
    assert problem.endswith("this is the default.")
    assert page.input_value("#preset") == "sharegpt"


def test_drafts_cure_and_what_swings_by_chance_is_shaded(shown):
    """100 and 24 tokens: unstable without, stable with three drafts that are accepted often."""
    page = shown("in=100&out=24&kv=20000&start=over:5&n=200")
    assert read(page)["says"].startswith("UNSTABLE")
    assert page.locator("#t-band").is_hidden()
    assert page.locator("#running .band").is_hidden()
    page.get_by_label("Speculative decoding, drafts an iteration").fill("3")
    page.get_by_label("Acceptance of a draft, %").fill("60")
    assert read(page)["says"].startswith("STABLE")
    python = noise(PageState(Lengths((100,), ((24, 1),)), 20_000, drafts=(3, 60)).server())
    told = f"± {python.running_std:.3g} around {python.running_mean:.4g} requests"
    assert read(page)["Swings by chance"] == told
    assert page.locator("#running .band").is_visible()
    assert "--speculative 3:0.6" in page.inner_text("#proof")


def test_memory_leaves_the_modes_of_long_outputs_and_lengths_wait_for_the_slider(shown):
    page = shown("in=50&out=16000&kv=9000000&start=over:5&n=50&drafts=3:60")
    page.wait_for_function(
        "() => /Leading mode\\s+[+−]/.test(document.querySelector('#numbers').innerText)"
    )
    before = read(page)
    page.get_by_label("KV memory, tokens").fill("8000000")
    after = read(page)
    assert after["Leading mode"] == before["Leading mode"]
    assert after["Running at the balance"] != before["Running at the balance"]
    (spent,) = re.findall(r"modes ([0-9.]+),", page.inner_text("#timing"))
    assert float(spent) < 20  # nothing of lengths is computed again
    page.get_by_label("Output length, tokens").fill("15000")
    assert page.inner_text("#says") == "Computed when the slider rests"
    assert page.get_attribute("#here", "href").startswith("#in=50&out=15000:1&")
    page.wait_for_function("() => document.querySelector('#says').innerText.includes('STABLE')")
    assert "of 14999 modes" in page.inner_text("#why")


def test_a_window_is_part_of_the_link(shown):
    page = shown("in=20&out=60&kv=20000&start=over:5&n=200")
    page.get_by_label("Sliding window, 0 for none, tokens").fill("40")
    page.get_by_label("Layers with that window, %").fill("50")
    link = page.get_attribute("#here", "href")
    assert link == "#in=20&out=60:1&kv=20000&start=over:5&n=200&window=40:50"
    assert "--sliding-window 40:0.5" in page.inner_text("#proof")
    again = shown(link[1:])
    assert read(again) == read(page)


def test_a_load_is_scaled_and_gives_way_to_lengths(shown):
    page = shown()
    page.wait_for_selector("#t-band:not([hidden])")  # chance comes when the slider rests
    assert read(page)["Leading mode"] == "−0.18 % per iteration"
    assert page.locator("#some").is_visible()
    assert "in steps of 4 iterations" in page.inner_text("#steps")
    page.get_by_label("Output lengths of the load, %").fill("3000")
    assert page.evaluate("fluidkv.state().scale") == [100, 100]  # beyond the slider
    page.get_by_label("Output lengths of the load, %").fill("50")
    assert page.get_attribute("#here", "href").startswith("#load=sharegpt&scale=100:50&")
    assert "study --preset sharegpt --scale-output 0.5 --cap" in page.inner_text("#proof")
    page.click("#own")
    assert page.evaluate("fluidkv.state().load") is None
    assert page.get_by_label(re.compile("^Output length, tokens$")).count() == 1


def test_lengths_that_a_command_scaled_are_not_scaled_twice_in_one(opened, tmp_path):
    path = tmp_path / "page.html"
    load = Load("yours", Workload.from_lengths([(10, 4), (12, 5)]), "log.csv --scale-input 2")
    path.write_text(page(opens=PageState(load, 9000)), encoding="utf-8")
    shown = opened(path).page
    shown.get_by_label("Output lengths of the load, %").fill("300")
    told = "study log.csv --scale-input 2 --scale-output 3 --capacity 9000"
    assert shown.inner_text("#proof").endswith(told)
    shown.get_by_label("Input lengths of the load, %").fill("50")
    assert shown.inner_text("#proof") == "Float, not proved."


def test_input_lengths_are_moved_apart_and_together(shown):
    page = shown("in=50&out=2:1,4:1&kv=626")
    page.click("#split")
    page.get_by_label("Input length 2, tokens").fill("70")
    assert page.get_attribute("#here", "href").startswith("#in=50,70&out=2:1,4:1&")
    page.click("#split")
    assert page.get_attribute("#here", "href").startswith("#in=50&out=2:1,4:1&")


def test_outputs_alone_are_of_one_input_length(opened, tmp_path):
    path = tmp_path / "page.html"
    state = PageState(Lengths((50, 70), ((2, 1), (4, 1))), 626)
    path.write_text(page(opens=state), encoding="utf-8")
    shown = opened(f"{path.as_uri()}#out=2,4,7").page
    assert shown.locator("#problem").is_hidden()
    assert shown.evaluate("fluidkv.state().inputs") == [50]


def test_masses_of_another_system_are_told(shown):
    page = shown("in=50&out=2:1,4:1&kv=626&start=list:1,2,3&n=50")
    assert "of another system" in page.inner_text("#problem")
    assert page.input_value("#start") == "over"


def test_every_preset_opens_with_its_finding_and_its_proof(shown):
    page = shown()
    for preset in PRESETS:
        page.select_option("#preset", preset.name)
        assert page.evaluate("location.hash") == f"#{preset.state.link}", preset.name
        assert preset.finding in page.inner_text("#finding")
        assert all(claim in page.inner_text("#finding") for claim in preset.claims)
        said = proved(preset.state)
        assert read(page)["says"].startswith(SAYS[said["verdict"]])
        assert f": {said['verdict'].upper()}, {said['reason']}" in page.inner_text("#proof")


OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')], frame = document.documentElement.clientWidth;
  const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
  const out = boxes.filter(([, box]) => box.left < 0 || box.right > frame);
  const cut = out.map(([text]) => `${text} is cut`);
  const met = boxes.flatMap(([one, a], i) => boxes.slice(i + 1)
    .filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
    .map(([two]) => `${one} meets ${two}`));
  return [...cut, ...met].map(each => `${svg.id}: ${each}`);
})"""


@pytest.mark.parametrize("width", [PHONE, SCREEN])
@pytest.mark.parametrize("name", ["sharegpt", "figure-1", "figure-7", "figure-18c", "figure-23c"])
def test_nothing_is_cut_and_no_labels_meet(shown, tmp_path, name, width):
    page = shown(f"preset={name}", width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    taken = page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert int.from_bytes(taken[16:20]) == width  # of the PNG's header
    assert int.from_bytes(taken[20:24]) > 900


def test_fingers_find_what_they_touch(browser, exported):
    context = browser.new_context(
        viewport={"width": PHONE, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(exported.as_uri())
    for each in page.locator("button:visible, select:visible, input:visible").all():
        box = each.bounding_box()
        assert box["height"] >= 44, each
        assert box["width"] >= 44, each
    page.locator("#s1").scroll_into_view_if_needed()
    assert page.locator("#says").bounding_box()["y"] >= 0  # the verdict stays in sight
    context.close()
