"""How running requests swing: drawn requests, an instability, and a measured server."""

import numpy as np

import fluidkv as fk
from fluidkv import logs
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREY, ORANGE, PALE, name_axes

_STABLE = tuple((200 + 37 * k % 200, 5 + k) for k in range(36))
_UNSTABLE = ((100, 10), (100, 20))
_CAPACITY, _WARM, _ITERATIONS, _RUNS = 60_000, 500, 4096, 40
_LOG = "sample:vllm-rtx4090"


def data(iterations: int = _ITERATIONS, runs: int = _RUNS) -> Data:
    """Spectra of drawn runs over the formula's, in bands of 24 frequencies, and of a log.

    Shapes: stable.frequency, stable.expected (f,), stable.mean (f,) over runs; unstable.frequency,
    unstable.ratio and measured.frequency, measured.ratio (band,), with low and high.
    """
    stable, unstable = map(_server, (_STABLE, _UNSTABLE))
    drawn = fk.simulate_footprints(stable, iterations=_WARM + iterations, runs=runs).running
    tests = [fk.swing_test(run[_WARM:], stable) for run in drawn]
    cycle = fk.simulate_footprints(unstable, iterations=_WARM + iterations).running[0, _WARM:]
    found = {
        "stable.frequency": tests[0].angle,
        "stable.expected": tests[0].expected,
        "stable.mean": np.mean([test.power for test in tests], axis=0),
    }
    log = fk.read_log(_LOG)
    assert log.requests is not None
    assert log.capacity is not None
    lengths = np.stack([log.requests.input_lengths, log.requests.decode_lengths], axis=1).tolist()
    server = fk.FullServer(fk.footprint_of(fk.Workload.from_lengths(lengths)), log.capacity)
    series = logs.series_of(log)
    measured = fk.measure(series)  # with a backlog; its ticks are even
    start, end = measured.window_s
    running = series.running[(start <= series.t_s) & (series.t_s <= end)]
    every = round(measured.tick_s * measured.iterations_per_s)
    swing = fk.swing_test(running, server, every=every)
    for name, test in (("unstable", fk.swing_test(cycle, unstable)), ("measured", swing)):
        found |= {f"{name}.frequency": test.frequency, f"{name}.ratio": test.ratio}
        found |= {f"{name}.low": np.array(test.low), f"{name}.high": np.array(test.high)}
    return found


def _server(lengths: tuple[tuple[int, int], ...]) -> "fk.FullServer":
    return fk.FullServer(fk.footprint_of(fk.Workload.from_lengths(lengths)), _CAPACITY)


def draw(data: Data, canvas: Canvas) -> None:
    noise, cycle, log = canvas.subplots(1, 3)
    period = 2 * np.pi / data["stable.frequency"]
    wide = 1 + 2.576 / np.sqrt(_RUNS)  # of a mean of so many exponential numbers, 99 %
    expected = data["stable.expected"]
    noise.fill_between(
        period, expected * (2 - wide), expected * wide, color=PALE, label="99 % band"
    )
    noise.plot(period, data["stable.mean"], color=BLUE, linewidth=0.6, label=f"{_RUNS} runs")
    noise.plot(period, expected, color=BLACK, linewidth=1.0, label="formula")
    name_axes(noise, "period, iterations", "spectral density of running", "stable", log="xy")
    noise.legend(loc="upper left")
    _ratio(cycle, data, "unstable", "lengths that share 10", "xy")
    _ratio(log, data, "measured", "vLLM, measured", "")


def _ratio(ax: Axes, data: Data, name: str, title: str, log: str) -> None:
    period = 2 * np.pi / data[f"{name}.frequency"]
    low, high = float(data[f"{name}.low"]), float(data[f"{name}.high"])
    ax.axhspan(low, high, color=PALE, label="chance")
    ax.axhline(1, color=GREY, linewidth=0.8)
    marker = "o" if len(period) < 20 else ""
    ax.plot(period, data[f"{name}.ratio"], color=ORANGE, marker=marker, markersize=4, linewidth=1.0)
    name_axes(ax, "period, iterations", "power over noise", title, log=log)
    ax.legend(loc="upper right" if log else "lower right")
    if not log:
        ax.set(ylim=(0, 1.1 * max(high, float(data[f"{name}.ratio"].max()))))


def caption(data: Data) -> str:
    expected, mean = data["stable.expected"], data["stable.mean"]
    wide = 2.576 / np.sqrt(_RUNS)
    inside = float((np.abs(mean / expected - 1) < wide).mean())
    top = {name: float(data[f"{name}.ratio"].max()) for name in ("unstable", "measured")}
    return (
        f"Left: {len(_STABLE)} classes in {_CAPACITY:,} tokens, mean periodogram of {_RUNS} runs "
        f"of whole drawn requests, {_ITERATIONS:,} iterations each; {inside:.0%} of frequencies "
        f"are in the 99 % band of the formula. Centre: {_UNSTABLE}, lengths that share 10: up to "
        f"{top['unstable']:.2g} times the power that noise would have. Right: {_LOG}, 130 ticks "
        f"of 33 iterations of vLLM, 300 lengths: {top['measured']:.2f} times, "
        f"where chance stays below {float(data['measured.high']):.2f} in all bands."
    )


FIGURE = Figure(
    id="footprints_spectra",
    title="What is noise, and what is not",
    source="fluidkv.noise, fluidkv.swing_test; drawn requests; a measured log of vLLM",
    parameters={
        "stable": [list(pair) for pair in _STABLE],
        "unstable": [list(pair) for pair in _UNSTABLE],
        "capacity": _CAPACITY,
        "iterations": _ITERATIONS,
        "runs": _RUNS,
        "log": _LOG,
        "seed": 0,
    },
    size=(10.5, 3.6),
    data=data,
    draw=draw,
    caption=caption,
)
