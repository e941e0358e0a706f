"""What each point of a sweep stands for: the call in Python, written out, and what it says.

Each returns the result, where variables stand under their own names, and the values of the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import fluidkv as fk

Row = Mapping[str, Any]
Said = tuple[Any, dict[str, Any]]


def _workload(row: Row) -> fk.Workload:
    lengths = np.broadcast_arrays(row["input_length"], row["decode_length"])
    inputs, decodes = (np.atleast_1d(each).tolist() for each in lengths)
    shares = _shares(row, len(inputs))
    return fk.Workload(tuple(map(fk.RequestClass, inputs, decodes, shares)))


def _shares(row: Row, count: int) -> list[Fraction]:
    share = row.get("share")
    return [Fraction(1, count)] * count if share is None else [share, 1 - share]


def _system(row: Row) -> fk.System:
    return fk.System(_workload(row), row["capacity"])


def stability(row: Row) -> Said:
    result = fk.stability(_system(row))
    low, high = result.spectral_radius
    x = result.equilibrium
    radius = {"radius_low": low, "radius_high": high}
    return result, radius | {"admission_rate": x.rate, "in_flight": x.in_flight}


def stability_map(row: Row) -> Said:
    """All systems of a share are certified together; `stability` has them one by one."""
    result = fk.stability(_system(row))
    return result, {"growing_modes": result.unstable_modes}


def threshold(row: Row) -> Said:
    lengths = (row["decode_length_0"], row["decode_length_1"])
    result = fk.input_threshold(fk.LengthMix(lengths, _shares(row, 2)))
    return result, {
        "l0_min": result.least,
        "known": result.status.name.lower(),
        "stable_windows": len(result.stable_windows),
        "common_divisor": np.gcd(*lengths),
    }


def equilibria(row: Row) -> Said:
    """Of all levels; the sweep needs none to be listed."""
    result = fk.equilibria(_system(row))
    best, worst = result.cycles[0].throughput, result.cycles[-1].throughput
    return None, {"best": best, "worst": worst, "worst_case_ratio": worst / best}


def pulse(row: Row) -> Said:
    result = fk.pulse_cycle(_system(row))
    best = fk.eviction_free_equilibrium(_system(row)).rate
    return result, {"share_of_best": result.throughput / best}


def _starts(row: Row) -> np.ndarray:
    from fluidkv.runs.precision import random_key

    systems = fk.Systems.of(_system(row))
    return fk.uniform_starts(random_key(row["seed"]), systems, count=row["starts"])[0]


def _endings(outcomes: Any, *words: str) -> dict[str, Any]:
    return {"starts_ending": [np.mean(outcomes.values == word) for word in words]}


def _settled(result: Any) -> dict[str, Any]:
    return {"settled_mean": np.mean([n for n in result.settled.values if n >= 0] or [np.nan])}


def basins(row: Row) -> Said:
    result = fk.basins(_system(row), _starts(row), iterations=row["iterations"])
    words = ("maximal-eviction cycle", "fixed point", "balanced cycle", "not settled")
    return None, _endings(result.attractor, *words) | _settled(result)


def convergence(row: Row) -> Said:
    result = fk.convergence(_system(row), _starts(row), iterations=row["iterations"])
    ends = _endings(result.outcome, "returned", "periodic", "not settled") | _settled(result)
    return None, ends | {"evicted_mean": result.evicted.mean()}


def attractors(row: Row) -> Said:
    result = fk.attractors(
        _system(row),
        _starts(row),
        iterations=row["iterations"],
        longest_period=row["longest_period"],
    )
    words = ("equilibrium", "pulse cycle", "other periodic", "not settled")
    return None, _endings(result.attractor, *words) | {
        "attractors_found": result.id.max() + 1,
        "throughput_mean": result.throughput.mean(),
        "share_of_best_mean": result.share_of_best.mean(),
        "share_of_best_min": result.share_of_best.min(),
        "evicted_mean": result.evicted.mean(),
        "longest_period_found": max([n for n in result.period.values if n > 0] or [-1]),
    }


def simulate(row: Row) -> Said:
    half = row["iterations"] // 2
    result = fk.simulate(_system(row), _starts(row), iterations=2 * half, every=half)
    last = result[["completed", "evicted"]].isel(iteration=-1).sum("class") / half
    mean = last.mean("batch")
    return None, {
        "throughput_mean": mean.completed,
        "throughput_min": last.completed.min(),
        "share_of_best_mean": mean.completed / fk.eviction_free_equilibrium(_system(row)).rate,
        "evicted_mean": mean.evicted,
    }


def serve(row: Row) -> Said:
    from fluidkv.serving import VLLM, rules

    workload, number, engine = _workload(row), row["requests"], row["engine"]
    if row["rate"] is None:
        requests, clock = fk.saturated(workload, number, rng=row["seed"]), None
    else:
        clock = fk.IterationClock(0.01, 1e-6, 1e-5)
        requests = fk.poisson(workload, row["rate"], number, rng=row["seed"], per_iteration=False)
    if row.get("victim") is not None:
        engine = replace(VLLM, victim=rules.rule_of(rules.Victim, row["victim"]))
    caps = {"block_size": row["block_size"], "max_num_seqs": row["max_num_seqs"]}
    server = fk.Server(engine, fk.Limits(row["capacity"], **caps), clock=clock)
    run = fk.metrics(fk.serve(requests, server)).isel(run=0)
    return run, {
        "iterations_run": run.iterations,
        "throughput": run.completions / run.duration,
        "output_throughput": run.output_throughput_per_time,
    }


def wait(row: Row) -> Said:
    from fluidkv.wait import PromptType, WaitSystem, simulate_chain
    from fluidkv.wait.theory.thresholds import batch_memory, iteration_time

    types = [PromptType(1, 1, 1), PromptType(1, 1, 2)]
    server, one = WaitSystem(types, Fraction("0.1"), Fraction("0.01")), row["threshold"]
    thresholds = one if isinstance(one, tuple) else (one, one)
    run = simulate_chain(server, thresholds, horizon=20, seed=0, memory=row["memory"]).isel(run=0)
    return run, {
        "throughput": run.completed / run.time,
        "latency": run.in_system / 2,  # prompts a unit of time
        "waited_share": run.stuck / run.iterations,
        "exceeded": run.get("exceeded"),
        "iteration_time": iteration_time(server, thresholds),
        "batch_memory": batch_memory(server, thresholds),
    }


def cache(row: Row) -> Said:
    loop = fk.prompted_generator("loop", parameters={"turns": 6})
    policies, seed = [row["policy"]], row["seed"]
    result = fk.cache_study(loop, [row["capacity"]], policies=policies, seeds=1, first_seed=seed)
    (curve,) = result.curves
    rates = {"hit_rate": curve.hit_rate[0], "evicted": curve.evicted[0]}
    return result, rates | {"asked": result.prompt_tokens}


def route(row: Row) -> Said:
    from fluidkv.answers.route.study import ROUTERS
    from fluidkv.routing import Service

    parameters = {"groups": 2, "queries": 3, "lengths": 64}
    requests = fk.prompted_generator("gsp", seed=row["seed"], parameters=parameters)
    fleet = fk.Fleet(2, row["capacity"], service=Service(0.0, 0.15, 0.0))
    router = {row["router"]: ROUTERS[row["router"]]}
    answer = fk.route_study(requests, fleet, router, seeds=1, first_seed=row["seed"])
    names = ("hit_rate", "throughput", "makespan", "most_to_mean")
    times = ("latency_mean", "latency_p99", "ttft_mean", "ttft_p99")
    return None, {name: answer.routers[0].mean(name) for name in (*names, *times)}


def size(row: Row) -> Said:
    from fluidkv.answers import Slo

    result = fk.size_server(
        fk.Workload.from_lengths([(20, 10)]),
        [Slo("ttft_p99", 0.2)],
        rate=20.0,
        engine="vllm",
        clock=fk.IterationClock(0.01, 1e-6, 1e-5),
        block_size=16,
        requests=40,
        within=0.2,
        runs=1,
        draws=0,
        seed=row["seed"],
    )
    smaller = result.edge.blocker
    return None, {
        "kv_tokens": result.tokens(result.answer),
        "kv_blocks": result.answer.blocks,
        "too_small": None if smaller is None else result.tokens(smaller),
        "tried": len(result.along),
    }


_EXACT = (stability, stability_map, threshold, equilibria, pulse)
_MASSES = (basins, convergence, attractors, simulate)
_OTHERS = (serve, wait, cache, route, size)
CALLS: dict[str, Callable[[Row], Said]] = {
    **{each.__name__: each for each in (*_EXACT, *_MASSES, *_OTHERS)},
    "preempt": serve,
}
