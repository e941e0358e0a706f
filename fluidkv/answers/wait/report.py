"""Parts of an answer about WAIT as plain JSON values, and their keys."""

from typing import Any

from fluidkv.answers.wait.load import Load
from fluidkv.answers.wait.nested import NestedAnswer, SegmentPlan
from fluidkv.answers.wait.runs import Comparison
from fluidkv.keys import Key
from fluidkv.plain import finite, number, with_exact, with_exact_list
from fluidkv.wait.model import PromptType
from fluidkv.wait.theory.boundary_queue import ends
from fluidkv.wait.theory.bounds import Theorem1Gap
from fluidkv.wait.theory.fluid import FluidEquilibrium
from fluidkv.wait.theory.sensitivity import Sensitivity

_TYPE = (
    ("arrival_rate", "a unit of time", "of its prompts"),
    ("input_length", "tokens", "of its prompts"),
    ("output_length", "tokens", "of its prompts"),
    ("lifetime_cost", "tokens", "c, over all stages"),
)
_THRESHOLDS = (
    ("thresholds[]", "requests", "of each type"),
    ("iteration_time", "time", "of a full batch"),
    ("memory", "tokens", "of a full batch"),
    ("slack[]", "requests", "n − λ ΔT"),
)
_FLUID = (
    ("stable", "yes/no", "load below 1"),
    ("stable_at_capacity", "yes/no", "M* within the capacity too"),
    ("iteration_time", "time", "τ*"),
    ("memory", "tokens", "M*"),
    ("per_stage[]", "requests", "n*_j, of each type at each stage"),
    ("throughput", "tokens a unit of time", "output tokens"),
    ("fits", "yes/no", "M* within the capacity"),
)
_BINNING = (
    ("source", "text", "of the requests"),
    ("rate", "a unit of time", "of all prompts"),
    ("rate_from", "text", "where that comes from"),
    ("bins", "count", "of lengths"),
    ("cut", "text", "what was cut"),
    ("load_error", "relative", "of the load by types"),
    ("output_error", "relative", "of the mean output"),
    ("input_error", "relative", "of the mean input"),
    ("longer_inputs", "share", "of prompts with longer inputs than their type"),
    ("dearer", "share", "of prompts that cost more than their type"),
)
_SENSITIVITY = (
    ("parameter", "text", "what moves M* most first"),
    ("type", "from 0", "whose it is; null: of none"),
    ("value", "number", "of the parameter"),
    ("memory_derivative", "tokens a unit", "of M*"),
    ("memory_elasticity", "relative", "of M*"),
    ("iteration_time_elasticity", "relative", "of τ*"),
    ("throughput_elasticity", "relative", "of the throughput"),
)
_BOUND = (
    ("throughput_gap", "relative", "at most, up to the horizon"),
    ("latency[]", "time", "at most on average, of each type"),
    ("ttft[]", "time", "at most on average, of each type"),
    ("queue[]", "requests", "at most on average, of each type"),
)
_PLAN = (
    ("segment_ends[]", "tokens", "the last output of each segment"),
    ("thresholds[]", "requests", "of each segment"),
    ("iteration_time", "time", "of a full batch"),
    ("peak_memory", "tokens", "M^π, of a full batch"),
    ("queue", "tokens", "of prompts that wait: part of the buffer"),
    ("tail", "tokens", "for the chance of an overflow: part of the buffer"),
    ("buffer", "tokens", "for those that wait, and the tail"),
    ("eta[]", "number", "one a boundary"),
    ("batches", "number", "N, up to the horizon"),
    ("memory_needed", "tokens", "batch and buffer"),
    ("time_inside", "time", "mean decode time"),
)
_NESTED = (
    *_PLAN,
    ("delta", "share", "chance of an overflow"),
    ("fits", "yes/no", "memory needed within the capacity"),
    ("delta_at_capacity", "share", "that chance with the capacity"),
    ("lower_rates", "number", "factor on rates at which it fits"),
    ("best", "", "the best number of segments; null where none is better"),
    *((f"best.{path}", kind, what) for path, kind, what in _PLAN),
    ("by_segments[].segments", "count", "of a design"),
    ("by_segments[].batch", "tokens", "of a full batch"),
    ("by_segments[].queue", "tokens", "of prompts that wait"),
    ("by_segments[].tail", "tokens", "for the chance of an overflow"),
)
_POLICY = (
    ("name", "text", "of the policy"),
    ("throughput[]", "tokens a unit of time", "of completed prompts, by seed"),
    ("latency_mean[]", "time", "to the last token, by seed"),
    ("latency_p99[]", "time", "to the last token, by seed"),
    ("ttft_mean[]", "time", "to the first token, by seed"),
    ("ttft_p99[]", "time", "to the first token, by seed"),
    ("evictions[]", "count", "by seed"),
    ("peak_memory[]", "tokens", "by seed"),
    ("left[]", "count", "prompts that were not done at the end, by seed"),
)
_RUNS = (
    ("duration", "time", "of a run"),
    ("seeds", "count", "of runs"),
    ("prompts[]", "count", "that came, by seed"),
    ("short", "yes/no", "whether runs are too short for WAIT"),
    ("short_for_all", "yes/no", "whether they are for all policies"),
    *((f"policies[].{path}", kind, what) for path, kind, what in _POLICY),
)


