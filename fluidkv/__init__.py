"""fluidkv: the stability laboratory for KV-cache memory in LLM serving.

Names are loaded on first use, so that importing the package, or asking the command line for help,
does not wait for JAX.
"""

from importlib import import_module

TYPE_CHECKING = False  # typing itself would load regular expressions

__version__ = "0.1.0"

__all__ = [
    "EngineRules",
    "Evidence",
    "InputError",
    "IterationClock",
    "LengthMix",
    "Limits",
    "NestedWait",
    "PromptType",
    "RequestClass",
    "Requests",
    "Segments",
    "Stability",
    "System",
    "Trace",
    "Verdict",
    "Wait",
    "WaitSystem",
    "Workload",
    "attained_blind_throughput",
    "attractors",
    "basins",
    "best_blind_throughput",
    "best_partition",
    "burst_state",
    "bursts",
    "captured_start",
    "cascade",
    "check_thresholds",
    "class_model",
    "cohort_model",
    "compare",
    "convergence",
    "engine",
    "engine_requests",
    "equilibria",
    "equilibrium_state",
    "event_log",
    "eviction_free_equilibrium",
    "fit_clock",
    "fluid_equilibrium",
    "growing_modes",
    "input_scale_bracket",
    "input_threshold",
    "integer_nested_thresholds",
    "integer_thresholds",
    "lyapunov",
    "measure",
    "metrics",
    "mode_starts",
    "nearby_starts",
    "neighbourhood",
    "overflow_frequency",
    "perturbed_starts",
    "poisson",
    "poisson_prompts",
    "preset",
    "prompt_types",
    "pulse_cycle",
    "pulse_stability",
    "read_timeseries",
    "read_trace",
    "recommend_settings",
    "render",
    "replay_log",
    "replayed",
    "run_policy",
    "saturated",
    "serve",
    "share_from_float",
    "simulate",
    "simulate_chain",
    "simulate_open",
    "simulate_whole",
    "slice_starts",
    "stability",
    "start_families",
    "study_system",
    "survival_weights",
    "theorem_2_memory",
    "throughput_gap",
    "time_to_collapse",
    "uniform_starts",
    "verify",
    "wait_study",
    "waste",
    "whole_cycle",
]

_HOMES = {
    "EngineRules": "serving.rules",
    "Evidence": "verdict",
    "InputError": "errors",
    "IterationClock": "serving.clock",
    "LengthMix": "exact.mixed.mix",
    "Limits": "serving.limits",
    "NestedWait": "wait.policy",
    "PromptType": "wait.model",
    "RequestClass": "workload",
    "Requests": "runs.requests",
    "Segments": "wait.segments",
    "Stability": "verdict",
    "System": "workload",
    "Trace": "traces",
    "Verdict": "verdict",
    "Wait": "wait.policy",
    "WaitSystem": "wait.model",
    "Workload": "workload",
    "attained_blind_throughput": "wait.theory.best_blind",
    "attractors": "fluid.cohorts.attractors",
    "basins": "fluid.one_class.basins",
    "best_blind_throughput": "wait.theory.best_blind",
    "best_partition": "exact.routing.partition",
    "burst_state": "fluid",
    "bursts": "runs.arrivals",
    "captured_start": "exact.one_class.capture",
    "cascade": "exact.one_class.cascade",
    "check_thresholds": "wait.theory.thresholds",
    "class_model": "fluid",
    "cohort_model": "fluid",
    "compare": "measured",
    "convergence": "fluid.cohorts.convergence",
    "engine": "serving.engines",
    "engine_requests": "wait.runs.stages",
    "equilibria": "exact.one_class.equilibria",
    "equilibrium_state": "fluid",
    "event_log": "fluid",
    "eviction_free_equilibrium": "exact.survival",
    "fit_clock": "serving.clock_fit.fit",
    "fluid_equilibrium": "wait.theory.fluid",
    "growing_modes": "exact.modes",
    "input_scale_bracket": "exact.linear_stability",
    "input_threshold": "exact.mixed.thresholds.threshold",
    "integer_nested_thresholds": "wait.theory.nested",
    "integer_thresholds": "wait.theory.thresholds",
    "lyapunov": "exact.mixed.nearby.lyapunov",
    "measure": "measured",
    "metrics": "runs.measuring",
    "mode_starts": "fluid",
    "nearby_starts": "fluid",
    "neighbourhood": "exact.mixed.nearby.neighbourhood",
    "overflow_frequency": "wait.chain.overflow",
    "perturbed_starts": "fluid",
    "poisson": "runs.arrivals",
    "poisson_prompts": "wait.runs.arrivals",
    "preset": "traces",
    "prompt_types": "wait.prompts",
    "pulse_cycle": "exact.mixed.cycles.pulse",
    "pulse_stability": "exact.mixed.cycles.pulse_stability",
    "read_timeseries": "measured",
    "read_trace": "traces",
    "recommend_settings": "answers.recommend",
    "render": "papers.figures",
    "replay_log": "answers.replay",
    "replayed": "runs.arrivals",
    "run_policy": "wait.runs.run",
    "saturated": "runs.arrivals",
    "serve": "serving.run",
    "share_from_float": "workload",
    "simulate": "fluid",
    "simulate_chain": "wait.chain.simulate",
    "simulate_open": "fluid.open.system",
    "simulate_whole": "fluid",
    "slice_starts": "fluid",
    "stability": "exact.linear_stability",
    "start_families": "fluid.cohorts.starts",
    "study_system": "answers.study",
    "survival_weights": "exact.survival",
    "theorem_2_memory": "wait.theory.bounds",
    "throughput_gap": "wait.chain.gap",
    "time_to_collapse": "serving.metastability.times",
    "uniform_starts": "fluid",
    "verify": "papers.ledger",
    "wait_study": "answers.wait.study",
    "waste": "exact.one_class.waste",
    "whole_cycle": "exact.one_class.whole",
}

