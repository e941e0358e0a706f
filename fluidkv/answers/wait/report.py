"""Parts of an answer about WAIT as plain JSON values; docs/json.md lists the keys."""

from typing import Any

from fluidkv.answers.wait.load import Load
from fluidkv.answers.wait.nested import NestedAnswer, SegmentPlan
from fluidkv.answers.wait.runs import Comparison
from fluidkv.plain import finite, number, with_exact, with_exact_list
from fluidkv.wait.theory.boundary_queue import ends
from fluidkv.wait.theory.bounds import Theorem1Gap
from fluidkv.wait.theory.fluid import FluidEquilibrium
from fluidkv.wait.theory.sensitivity import Sensitivity


def fluid_values(fluid: FluidEquilibrium, fits: bool) -> dict[str, Any]:
    """The balanced state, as numbers and exactly, and whether the capacity holds it."""
    return {
        **with_exact("iteration_time", fluid.iteration_time),
        **with_exact("memory", fluid.memory),
        **with_exact_list("per_stage", fluid.per_stage),
        **with_exact("throughput", fluid.throughput),
        "fits": fits,
    }


def binning_values(load: Load) -> dict[str, Any] | None:
    """What binning did; None for types."""
    binned = load.binned
    if binned is None or load.rate is None or load.load_error is None:
        return None
    return {
        "source": load.name,
        **with_exact("rate", load.rate),
        "rate_from": load.rate_from,
        "bins": load.bins,
        "cut": load.cut,
        "load_error": number(load.load_error),
        "output_error": number(binned.output_error),
        "input_error": number(binned.input_error),
        "longer_inputs": number(binned.longer_inputs),
        "dearer": number(binned.dearer),
    }


def sensitivity_values(row: Sensitivity) -> dict[str, Any]:
    return {
        "parameter": row.parameter,
        "type": row.type_index,
        "value": number(row.value),
        "memory_derivative": number(row.memory.derivative),
        "memory_elasticity": number(row.memory.elasticity),
        "iteration_time_elasticity": number(row.iteration_time.elasticity),
        "throughput_elasticity": number(row.throughput.elasticity),
    }


def bound_values(bound: Theorem1Gap, *, first_tokens: bool) -> dict[str, Any]:
    return {
        "throughput_gap": finite(bound.throughput_gap),
        "latency": [finite(each.latency) for each in bound.types],
        "ttft": [finite(each.first_token) if first_tokens else None for each in bound.types],
        "queue": [finite(each.queue) for each in bound.types],
    }


def nested_values(found: NestedAnswer) -> dict[str, Any]:
    return {
        **_plan(found.plan),
        **with_exact("delta", found.delta),
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


def run_values(runs: Comparison, *, first_tokens: bool) -> dict[str, Any]:
    def said(name: str, values: Any) -> Any:
        if name == "name":
            return values
        kept = first_tokens or not name.startswith("ttft")
        return [finite(x) if kept else None for x in values]

    return {
        "duration": runs.duration,
        "seeds": len(runs.prompts),
        "prompts": list(runs.prompts),
        "short": runs.short,
        "short_for_all": runs.short_for_all,
        "policies": [
            {name: said(name, value) for name, value in vars(each).items()}
            for each in runs.policies
        ],
    }
