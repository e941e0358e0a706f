"""How long a move of a slider takes in the page of `fluidkv explore`, where it has most to do.

    python -m benchmarks.explore

Writes the block of docs/explore.md between its two marks, so that no number there is typed. A move
is all that the page's thread does from the event to the next frame: roots, run, drawing, layout and
style. It is measured by the browser, in time of the processor, so that other work on the machine
counts little, and beside it by the page's own clock, without the frame.
"""

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.inputs import ROOT, SkippedError
from benchmarks.report import load
from fluidkv.explore.page import page
from fluidkv.explore.state import LARGEST_KV, MOST_ITERATIONS, MOST_STAGES
from fluidkv.suite.machine import this_machine
from fluidkv.suite.tables import markdown_table
from tests.browser.conftest import FLAGS, alone, found

PAGE = ROOT / "docs" / "explore.md"
BEGIN, END = "<!-- moves, by python -m benchmarks.explore -->", "<!-- end of moves -->"
MOVES = 12  # of each slider in each system
_LAST = f"kv={LARGEST_KV}&n={MOST_ITERATIONS}"
_FOUR = ",".join(f"{MOST_STAGES - k}:1" for k in range(4))
LINKS = (
    f"in=4096&out={_FOUR}&start=over:25&{_LAST}",
    f"in=4096&out={MOST_STAGES}:1&start=over:25&{_LAST}",
    f"in=1&out=1:1,{MOST_STAGES}:1&start=empty&{_LAST}",
)
"""The most stages that are iterations, and the most of them: most classes, most roots outside, most
evictions. A move from end to end also leads to the longest outputs that the page has."""

SLIDERS = "#controls input[type=range]:visible"
_STEP = """range => { range.value = Number(range.value) + (range.value === range.max ? -1 : 1); }"""
_JUMP = """range => { range.value = range.value === range.max ? range.min : range.max; }"""
_SEND = """range => new Promise(done => {
  const began = performance.now();
  range.dispatchEvent(new Event('input', { bubbles: true }));
  void document.body.offsetHeight;
  const spent = performance.now() - began;
  requestAnimationFrame(() => setTimeout(() => done(spent)));
})"""


_OPEN = """link => new Promise(done => {
  addEventListener('hashchange', () => done(), { once: true });
  location.hash = '';
  location.hash = link;
})"""


@dataclass(frozen=True)
class Moves:
    """Milliseconds of each move: of the processor, and by the page's clock."""

    processor: list[float]
    clock: list[float]


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{report()}\n{END}{after}", encoding="utf-8")


def report() -> str:
    """The block, whole."""
    machine, (version, steps, jumps) = this_machine(), measured()
    header = ["moves", "median, ms", "19 of 20 within, ms", "longest, ms", "by the clock, median"]
    rows = []
    for name, moves in (("a step", steps), ("end to end", jumps)):
        told = (median(moves.processor), _within(moves.processor), max(moves.processor))
        numbers = [f"{ms:.0f}" for ms in (*told, median(moves.clock))]
        rows.append([f"{len(moves.clock)}, each {name}", *numbers])
    return "\n".join(
        [
            f"Chromium {version} without a screen on one core of {machine.processor}, "
            f"{datetime.now(UTC):%Y-%m-%d}, load {load()}. Outputs of up to {MOST_STAGES} "
            f"tokens, {MOST_ITERATIONS:,} iterations, every slider of {len(LINKS)} systems.",
            "",
            markdown_table(header, rows),
        ]
    )


def measured() -> tuple[str, Moves, Moves]:
    """The browser's version; moves by one step, and from one end to the other."""
    path = found()
    if path is None:
        raise SkippedError("no Chromium on the PATH")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        written = Path(folder) / "page.html"
        written.write_text(page(), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=path, args=[*FLAGS, *alone()])
        steps, jumps = Moves([], []), Moves([], [])
        for link in LINKS:
            opened = browser.new_page(viewport={"width": 1280, "height": 900})
            opened.goto(f"{written.as_uri()}#{link}")
            _follow(opened, link, _STEP, Moves([], []))  # until the script is compiled
            _follow(opened, link, _STEP, steps)
            _follow(opened, link, _JUMP, jumps)
        return browser.version, steps, jumps


def _follow(opened: Any, link: str, change: str, into: Moves) -> None:
    """Move each slider of a system that no other has moved."""
    session = opened.context.new_cdp_session(opened)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    for k in range(opened.locator(SLIDERS).count()):
        opened.evaluate(_OPEN, link)
        slider = opened.query_selector_all(SLIDERS)[k]
        for _ in range(MOVES):
            slider.evaluate(change)
            before = _task_s(session)
            into.clock.append(slider.evaluate(_SEND))
            into.processor.append(1e3 * (_task_s(session) - before))
    session.detach()


def _task_s(session: Any) -> float:
    """What the page's thread has done so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "TaskDuration")


def _within(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


if __name__ == "__main__":
    main()
