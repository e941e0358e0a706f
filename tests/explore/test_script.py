"""What the page's script finds is what Python finds: in fractions, in balls, of noise."""

import math
import random
import sys
from collections import Counter
from fractions import Fraction

import pytest

import fluidkv as fk
from fluidkv.exact.linear_stability import stability
from fluidkv.explore.loads import of_preset
from fluidkv.explore.page import limits, proved
from fluidkv.explore.presets import PRESETS
from fluidkv.explore.state import Lengths, Load, PageState
from fluidkv.footprints import noise
from tests.explore.cases import CASES, found
from tests.explore.script import answers, node

WORDS = {"stable": "stable", "unstable": "unstable", "undecided": "close"}
"""Python's verdict -> the script's. Undecided are roots exactly on the circle."""

FIND = """({ link, limits, loads }) => {
  const { state, error } = readLink(link, { ...limits, loads }, {});
  if (error) throw new Error(error);
  const classes = classesOf(state, loads), whole = footprintWeights(classes, state.holding);
  const model = cohortModel(whole, state.capacity, limits.stages), modes = findModes(whole.memory);
  const start = startMasses(model, state.start), ran = run(model, start, state.iterations);
  const flows = ["completed", "evicted", "admitted", "demand", "running"];
  return {
    link: writeLink(state), memory: list(whole.memory), requests: list(whole.requests),
    denominator: whole.denominator, rate: model.rate, inFlight: model.inFlight,
    start: list(start), last: list(ran.states.subarray(-start.length)),
    ...Object.fromEntries(flows.map(name => [name, list(ran[name].subarray(1))])),
    late: lateHalf(model, ran),
    roots: list(modes.re).map((x, i) => [x, modes.im[i], modes.error[i]]), judged: modes,
  };
}"""

JUDGE = """({ classes, holding, capacity }) => {
  const whole = footprintWeights(classes, holding), modes = findModes(whole.memory);
  const stable = modes.verdict === "stable";
  const { verdict, outside, radius, period } = modes, counted = countModes(whole.memory);
  const noise = stable ? runningNoise(classes, holding, whole, capacity, radius) : null;
  const mean = values => values.map(each => each / whole.denominator);
  return {
    verdict, outside, radius, period, noise, counted: [counted.verdict, counted.outside],
    memory: list(mean(whole.memory)), requests: list(mean(whole.requests)),
  };
}"""


