"""The answer of `fluidkv wait` as plain JSON values; docs/wait.md lists the keys."""

import math
from fractions import Fraction
from typing import Any

from fluidkv.answers.wait.nested import NestedAnswer, SegmentPlan
from fluidkv.answers.wait.runs import Comparison, PolicyRuns
from fluidkv.answers.wait.study import WaitAnswer
from fluidkv.cli.wait_source import Load
from fluidkv.wait.theory.boundary_queue import ends
from fluidkv.wait.theory.bounds import Theorem1Gap
from fluidkv.wait.theory.sensitivity import Sensitivity
from fluidkv.wait.theory.thresholds import Thresholds


def as_dict(answer: WaitAnswer, load: Load) -> dict[str, Any]:
    """Numbers as numbers, exact ones as text beside them, `null` for what there is none of."""
    system, fluid = answer.system, answer.equilibrium
    return {
        "types": [
            {
                "arrival_rate": number(each.arrival_rate),
                "arrival_rate_exact": str(each.arrival_rate),
                "input_length": each.input_length,
                "output_length": each.output_length,
                "lifetime_cost": number(each.lifetime_cost),
            }
            for each in system.types
        ],
        "d0": number(system.base),
        "d1": number(system.per_kv_token),
        "unit": load.unit or None,
        "capacity": number(answer.capacity),
        "load": number(system.load),
        "rate_limit": None if answer.most_rate is None else number(answer.most_rate),
        "binning": _binning(load),
        "fluid": {
            "stable": system.load < 1,
            "stable_at_capacity": answer.fluid_fits,
            "iteration_time": number(fluid.iteration_time),
            "memory": number(fluid.memory),
            "per_stage": [number(n) for n in fluid.per_stage],
            "throughput": number(fluid.throughput),
            "fits": answer.fluid_fits,
            "exact": {
                "iteration_time": str(fluid.iteration_time),
                "memory": str(fluid.memory),
                "per_stage": [str(n) for n in fluid.per_stage],
                "throughput": str(fluid.throughput),
            },
        },
        "thresholds": [number(n) for n in fluid.per_stage],
        "thresholds_integer": [int(n) for n in answer.least.thresholds],
        "memory_needed": number(answer.least.memory),
        "thresholds_slack": [number(slack) for slack in answer.least.slack],
        "with_slack": _thresholds(answer.with_slack),
        "given": None if answer.given is None else _thresholds(answer.given),
        "fits": answer.fits,
        "reason": answer.reason,
        "come_in_an_iteration": number(answer.come_in_an_iteration),
        "not_for_wait": answer.not_for_wait,
        "rate_factor": None if answer.rate_factor is None else number(answer.rate_factor),
        "time_inside": [number(time) for time in answer.latency_at_least],
        "sensitivity": [_sensitivity(s) for s in answer.sensitivities.by_elasticity("memory")],
        "horizon": number(answer.horizon),
        "theorem_1": None if answer.bound is None else _theorem_1(answer.bound),
        "nested": None if answer.nested is None else _nested(answer.nested),
        "simulated": None if answer.runs is None else _runs(answer.runs),
        "not_simulated": None if answer.not_simulated is None else str(answer.not_simulated),
    }


def number(value: Fraction | int) -> int | float:
    """An int where it is whole, else the nearest double."""
    return value.numerator if value.denominator == 1 else float(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _binning(load: Load) -> dict[str, Any] | None:
    binned = load.binned
    if binned is None or load.rate is None:
        return None
    return {
        "source": load.name,
        "rate": number(load.rate),
        "rate_from": load.rate_from,
        "bins": load.bins,
        "cut": load.cut,
        "load_error": number(binned.token_rate_error),
        "output_error": number(binned.output_error),
        "input_error": number(binned.input_error),
        "longer_inputs": number(binned.longer_inputs),
        "dearer": number(binned.dearer),
    }


def _thresholds(found: Thresholds) -> dict[str, Any]:
    return {
        "thresholds": [number(n) for n in found.thresholds],
        "iteration_time": number(found.iteration_time),
        "memory": number(found.memory),
        "slack": [number(slack) for slack in found.slack],
    }


def _sensitivity(row: Sensitivity) -> dict[str, Any]:
    return {
        "parameter": row.parameter,
        "type": row.type_index,
        "value": number(row.value),
        "memory_derivative": number(row.memory.derivative),
        "memory_elasticity": number(row.memory.elasticity),
        "iteration_time_elasticity": number(row.iteration_time.elasticity),
        "throughput_elasticity": number(row.throughput.elasticity),
    }


def _theorem_1(bound: Theorem1Gap) -> dict[str, Any]:
    return {
        "throughput_gap": _finite(bound.throughput_gap),
        "latency": [_finite(each.latency) for each in bound.types],
        "ttft": [_finite(each.first_token) for each in bound.types],
        "queue": [_finite(each.queue) for each in bound.types],
    }


def _nested(found: NestedAnswer) -> dict[str, Any]:
    return {
        **_plan(found.plan),
        "delta": number(found.delta),
        "fits": found.capacity >= found.plan.bound.capacity,
        "delta_at_capacity": found.delta_at_capacity,
        "lower_rates": None if found.lower_rates is None else number(found.lower_rates),
        "best": None if found.best is None else _plan(found.best),
        "by_segments": [
            {
                "segments": design.count,
                "batch": number(design.batch),
                "queue": design.queue,
                "tail": design.tail,
            }
            for design in found.designs
        ],
    }


def _plan(plan: SegmentPlan) -> dict[str, Any]:
    bound = plan.bound
    return {
        "segment_ends": list(plan.segments.ends),
        "thresholds": list(plan.thresholds),
        "iteration_time": number(plan.iteration_time),
        "peak_memory": number(bound.batch),
        "queue": number(bound.queue),
        "tail": ends(bound.tail)[1] if bound.tail != 0 else 0,
        "buffer": plan.buffer,
        "eta": [None if each.ball is None else float(each.ball.mid()) for each in bound.etas],
        "batches": bound.batches,
        "memory_needed": bound.capacity,
        "time_inside": number(plan.latency_at_least),
    }


def _runs(runs: Comparison) -> dict[str, Any]:
    return {
        "duration": runs.duration,
        "seeds": len(runs.prompts),
        "prompts": list(runs.prompts),
        "short": runs.short,
        "short_for_all": runs.short_for_all,
        "policies": [_policy(each) for each in runs.policies],
    }


def _policy(each: PolicyRuns) -> dict[str, Any]:
    fields = vars(each)
    return {
        name: value if name == "name" else [_finite(x) for x in value]
        for name, value in fields.items()
    }