def type_values(kind: PromptType) -> dict[str, Any]:
    """A type of prompts, exactly too."""
    lengths = {"input_length": kind.input_length, "output_length": kind.output_length}
    rate, cost = (
        with_exact(name, getattr(kind, name)) for name in ("arrival_rate", "lifetime_cost")
    )
    return {**rate, **lengths, **cost}


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


def bound_values(bound: Theorem1Gap | None, *, first_tokens: bool) -> dict[str, Any] | None:
    """Theorem 1; None where whole thresholds do not fit."""
    if bound is None:
        return None
    return {
        "throughput_gap": finite(bound.throughput_gap),
        "latency": [finite(each.latency) for each in bound.types],
        "ttft": [finite(each.first_token) if first_tokens else None for each in bound.types],
        "queue": [finite(each.queue) for each in bound.types],
    }


def nested_values(nested: NestedAnswer) -> dict[str, Any]:
    return {
        **_plan(nested.plan),
        **with_exact("delta", nested.delta),
        "fits": nested.capacity >= nested.plan.bound.capacity,
        "delta_at_capacity": nested.delta_at_capacity,
        "lower_rates": None if nested.lower_rates is None else number(nested.lower_rates),
        "best": None if nested.best is None else _plan(nested.best),
        "by_segments": [
            {
                "segments": design.count,
                "batch": number(design.batch),
                "queue": design.queue,
                "tail": design.tail,
            }
            for design in nested.designs
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


def run_values(runs: Comparison | None, *, first_tokens: bool) -> dict[str, Any] | None:
    """Policies side by side; None where none were run."""
    if runs is None:
        return None

    def column(name: str, values: Any) -> Any:
        if name == "name":
            return values
        has_values = first_tokens or not name.startswith("ttft")
        return [finite(x) if has_values else None for x in values]

    return {
        "duration": runs.duration,
        "seeds": len(runs.prompts),
        "prompts": list(runs.prompts),
        "short": runs.short,
        "short_for_all": runs.short_for_all,
        "policies": [
            {name: column(name, value) for name, value in vars(each).items()}
            for each in runs.policies
        ],
    }


KEYS = (
    Key(
        "types[]",
        of=lambda answer: [*map(type_values, answer.system.types)],
        below=_TYPE,
    ),
    Key("d0", "time", "of an iteration without tokens", "system.base", exact=True),
    Key("d1", "time", "for each KV token", "system.per_kv_token", exact=True),
    Key("d2", "time", "for each token of prefill", "system.per_prefill_token", exact=True),
    Key("unit", "text", "of time; null: your own", lambda answer: answer.unit or None),
    Key("capacity", "tokens", "M", exact=True),
    Key("load", "share", "of all types", "system.load", exact=True),
    Key("rate_limit", "a unit of time", of="most_rate", exact=True),
    Key(
        "binning",
        "",
        what="if of a trace or preset; else null",
        of=lambda answer: answer.load and binning_values(answer.load),
        below=_BINNING,
    ),
    Key(
        "fluid",
        of=lambda answer: {
            "stable": answer.system.load < 1,
            "stable_at_capacity": answer.fluid_fits,
            **fluid_values(answer.equilibrium, answer.fluid_fits),
        },
        below=_FLUID,
    ),
    Key("thresholds[]", "requests", "least real ones", "equilibrium.per_stage", exact=True),
    Key(
        "thresholds_integer[]",
        "requests",
        what="least whole ones",
        of=lambda answer: [int(n) for n in answer.least.thresholds],
    ),
    Key("memory_needed", "tokens", "of the least whole ones", "least.memory", exact=True),
    Key("thresholds_slack[]", "requests", "of the same, n − λ ΔT", "least.slack", exact=True),
    Key("with_slack", "", "the least whole ones with slack", below=_THRESHOLDS),
    Key("given", "", "your own; null: not asked", below=_THRESHOLDS),
    Key("fits", "yes/no"),
    Key("reason", "text"),
    Key("come_in_an_iteration", "requests", exact=True),
    Key("not_for_wait", "yes/no"),
    Key("rate_factor", "number", exact=True),
    Key(
        "time_inside[]",
        "time",
        what="mean decode time of each type, l′ n / λ",
        of="latency_at_least",
        exact=True,
    ),
    Key(
        "sensitivity[]",
        of=lambda answer: [*map(sensitivity_values, answer.sensitivities.by_elasticity("memory"))],
        below=_SENSITIVITY,
    ),
    Key("horizon", "time", "T of the bounds", exact=True),
    Key(
        "theorem_1",
        of=lambda answer: bound_values(answer.bound, first_tokens=answer.first_tokens),
        below=_BOUND,
    ),
    Key(
        "nested",
        "",
        what="if outputs are not known; else null",
        of=lambda answer: answer.nested and nested_values(answer.nested),
        below=_NESTED,
    ),
    Key(
        "simulated",
        "",
        what="null: not asked",
        of=lambda answer: run_values(answer.runs, first_tokens=answer.first_tokens),
        below=_RUNS,
    ),
    Key(
        "not_simulated",
        "text",
        what="why not",
        of=lambda answer: answer.not_simulated and str(answer.not_simulated),
    ),
)
"""What JSON has of a `WaitAnswer`."""