@pytest.fixture(scope="module")
def scripted() -> dict[str, dict]:
    """What the script finds of each case, by its name."""
    asked = [{"link": case.state.link, "limits": limits(), "loads": {}} for case in CASES]
    return dict(zip((case.name for case in CASES), answers(FIND, asked), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_script_finds_what_python_finds(case, scripted):
    python, script = found(case.state), scripted[case.name]
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
        assert late["evictions"] is None
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


def test_without_any_node_these_tests_skip(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "playwright._impl._driver", None)
    # the skip is what is tested: it has to say what is missing
    with pytest.raises(pytest.skip.Exception, match="no Node on the PATH"):
        node()


def test_the_cases_are_of_all_kinds():
    judged = [stability(case.state.system()) for case in CASES]
    assert {str(each.verdict) for each in judged} == {"stable", "unstable", "undecided"}
    neutral = {((each.unstable_modes or 0) > 0, each.neutral_modes) for each in judged}
    assert {kind for kind in neutral if kind[1]} == {(False, 1), (False, 2), (True, 1)}
    loads = [case.state.load for case in CASES]
    assert {len(load.outputs) for load in loads if isinstance(load, Lengths)} == {1, 2, 3, 4}
    assert {case.state.start.partition(":")[0] for case in CASES} == {"empty", "over", "list"}
    assert {each.decode_gcd for each in judged} >= {1, 2, 20, 25}
    assert max(load.workload.longest_decode for load in loads) == 256


def test_some_cases_evict_and_some_do_not(scripted):
    """Of the script, whose flows are held to Python's case by case."""
    evicting = [each for each in scripted.values() if max(each["evicted"]) > 1e-9]
    assert 5 < len(evicting) < len(CASES) - 5


def test_the_script_says_of_the_figures_what_is_proved():
    judge = f"({{ link, limits, loads }}) => ({FIND})({{ link, limits, loads }}).judged.verdict"
    asked = [{"link": each.state.link, "limits": limits(), "loads": {}} for each in PRESETS]
    verdicts = answers(judge, asked)
    assert verdicts == [WORDS[proved(each.state)["verdict"]] for each in PRESETS]
    assert set(verdicts) == {"stable", "unstable", "close"}


def judged(state: PageState) -> dict:
    """As the script takes it."""
    load = state.load if isinstance(state.load, Load) else Load("x", state.load.workload, "")
    window, share = state.window or (None, 100)
    drafts, acceptance = state.drafts or (0, 0)
    holding = {"window": window, "share": share, "drafts": drafts, "acceptance": acceptance}
    return {"classes": load.counts, "holding": holding, "capacity": state.capacity}


def drawn(seed: int) -> PageState:
    """Some lengths, and what their requests hold: every token, a window, drafts, or both."""
    rng, kind = random.Random(seed), seed % 4
    longest = 24 if kind & 2 else 400
    pairs = Counter(
        (rng.randint(1, 300), rng.randint(1, longest)) for _ in range(rng.choice([1, 2, 4, 12]))
    )
    window = (rng.randint(1, 400), rng.choice([100, 50, 83])) if kind & 1 else None
    drafts = (rng.randint(1, 4), rng.choice([0, 35, 60, 90, 100])) if kind & 2 else None
    load = Load("drawn", fk.Workload.from_counts(pairs), "")
    return PageState(load, rng.randint(10_000, 100_000), window=window, drafts=drafts)


FEW = pytest.param((4, 5), id="an unstable one and a stable one")
MORE = pytest.param(range(60), id="more", marks=pytest.mark.thorough)


@pytest.mark.parametrize("seeds", [FEW, MORE])
def test_windows_and_drafts_change_stability_and_chance_as_the_theory_has_it(seeds):
    states = [drawn(seed) for seed in seeds]
    verdicts = Counter()
    for state, script in zip(
        states, answers(JUDGE, [judged(each) for each in states]), strict=True
    ):
        python = noise(state.server())
        weights, known = python.stability.weights, python.stability
        for name in ("memory", "requests"):
            exact = [float(Fraction(n, weights.denominator)) for n in getattr(weights, name)]
            # sums of as many products as there are places, the largest of them first
            assert script[name] == pytest.approx(exact, rel=1e-12, abs=1e-12 * max(exact))
        verdict = str(known.verdict)
        verdicts[verdict] += 1
        assert script["verdict"] == WORDS[verdict]
        assert script["outside"] == known.unstable_modes
        low, high = known.spectral_radius
        # roots are found up to rounding, whatever the balls enclose
        assert low * (1 - 1e-9) <= script["radius"] <= high * (1 + 1e-9)
        if verdict == "stable":
            # means over the same points of the circle: rounding of transforms alone
            assert script["noise"]["mean"] == pytest.approx(python.running_mean, rel=1e-9)
            assert script["noise"]["deviation"] == pytest.approx(python.running_std, rel=1e-7)
            assert script["noise"]["period"] == python.peak_period
    assert min(verdicts["stable"], verdicts["unstable"]) >= max(1, len(seeds) // 20)


def operators(seed: int, longest: int) -> PageState:
    """A log: lengths that vary as those of chats do, one output of them the longest."""
    rng = random.Random(seed)
    outputs = [min(longest, 1 + int(rng.lognormvariate(6, 1.2))) for _ in range(200)]
    pairs = Counter((rng.randint(1, 2000), length) for length in (*outputs, longest))
    return PageState(Load("log", fk.Workload.from_counts(pairs), ""), 2_000_000)


LONG = (
    operators(1, 600),
    PageState(Lengths((50,), ((700, 2), (500, 1), (901, 2))), 100_000),
    PageState(Lengths((200,), ((1000, 1), (2000, 1))), 100_000),
)
LONGER = (
    operators(2, 5000),
    operators(3, 32_768),
    PageState(Lengths((900, 100), ((500, 80), (32_768, 1))), 2_000_000),
)


@pytest.mark.parametrize(
    "states",
    [pytest.param(LONG, id="long"), pytest.param(LONGER, id="longer", marks=pytest.mark.thorough)],
)
def test_of_long_outputs_growing_modes_are_counted_and_the_leading_one_is_found(states):
    scripted = answers(JUDGE, [judged(state) for state in states])
    verdicts = set()
    for state, script in zip(states, scripted, strict=True):
        python = stability(state.system())
        verdicts.add(str(python.verdict))
        assert script["verdict"] == WORDS[str(python.verdict)]
        assert script["outside"] == python.unstable_modes
        assert script["counted"] == [script["verdict"], script["outside"]]
        low, high = python.spectral_radius
        assert low * (1 - 1e-9) <= script["radius"] <= high * (1 + 1e-9)
        # not a bracket, and no common divisor, which gives many modes one modulus up to rounding
        if high / low < 1 + 1e-9 and python.decode_gcd == 1:
            assert script["period"] == pytest.approx(python.leading_period, rel=1e-6)
    assert verdicts == {"stable", "unstable"}


@pytest.mark.parametrize("output", [200, 500, 3000])
def test_modes_on_the_circle_are_on_neither_side(output):
    """A full window from the first token on: all hold the same, and A(z) is a sum of powers."""
    state = PageState(Lengths((20,), ((output, 1),)), 20_000, window=(21, 100))
    ask = "({ classes, holding }) => countModes(footprintWeights(classes, holding).memory)"
    (counted,) = answers(ask, [judged(state)])
    assert (counted["verdict"], counted["outside"], counted["close"]) == ("close", 0, output - 1)


@pytest.mark.parametrize("wrong", ["calls > 1 ? 0 : 9", "1"])
def test_a_search_whose_counts_do_not_fit_ends_without_a_leading_mode(wrong):
    """Counts that rounding makes: no circle in front of the leading one may be shown by them."""
    ask = f"""({{ classes, holding }}) => {{
      const exact = countInside;
      let calls = -1; // the first is of the verdict
      countInside = (...circle) => (calls++, {{ ...exact(...circle), inside: {wrong} }});
      const {{ radius, period }} = findModes(footprintWeights(classes, holding).memory);
      countInside = exact;
      return [calls < 150, radius, period];
    }}"""
    state = PageState(Lengths((50,), ((300, 2), (270, 1))), 100_000)
    assert answers(ask, [judged(state)]) == [[True, None, None]]


def test_a_load_is_scaled_as_python_scales_it():
    from fluidkv.traces import scale
    from fluidkv.traces.scaling import Scaling

    load = of_preset("alpaca")
    loads = {load.name: {"classes": load.counts}}
    ask = "({ link, limits, loads }) => { const own = { ...limits, loads };"
    ask += " return classesOf(readLink(link, own, {}).state, loads); }"
    link = "load=alpaca&kv=50000&start=empty&n=10&scale=150:33"
    (classes,) = answers(ask, [{"link": link, "limits": limits(), "loads": loads}])
    scaled = scale(load.workload, Scaling(Fraction(3, 2), Fraction(33, 100)))
    parts = Counter()
    for tokens, output, part in classes:
        parts[tokens, output] += part
    shares = {(c.input_length, c.decode_length): c.share for c in scaled.classes}
    whole = sum(parts.values())
    assert {pair: Fraction(part, whole) for pair, part in parts.items()} == shares


def test_longer_lives_are_drawn_in_steps_with_the_same_balance():
    ask = """({ classes, capacity }) => {
      const whole = footprintWeights(classes, DEFAULTS.holding);
      const model = cohortModel(whole, capacity, 256);
      return [model.unit, model.memory.length, model.rate / model.unit, model.inFlight];
    }"""
    states = (operators(2, 5000), operators(3, 32_768))
    for state, (unit, ages, rate, running) in zip(
        states, answers(ask, [judged(each) for each in states]), strict=True
    ):
        balance = stability(state.system()).equilibrium
        longest = state.load.workload.longest_decode
        assert (unit, ages) == (math.ceil(longest / 256), math.ceil(longest / unit))
        assert rate == pytest.approx(float(balance.rate), rel=1e-12)
        assert running == pytest.approx(float(balance.in_flight), rel=1e-12)
