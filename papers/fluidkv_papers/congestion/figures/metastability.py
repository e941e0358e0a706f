"""How long a server is smooth above the rate of its collapsed state, and what brings it back."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fluidkv import serving
from fluidkv.exact import one_class
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.wording import number
from fluidkv.serving.metastability.cohorts import CohortState
from fluidkv.serving.metastability.survival import hazard
from fluidkv.serving.metastability.times import ramp
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.figures import metastability_panels as panels

_INPUT, _DECODE, _CAPACITY = 10, 40, 2000  # of Congestion, Figure 4
_SEED = 61
_SURVIVAL_RATES = (1.15, 1.2, 1.25, 1.3, 1.4)
_CAPACITIES = (2000, 4000, 8000, 16000)
_LOADS = tuple(k / 100 for k in range(97, 60, -3))  # of x*, from the top
_UP = tuple(k / 20 for k in range(12, 28))
_DOWN = tuple(k / 20 for k in range(26, 7, -1))
_BACKLOGS = (0, 25, 50, 100, 200, 400)
_RETURN_RATES = tuple(k / 100 for k in range(70, 131, 5))
_LOAD, _SHED, _SHED_FOR, _BACKLOG, _STEP = 1.2, 0.8, 1500, 200, 40
_CAP = Fraction(8, 5)


@dataclass(frozen=True)
class Size:
    """How many runs, and for how many iterations."""

    runs: int = 2000
    horizon: int = 20_000
    ramp_runs: int = 300
    hold: int = 600
    return_runs: int = 100
    return_horizon: int = 6000
    cycle_runs: int = 300


FULL, QUICK = Size(), Size(80, 4000, 20, 200, 10, 2000, 10)


def data(size: Size = FULL) -> Data:
    """Everything in the setting of Figure 4, whole requests; (b) for larger memories as well."""
    request, limits = RequestClass(_INPUT, _DECODE), serving.Limits(_CAPACITY)
    ends = one_class.equilibria.envelope(System(Workload((request,)), Fraction(_CAPACITY)))
    cycles = serving.collapsed_cycles(request, limits, rng=_SEED, runs=size.cycle_runs)
    return {
        "best": float(ends[0].highest),
        "worst": float(ends[-1].lowest),
        "collapsed": np.array([float(c.throughput) for c in cycles]),
        "collapsed_share": np.array([c.runs / size.cycle_runs for c in cycles]),
        "cycle_runs": float(size.cycle_runs),
        **_survival(request, limits, size),
        **_times(request, float(ends[0].highest) / _CAPACITY, size),
        **_ramp(request, limits, size),
        **_returns(request, limits, size),
        **_actions(request, size),
    }


def _survival(request: RequestClass, limits: "serving.Limits", size: Size) -> dict:
    """Kaplan-Meier curves on one grid of times, and the constant hazard that fits."""
    last = size.horizon
    grid = np.unique(np.geomspace(_DECODE, last, 120).round())
    found: dict = {"survival_rate": np.array(_SURVIVAL_RATES), "survival_time": grid}
    fits = []
    for index, rate in enumerate(_SURVIVAL_RATES):
        seen = serving.time_to_collapse(
            request, limits, rate, rng=_SEED, runs=size.runs, horizon=last
        )
        curve = serving.kaplan_meier(seen.duration, seen.observed).at(grid)
        curve[grid > seen.duration.max()] = np.nan
        for column, name in enumerate(("share", "low", "high")):
            found[f"survival_{name}_{index}"] = curve[:, column]
        # An idle server fills in one lifetime; ten let the start be forgotten.
        after = 10 * _DECODE
        fits.append(
            (
                hazard(seen.duration, seen.observed).rate,
                serving.memoryless(seen.duration, seen.observed, after=after, resolution=_DECODE),
                seen.observed.sum(),
            )
        )
    rates, p_values, events = np.array(fits, dtype=float).T
    return found | {"hazard": rates, "memoryless_p": p_values, "survival_events": events}


def _times(request: RequestClass, best: float, size: Size) -> dict:
    """Mean time to collapse from the top load down to the first at which no run collapsed."""
    found: dict = {}
    for capacity in _CAPACITIES:
        rows = []
        for load in _LOADS:
            seen = serving.time_to_collapse(
                request,
                serving.Limits(capacity),
                load * best * capacity,
                rng=_SEED,
                runs=size.runs // 4,
                horizon=size.horizon,
            )
            fit = hazard(seen.duration, seen.observed)
            longest = 1 / fit.low if fit.events else np.inf
            rows.append((load, fit.mean_time, 1 / fit.high, longest, fit.events))
            if not fit.events:
                break
        names = ("load", "mean", "least", "most", "events")
        columns = np.array(rows, dtype=float).T
        found |= {f"time_{n}_{capacity}": c for n, c in zip(names, columns, strict=True)}
    return found


def _ramp(request: RequestClass, limits: "serving.Limits", size: Size) -> dict:
    run = ramp(request, limits, (*_UP, *_DOWN), hold=size.hold, rng=_SEED, runs=size.ramp_runs)
    found: dict = {"ramp_rate": run.rate.values}
    for name in ("throughput", "waiting"):
        for level in (10, 50, 90):
            found[f"ramp_{name}_{level}"] = np.percentile(run[name].values, level, axis=0)
    return found


def _returns(request: RequestClass, limits: "serving.Limits", size: Size) -> dict:
    """Share of collapsed servers that return within the horizon, rates by backlogs, flattened."""
    start = _collapsed(request, size)
    share = [
        serving.time_to_return(
            request,
            limits,
            rate,
            start._replace(queue=np.full(size.return_runs, backlog)),
            rng=_SEED,
            horizon=size.return_horizon,
        ).observed.mean()
        for backlog in _BACKLOGS
        for rate in _RETURN_RATES
    ]
    return {
        "return_rate": np.array(_RETURN_RATES),
        "return_backlog": np.array(_BACKLOGS, dtype=float),
        "return_share": np.array(share),
        "return_horizon": float(size.return_horizon),
    }


def _actions(request: RequestClass, size: Size) -> dict:
    """The queue after each thing that an operator may do to a collapsed server at one load."""
    generator, windows = np.random.default_rng(_SEED), size.return_horizon // _STEP
    start, runs = _collapsed(request, size), size.return_runs
    shape = (windows * _STEP, runs)
    load, shed = generator.poisson(_LOAD, shape), generator.poisson(_SHED, shape)
    shed[_SHED_FOR:] = load[_SHED_FOR:]
    safe = _CAPACITY // (_INPUT + _DECODE)
    cases = {
        "nothing": (serving.Limits(_CAPACITY), load, _BACKLOG),
        "sequences": (serving.Limits(_CAPACITY, max_num_seqs=safe), load, _BACKLOG),
        "dropped": (serving.Limits(_CAPACITY), load, 0),
        "shed": (serving.Limits(_CAPACITY), shed, _BACKLOG),
        "cap": (serving.Limits(_CAPACITY, admission_rate=_CAP), load, _BACKLOG),
    }
    found: dict = {"action_time": _STEP * np.arange(1, windows + 1)}
    for name, (limits, arrivals, backlog) in cases.items():
        state = start._replace(queue=np.full(runs, backlog))
        records, _ = serving.serve_cohorts(request, limits, arrivals, state=state, every=_STEP)
        for level in (10, 50, 90):
            found[f"action_{name}_{level}"] = np.percentile(records.waiting, level, axis=0)
        evicts = records.preempt > 0
        found[f"action_{name}_evicting"] = float(evicts[:, -10:].all(1).mean())
        last = np.where(evicts, found["action_time"], 0).max(1)
        found[f"action_{name}_last_eviction"] = float(last.max())
    return found


def _collapsed(request: RequestClass, size: Size) -> CohortState:
    return serving.collapsed_start(
        request, serving.Limits(_CAPACITY), rng=_SEED, runs=size.return_runs, backlog=0
    )


def draw(data: Data, canvas: Canvas) -> None:
    setting = f"l0 = {_INPUT}, l1 = {_DECODE}; M = {_CAPACITY:,} but in (b); rules of restart"
    canvas.suptitle(f"{FIGURE.title}\n{setting}", x=0.01, ha="left")
    grid = canvas.add_gridspec(2, 6)
    panels.survival_panel(data, canvas.add_subplot(grid[0, :2]))
    panels.load_panel(data, canvas.add_subplot(grid[0, 2:4]), _CAPACITIES)
    panels.ramp_panel(data, canvas.add_subplot(grid[0, 4:]), len(_UP))
    panels.return_panel(data, canvas.add_subplot(grid[1, :3]), canvas)
    panels.actions_panel(data, canvas.add_subplot(grid[1, 3:]), _LABELS, _SHED_FOR)


_LABELS = {
    "nothing": "nothing",
    "sequences": f"max_num_seqs = {_CAPACITY // (_INPUT + _DECODE)}",
    "dropped": "queue dropped",
    "shed": f"load shed to {_SHED} for {_SHED_FOR:,}",
    "cap": f"admission capped at {float(_CAP)}",
}


def caption(data: Data) -> str:
    rates, share = data["collapsed"], data["collapsed_share"]
    cycles = " or ".join(f"{r:.3f} ({s:.0%})" for r, s in zip(rates, share, strict=True))
    seen = data["survival_events"] > 0
    slow, means = data["survival_rate"][seen], 1 / data["hazard"][seen]
    worst, best = data["worst"], data["best"]
    safe = []
    for capacity in _CAPACITIES:
        load, least = data[f"time_load_{capacity}"], data[f"time_least_{capacity}"]
        held = load[least > 1e5]
        if held.size:
            safe.append(f"{held.max():.0%} (M = {capacity:,})")
    p = data["memoryless_p"][seen]
    constant = [f"{r:g}" for r, value in zip(slow, p, strict=True) if value > 0.01]
    dropped = 1 - data["action_dropped_evicting"]
    return (
        f"Whole requests of l0 = {_INPUT}, l1 = {_DECODE}, M = {_CAPACITY:,}, Poisson arrivals, "
        "rules of `restart`; every number is sampled, shades are 95 % intervals in (a) and 10 to "
        f"90 % of runs in (c) and (e). Of {data['cycle_runs']:.0f} collapsed servers each "
        f"completes {cycles} requests an iteration; the mass model {worst:.2f}, and without "
        f"evictions {best:.3f}. "
        f"(a) Kaplan-Meier; dashed: the constant hazard that fits. From {10 * _DECODE} iterations "
        f"on it is not rejected (p > 0.01) at {', '.join(constant) or 'none of the rates'}. The "
        f"mean time goes from {number(means[-1])} iterations at {slow[-1]:g} to "
        f"{number(means[0])} at {slow[0]:g}. (b) The same over the load; triangles: no "
        "run collapsed, lower end of the 95 % interval. That is above 100,000 iterations "
        f"up to a load of {', '.join(safe) or 'none'} of x*. (c) Load up and down in "
        f"steps. (d) Share of collapsed servers that are smooth again within "
        f"{data['return_horizon']:,.0f} iterations at a new load; line: the fluid bound, "
        f"backlog over spare rate. (e) A server collapsed at {_LOAD} with {_BACKLOG} waiting. "
        "Lines are medians. "
        f"The queue dropped at once, {dropped:.0%} of the servers stop evicting."
    )


FIGURE = Figure(
    id="metastability",
    title="Smooth until chance fills the memory; less load or an admission rate cap brings it back",
    source="Our own, in the setting of Congestion, Figure 4",
    parameters={
        "input_length": _INPUT,
        "decode_length": _DECODE,
        "capacity": _CAPACITY,
        "capacities": list(_CAPACITIES),
        "loads": list(_LOADS),
        "survival_rates": list(_SURVIVAL_RATES),
        "ramp": [*_UP, *_DOWN],
        "backlogs": list(_BACKLOGS),
        "return_rates": list(_RETURN_RATES),
        "admission_rate": str(_CAP),
        "load": _LOAD,
        "shed": _SHED,
        "runs": FULL.runs,
        "horizon": FULL.horizon,
        "return_runs": FULL.return_runs,
        "return_horizon": FULL.return_horizon,
        "cycle_runs": FULL.cycle_runs,
        "seed": _SEED,
    },
    size=(12.0, 7.2),
    data=data,
    draw=draw,
    caption=caption,
)
