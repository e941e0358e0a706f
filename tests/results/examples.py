"""Something that each public function returns: small calls, by the function's name."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import fluidkv as fk
from fluidkv import exact, fluid, preempt, prefix, routing, runs, serving, tokenpd, wait
from fluidkv.answers.mix import mix_answer
from fluidkv.answers.pulse import pulse_answer
from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
from fluidkv.exact.mixed.motion.drift import drift, drift_bound, outward_rate
from fluidkv.exact.one_class.cycles import fixed_point
from fluidkv.exact.one_class.homogeneous import homogeneous
from fluidkv.exact.one_class.trajectory import projected_start
from fluidkv.exact.roots.polynomial import enclosed_roots
from fluidkv.exact.routing.mixing import all_mixed
from fluidkv.preempt.slo import mean_times, tails
from fluidkv.prefix.on_trie.curves import hit_curves
from fluidkv.prefix.on_trie.stacks import every_size
from fluidkv.routing.fleet import Traffic
from fluidkv.routing.results import as_dataset, measures
from fluidkv.serving.clock_fit.points import TickPoints
from fluidkv.serving.machines.named import CLOCKS, named_clock
from fluidkv.serving.metastability.survival import hazard
from fluidkv.serving.metastability.times import ramp
from fluidkv.serving.metastability.two_starts import two_starts
from fluidkv.wait.prompts import prompt_types
from fluidkv.wait.theory.boundary_queue import eta
from fluidkv.wait.theory.bounds import theorem_1_gap
from fluidkv.wait.theory.design import segment_designs
from fluidkv.wait.theory.lindley import queue_path
from fluidkv.wait.theory.sensitivity import sensitivity

HALF = Fraction(1, 2)
ONE = fk.System(fk.Workload((fk.RequestClass(5, 4),)), 1000)
TWO = fk.System(fk.Workload((fk.RequestClass(2, 5, HALF), fk.RequestClass(2, 9, HALF))), 700)
PULSED = fk.System(fk.Workload((fk.RequestClass(50, 2, HALF), fk.RequestClass(50, 4, HALF))), 626)
MIX = fk.LengthMix([5, 9], [HALF, HALF])
TYPES = (wait.PromptType(4, 3, 1), wait.PromptType(4, 3, 3), wait.PromptType(2, 3, 6))
WAITING = wait.WaitSystem(TYPES, HALF, Fraction(1, 500))
SEGMENTS = wait.Segments.of(WAITING)
CLOCK = {"base": HALF, "per_kv_token": Fraction(1, 500)}
SECONDS = fk.IterationClock(0.02, 1e-6, 1e-4)
TABLE = fk.Requests([4, 5, 3], [6, 4, 5], arrival=[0.0, 0.1, 0.3])
LIMITS = fk.Limits(20)
TICKS = np.arange(1.0, 9.0)
POINTS = TickPoints(
    tick_ends_s=TICKS,
    duration_s=0.02 + 1e-3 * TICKS % 3,
    iterations=np.ones(8),
    decoding=np.ones(8),
    kv_tokens=100.0 * TICKS,
    prefill_tokens=TICKS % 3,
    context=100.0 * TICKS,
    resumed=np.zeros(8),
    dropped=("",) * 8,
)
START = tuple(fk.uniform_starts(runs.random_key(1), ONE, count=1)[0])


@cache
def served() -> Any:
    return fk.serve([TABLE, TABLE], fk.Server("vllm", LIMITS, clock=SECONDS))


@cache
def cascade() -> Any:
    start = projected_start(ONE, [9, 2, 4, 1])
    return fk.cascade(exact.trajectory(ONE, start, iterations=30), ONE)


@cache
def prompts() -> Any:
    return fk.prompted_generator("loop", parameters={"turns": 4})


@cache
def routed() -> Any:
    traffic = Traffic(prompts().requests, prompts().prompts)
    jobs = [routing.Job(0, fk.Fleet(2, 400), router) for router in (routing.Random(),) * 2]
    return [traffic], jobs, routing.route_many([traffic], jobs)


def dataset_of_routes() -> Any:
    traffics, _, found = routed()
    return as_dataset(found, [traffics[0].requests] * 2, ["random"] * 2, [0, 1])


@cache
def limit_root() -> Any:
    return exact.limit_roots(MIX)[0]


@cache
def attention() -> Any:
    return tokenpd.generated(tokenpd.generators()["recency"], 0, requests=2, prompt=4, length=8)


EXAMPLES: dict[str, Callable[[], Any]] = {
    # ---------- exact, theory
    "stability": lambda: fk.stability(TWO),
    "input_scale_bracket": lambda: fk.input_scale_bracket(TWO.workload),
    "survival_weights": lambda: fk.survival_weights(TWO.workload),
    "eviction_free_equilibrium": lambda: fk.eviction_free_equilibrium(TWO),
    "growing_modes": lambda: fk.growing_modes(fk.survival_weights(TWO.workload)),
    "certify_spectrum": lambda: exact.certify_spectrum(fk.survival_weights(TWO.workload)),
    "count_unstable": lambda: exact.count_unstable(fk.survival_weights(TWO.workload)),
    "equilibria": lambda: fk.equilibria(ONE),
    "cascade": cascade,
    "waste": lambda: fk.waste(cascade().states, ONE),
    "input_threshold": lambda: fk.input_threshold(MIX, bound=70),
    "stability_map": lambda: fk.stability_map([ONE, TWO]),
    "threshold_atlas": lambda: fk.threshold_atlas(3, [HALF], workers=1),
    "best_partition": lambda: fk.best_partition(TWO.workload, 2, capacity=9000),
    "all_mixed": lambda: all_mixed(TWO.workload, 2, capacity=9000),
    "pulse_cycle": lambda: fk.pulse_cycle(PULSED),
    "pulse_stability": lambda: pulse_stability(fk.pulse_cycle(PULSED)),
    "limit_roots": lambda: exact.limit_roots(MIX),
    "drift": lambda: drift(MIX, limit_root()),
    "drift_bound": lambda: drift_bound(MIX, limit_root(), 200),
    "outward_rate": lambda: outward_rate(MIX, 200),
    "track": lambda: exact.track(MIX, limit_root(), [400, 200]),
    "lyapunov": lambda: exact.lyapunov(fk.survival_weights(TWO.workload)),
    "neighbourhood": lambda: exact.neighbourhood(TWO),
    "cycle_stability": lambda: exact.cycle_stability(ONE, [2, 2]),
    "fixed_point": lambda: fixed_point(ONE),
    "homogeneous": lambda: homogeneous(ONE),
    "iterate": lambda: exact.iterate(ONE, [[40, 20, 10, 5]]),
    "enclosed_roots": lambda: enclosed_roots(
        exact.characteristic_polynomial(fk.survival_weights(TWO.workload))
    ),
    "transition_matrix": lambda: exact.transition_matrix(fk.survival_weights(TWO.workload)),
    # ---------- masses, in arrays
    "simulate": lambda: fk.simulate(ONE, fluid.empty_state(fk.class_model(ONE)), iterations=4),
    "event_log": lambda: fluid.event_log(ONE, START, iterations=40),
    "basins": lambda: fk.basins(ONE, [START], iterations=40),
    "convergence": lambda: fk.convergence(ONE, [START], iterations=60),
    "attractors": lambda: fk.attractors(ONE, [START], iterations=40, longest_period=8),
    "simulate_whole": lambda: fluid.simulate_whole(ONE, [40, 20, 10, 5], iterations=3),
    "simulate_open": lambda: fluid.simulate_open(ONE, arrivals=np.full((3, 1), 2.0)),
    # ---------- whole requests, runs
    "serve": served,
    "metrics": lambda: fk.metrics(served()),
    "fit_clock": lambda: fk.fit_clock(POINTS),
    "measured": lambda: routing.measured(*routed()),
    "measures": lambda: measures(dataset_of_routes()),
    "as_dataset": dataset_of_routes,
    "serve_sglang": lambda: serving.serve_sglang(TABLE, serving.SglangSettings(64)),
    "saturated": lambda: fk.saturated(ONE.workload, 3),
    "poisson": lambda: fk.poisson(ONE.workload, 2.0, 5, rng=1),
    "engine": lambda: fk.engine("sglang"),
    "served_engine": lambda: serving.served_engine("sglang+cache:conservativeness=0.3"),
    "named_clock": lambda: named_clock(next(iter(CLOCKS))),
    "hazard": lambda: hazard([3.0, 5.0], [True, False]),
    "kaplan_meier": lambda: serving.kaplan_meier([3.0, 5.0, 6.0], [True, False, True]),
    "ramp": lambda: ramp(fk.RequestClass(5, 4), LIMITS, [0.5, 1.0], hold=8, rng=1, runs=2),
    "two_starts": lambda: two_starts(
        fk.RequestClass(5, 4), "vllm", LIMITS, rate=0.5, backlog=2, count=6, rng=1, runs=2
    ),
    "attainment": lambda: preempt.attainment(served(), TABLE),
    "tails": lambda: tails(served()),
    "mean_times": lambda: mean_times([served()]),
    "with_and_without": lambda: preempt.with_and_without(
        [TABLE], serving.VLLM, serving.VLLM, LIMITS, SECONDS, {0.0: preempt.Perfect()}
    ),
    # ---------- WAIT
    "run_policy": lambda: wait.run_policy(
        fk.Requests([3] * 4, [1] * 4), wait.Wait((2,)), clock=SECONDS
    ),
    "fluid_equilibrium": lambda: wait.fluid_equilibrium(WAITING),
    "integer_thresholds": lambda: wait.integer_thresholds(WAITING),
    "integer_nested_thresholds": lambda: wait.integer_nested_thresholds(SEGMENTS, *CLOCK.values()),
    "theorem_1_gap": lambda: theorem_1_gap(WAITING, (4, 5, 3), 100),
    "theorem_2_memory": lambda: wait.theorem_2_memory(
        SEGMENTS, (20, 15, 9), HALF, 100, Fraction(1, 10), per_kv_token=Fraction(1, 500)
    ),
    "eta": lambda: eta(9, HALF, 5),
    "sensitivity": lambda: sensitivity(WAITING),
    "segment_designs": lambda: segment_designs(WAITING, 100, Fraction(1, 10)),
    "prompt_types": lambda: prompt_types(TWO.workload, 1),
    "queue_path": lambda: queue_path([3, 0, 4, 1], 2),
    # ---------- caches, routers, price
    "hit_curves": lambda: hit_curves(prefix.trie_of(prompts().prompts), [40, 80]),
    "run_cache": lambda: prefix.run_cache(prefix.trie_of(prompts().prompts), 80, prefix.Policy.LRU),
    "every_size": lambda: every_size(prefix.trie_of(prompts().prompts), prefix.Policy.LRU),
    "route_study": lambda: fk.route_study(
        fk.prompted_generator("loop"), fk.Fleet(2, 400), {"random": routing.Random()}, seeds=2
    ),
    "describe": lambda: tokenpd.describe(attention()),
    "generated": attention,
    "evict": lambda: tokenpd.evict(attention(), 4, tokenpd.policy("h2o")),
    # ---------- answers
    "mix_answer": lambda: mix_answer(TWO.workload, 2, capacity=9000),
    "pulse_answer": lambda: pulse_answer(exact.two_lengths(2, 4, HALF), 50, 626),
    "cache_study": lambda: fk.cache_study(
        fk.prompted_generator("loop"), [6], answers=False, seeds=2
    ),
    "compare_engines": lambda: fk.compare_engines(
        ONE.workload, 60, ["vllm", "sglang"], requests=32, runs=2
    ),
    "recommend_settings": lambda: fk.recommend_settings(ONE.workload, 60, requests=32, runs=2),
    "preempt_study": lambda: fk.preempt_study(
        ONE.workload,
        60,
        requests=6,
        seeds=2,
        victims=[serving.Victim.LAST_ADMITTED, serving.Victim.FEWEST_OUTPUTS],
        restores=[serving.Restore.RECOMPUTE],
    ),
    "preset": lambda: fk.preset("alpaca"),
}