if TYPE_CHECKING:
    from fluidkv.answers.recommend import recommend_settings
    from fluidkv.answers.replay import replay_log
    from fluidkv.answers.study import study_system
    from fluidkv.answers.wait.study import wait_study
    from fluidkv.errors import InputError
    from fluidkv.exact.linear_stability import input_scale_bracket, stability
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.exact.mixed.nearby.lyapunov import lyapunov
    from fluidkv.exact.mixed.nearby.neighbourhood import neighbourhood
    from fluidkv.exact.mixed.thresholds.threshold import input_threshold
    from fluidkv.exact.modes import growing_modes
    from fluidkv.exact.one_class.capture import captured_start
    from fluidkv.exact.one_class.cascade import cascade
    from fluidkv.exact.one_class.equilibria import equilibria
    from fluidkv.exact.one_class.waste import waste
    from fluidkv.exact.one_class.whole import whole_cycle
    from fluidkv.exact.routing.partition import best_partition
    from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
    from fluidkv.fluid import (
        burst_state,
        class_model,
        cohort_model,
        equilibrium_state,
        event_log,
        mode_starts,
        nearby_starts,
        perturbed_starts,
        simulate,
        simulate_whole,
        slice_starts,
        uniform_starts,
    )
    from fluidkv.fluid.cohorts.attractors import attractors
    from fluidkv.fluid.cohorts.convergence import convergence
    from fluidkv.fluid.cohorts.starts import start_families
    from fluidkv.fluid.one_class.basins import basins
    from fluidkv.fluid.open.system import simulate_open
    from fluidkv.measured import compare, measure, read_timeseries
    from fluidkv.papers.figures import render
    from fluidkv.papers.ledger import verify
    from fluidkv.runs.arrivals import bursts, poisson, replayed, saturated
    from fluidkv.runs.measuring import metrics
    from fluidkv.runs.requests import Requests
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.clock_fit.fit import fit_clock
    from fluidkv.serving.engines import engine
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.metastability.times import time_to_collapse
    from fluidkv.serving.rules import EngineRules
    from fluidkv.serving.run import serve
    from fluidkv.traces import Trace, preset, read_trace
    from fluidkv.verdict import Evidence, Stability, Verdict
    from fluidkv.wait.chain.gap import throughput_gap
    from fluidkv.wait.chain.overflow import overflow_frequency
    from fluidkv.wait.chain.simulate import simulate_chain
    from fluidkv.wait.model import PromptType, WaitSystem
    from fluidkv.wait.policy import NestedWait, Wait
    from fluidkv.wait.prompts import prompt_types
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.runs.stages import engine_requests
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.best_blind import (
        attained_blind_throughput,
        best_blind_throughput,
    )
    from fluidkv.wait.theory.bounds import theorem_2_memory
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.nested import integer_nested_thresholds
    from fluidkv.wait.theory.thresholds import check_thresholds, integer_thresholds
    from fluidkv.workload import RequestClass, System, Workload, share_from_float


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
