"""What the page's script finds is what Python finds, on the committed table of cases."""

import json
import math
from collections.abc import Iterator

import pytest

from fluidkv.explore.page import page, proved
from fluidkv.explore.presets import PRESETS
from tests.explore.cases import TABLE

CASES = json.loads(TABLE.read_text(encoding="utf-8"))["cases"]

WORDS = {"stable": "stable", "unstable": "unstable", "undecided": "close"}
"""Python's verdict -> the script's. Undecided are roots exactly on the circle."""

FIND = """link => {
  const { readLink, limits, cohortModel, coefficients, findRoots, judge, startMasses } = fluidkv;
  const { state, error } = readLink(link, limits, {});
  if (error) throw new Error(error);
  const model = cohortModel(state), roots = findRoots(coefficients(model.whole));
  const start = startMasses(model, state.start);
  const found = fluidkv.run(model, start, state.iterations), list = values => Array.from(values);
  const flows = ["completed", "evicted", "admitted", "demand", "running"];
  return {
    link: fluidkv.writeLink(state),
    memory: list(model.whole.memory), requests: list(model.whole.requests),
    denominator: model.whole.denominator, rate: model.rate, inFlight: model.inFlight,
    start: list(start), last: list(found.states.subarray(-start.length)),
    ...Object.fromEntries(flows.map(name => [name, list(found[name].subarray(1))])),
    late: fluidkv.lateHalf(model, found),
    roots: list(roots.re).map((x, i) => [x, roots.im[i], roots.error[i]]), judged: judge(roots),
  };
}"""


@pytest.fixture(scope="module")
def find(browser, tmp_path_factory) -> Iterator:
    """What the script finds of a link."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page(), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(path.as_uri())
    yield lambda link: opened.evaluate(FIND, link)
    opened.close()


@pytest.fixture(params=CASES, ids=lambda case: case["name"])
def both(request, find) -> tuple[dict, dict]:
    """Python's numbers of a case, and the script's."""
    return request.param, find(request.param["link"])


def test_the_script_finds_what_python_finds(both):
    python, script = both
    for name in ("link", "memory", "requests", "denominator"):
        assert script[name] == python[name], name
    assert script["rate"] == pytest.approx(python["rate"], rel=1e-14)
    assert script["inFlight"] == pytest.approx(python["inFlight"], rel=1e-14)
    _check_masses(python, script)
    _check_roots(python["roots"], script["roots"])
    judged = script["judged"]
    assert judged["verdict"] == WORDS[python["verdict"]]
    assert (judged["outside"], judged["close"]) == (python["growing"], python["neutral"])


def _check_masses(python: dict, script: dict) -> None:
    """Up to rounding: 1e-16 of the largest value, times what the fastest mode makes of it."""
    lists = {**python["flows"], **{name: python[name] for name in ("start", "last", "running")}}
    for name, exact in lists.items():
        allowed = 1e-11 * max(exact)
        assert script[name] == pytest.approx(exact, rel=0, abs=allowed), name
    late = script["late"]
    assert late["throughput"] == pytest.approx(python["throughput"], rel=1e-11)
    if python["evictions"] is None:  # nothing completes
        assert math.isnan(late["evictions"])
    else:
        assert late["evictions"] == pytest.approx(python["evictions"], rel=1e-11, abs=1e-15)
    evicted = python["flows"]["evicted"]
    assert late["evicting"] == (max(evicted[len(evicted) // 2 :]) > 0)


def _check_roots(above: list[list[float]], found: list[list[float]]) -> None:
    """Each root once, and within the bound that the script gives for it."""
    exact = [complex(x, y) for x, y in above]
    exact += [z.conjugate() for z in exact if z.imag]
    assert len(found) == len(exact)
    for x, y, error in found:
        nearest = min(exact, key=lambda z: abs(z - complex(x, y)))
        exact.remove(nearest)
        assert abs(nearest - complex(x, y)) <= error < 1e-8


def test_the_script_says_of_the_figures_what_is_proved(find):
    said = {preset.name: find(preset.state.link)["judged"]["verdict"] for preset in PRESETS}
    assert said == {each.name: WORDS[proved(each.state)["verdict"]] for each in PRESETS}
    assert set(said.values()) == {"stable", "unstable", "close"}
