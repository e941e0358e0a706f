"""The mass engine beside a Python loop, NumPy, the plain map in JAX, and the O(1) step in C.

All of them run the same starts, and each is held against C after all iterations before it is timed:
a way that finds other masses is not shown. Where there is no C compiler, NumPy takes its place.

What bounds an engine that moves no mass: in an iteration a trajectory at least reads the label that
completes and writes the one that is admitted, 16 bytes. `bandwidth` holds that against a copy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import jax
import numpy as np
from jaxtyping import Float

from fluidkv.fluid import MassModel, class_model, simulate, uniform_starts
from fluidkv.processes import cores
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.suite.folders import in_a_folder
from fluidkv.suite.mass.c_kernel import Kernel, NoCompilerError, c_kernel
from fluidkv.suite.mass.plain import run_numpy, run_python
from fluidkv.suite.profiling import where_time_goes
from fluidkv.suite.report import Rate, Ratio, Section, against, rate
from fluidkv.suite.settings import Effort, Told
from fluidkv.suite.timing import Times, alternating, times
from fluidkv.workload import RequestClass, System, Workload

NAME = "mass"
INPUT_LENGTH = 512
CONCURRENCY = 50  # capacity in units of the largest request
FLOWS = ("admitted", "completed", "evicted", "memory")  # what `simulate` records by default
_FEW = 10  # slow ways do a part of the iterations
_LOOPED = 8  # starts that the Python loop checks
_LEFT = 1e-9
"""Of capacity: what two orders of summation may differ by after all iterations. It is a million
roundings; 2e-13 is what is seen, and a wrong step differs by whole requests."""
_DEVICE_AIM = 2e9  # trajectory-iterations a second on a data-centre GPU
_STEP_BYTES = 16

Masses = Float[np.ndarray, "batch stage"]
Way = Callable[[int], Masses]
"""Iterations -> masses after them."""


@dataclass(frozen=True)
class _Case:
    """One decode length.

    Fields:
        name: for the reader.
        system, model: one class.
        starts: on the boundary, for peers.
        iterations: of fast ways.
    """

    name: str
    system: System
    model: MassModel
    starts: Masses
    iterations: int

    @property
    def weights(self) -> Float[np.ndarray, " stage"]:
        return self.model.weights[0]

    @property
    def capacity(self) -> float:
        return float(self.model.capacity)


def measure(effort: Effort, tell: Told, *, accelerator: bool | None = None) -> Section:
    """All ways at each decode length.

    Args:
        effort: how many starts and iterations.
        tell: told what is being measured.
        accelerator: JAX computes on one, which takes more starts; None: as it does.
    """
    accelerator = jax.default_backend() != "cpu" if accelerator is None else accelerator
    rates: list[Rate] = []
    ratios: list[Ratio] = []
    defaults: list[Rate] = []
    notes: list[str] = []
    with in_a_folder() as folder:
        kernel, said = _kernel(folder)
        notes.append(said)
        cases = [_case(length, effort.starts, effort.iterations) for length in effort.lengths]
        for length, case in zip(effort.lengths, cases, strict=True):
            tell(case.name)
            found = _ways(case, kernel, effort.calls)
            rates += found.values()
            ratios += _ratios(case.name, found)
            if accelerator:
                large = _case(length, effort.device_starts, effort.iterations)
                rates.append(_on_device(large, effort.calls))
                ratios.append(_reached(rates[-1]))
                ratios.append(_bandwidth(rates[-1], effort.copied_bytes))
            defaults.append(rates[-1] if accelerator else found["default"])
    last = cases[-1]
    went = where_time_goes(lambda: _default(last, last.iterations))
    notes.append(f"Own time of the default engine at {last.name}, profiled: {went}.")
    ratios += _growth(effort.lengths, defaults)
    return Section(
        NAME,
        "Mass engine",
        f"One class, l0 = {INPUT_LENGTH}, memory for {CONCURRENCY} of the largest requests, "
        f"{effort.starts:,} uniform starts, {effort.iterations:,} iterations, nothing recorded "
        "but where it says so. "
        f"NumPy does {_part(effort.iterations):,} of them, the Python loop all, of one start. All "
        "ways were found equal to rounding after the last iteration.",
        "trajectory-iterations",
        tuple(rates),
        tuple(ratios),
        tuple(notes),
    )


def _case(length: int, starts: int, iterations: int) -> _Case:
    system = System(
        Workload((RequestClass(INPUT_LENGTH, length),)),
        Fraction(CONCURRENCY * (INPUT_LENGTH + length)),
    )
    masses = uniform_starts(random_key(0), system, count=starts)
    return _Case(f"L = {length}", system, class_model(system), masses, iterations)


def _kernel(folder: str) -> tuple[Kernel | None, str]:
    try:
        kernel, command = c_kernel(folder)
    except NoCompilerError as reason:
        return None, f"C kernel: not measured ({reason})."
    return kernel, f"C kernel: `{command}`; no block is jumped, each iteration is one step."


def _part(iterations: int) -> int:
    return max(1, iterations // _FEW)


def _ways(case: _Case, kernel: Kernel | None, calls: int) -> dict[str, Rate]:
    """Each way by a short name; the fast ones in turn, the slow ones in turn."""
    n, batch, few, every = case.iterations, len(case.starts), _part(case.iterations), cores()
    columns = np.ascontiguousarray(case.starts.T)
    fast: dict[str, Way] = {
        "default": partial(_default, case),
        "plain": partial(_default, case, engine="plain"),
        "records": partial(_default, case, record=FLOWS),
    }
    if kernel is not None:
        fast |= {f"c{threads}": partial(_in_c, case, kernel, threads) for threads in {1, every}}
    slow: dict[str, Way] = {
        "numpy": lambda count: run_numpy(case.weights, case.capacity, columns, count).T
    }
    _hold_together(case, fast, n)
    _hold_together(case, slow, few)
    taken = alternating({way: partial(run, n) for way, run in fast.items()}, calls=calls)
    taken |= alternating({way: partial(run, few) for way, run in slow.items()}, calls=calls)
    taken["python"] = times(
        lambda: run_python(case.weights, case.capacity, case.starts[0], n), calls=calls
    )
    counts = {"python": n, **dict.fromkeys(slow, batch * few), **dict.fromkeys(fast, batch * n)}
    names = {
        "python": "Python loop, one start",
        "numpy": "NumPy",
        "plain": "plain map in JAX",
        "default": "default engine",
        "records": "the same, four records of each iteration",
        "c1": "C kernel, 1 core",
        f"c{every}": f"C kernel, {every} cores",
    }
    return {
        way: rate(case.name, name, counts[way], taken[way])
        if way in taken
        else Rate(case.name, name, None, why="no C compiler")
        for way, name in names.items()
    }


def _default(
    case: _Case, iterations: int, engine: str = "auto", record: tuple[str, ...] = ()
) -> Masses:
    """As users call it; `plain` is the map stage by stage."""
    found = simulate(case.system, case.starts, iterations=iterations, record=record, engine=engine)
    return found.final_state.to_numpy()[:, 0]


def _in_c(case: _Case, kernel: Kernel, threads: int, iterations: int) -> Masses:
    masses = case.starts.copy()
    kernel(masses, float(case.weights[0]), iterations, threads)
    return masses


def _hold_together(case: _Case, ways: dict[str, Way], iterations: int) -> None:
    """All starts by each way, and some of them by the loop in Python.

    Raises:
        AssertionError: two find different masses.
    """
    found = {way: run(iterations) for way, run in ways.items()}
    some = slice(0, None, max(1, len(case.starts) // _LOOPED))
    first, *others = found.values()
    loop = [run_python(case.weights, case.capacity, x, iterations) for x in case.starts[some]]
    for masses, other in [*((first, each) for each in others), (first[some], np.array(loop))]:
        off = float(np.abs(masses - other).max())
        if not off <= _LEFT * case.capacity:
            said = ", ".join([*found, "the Python loop"])
            raise AssertionError(f"{case.name}: of {said}, two differ by {off:g} requests")


def _ratios(case: str, found: dict[str, Rate]) -> list[Ratio]:
    default, every = found["default"], found[f"c{cores()}"]
    return [
        against(case, default, every, at_least=1.0 if case in ("L = 8", "L = 40") else 0.9),
        against(case, found["records"], every, at_least=0.5),
        *(against(case, default, found[way]) for way in ("plain", "numpy", "python")),
    ]


def _growth(lengths: tuple[int, ...], defaults: list[Rate]) -> list[Ratio]:
    """What an iteration costs at the longest decode length, of what it costs at the shortest."""
    first, last = defaults[0].per_second, defaults[-1].per_second
    value = None if first is None or last is None else first / last
    what = f"cost of a step, L = {lengths[0]} to {lengths[-1]}"
    return [Ratio(f"L = {lengths[-1]}", what, value, at_most=2.0)]


# ------------------------------------------------------------------------------- on an accelerator


def _on_device(case: _Case, calls: int) -> Rate:
    """The default engine where JAX computes, on as many starts as fill it."""
    taken = times(lambda: _default(case, case.iterations), calls=calls)
    name = f"default engine, {len(case.starts):,} starts"
    return rate(case.name, name, len(case.starts) * case.iterations, taken)


def _reached(found: Rate) -> Ratio:
    value = None if found.per_second is None else found.per_second / _DEVICE_AIM
    return Ratio(found.case, f"rate on the device / {_DEVICE_AIM:.0e}", value, at_least=1.0)


def _bandwidth(found: Rate, size: int) -> Ratio:
    value = None
    if found.per_second is not None:
        value = found.per_second * _STEP_BYTES / copy_bytes_per_second(size)
    return Ratio(found.case, f"{_STEP_BYTES} bytes a step / bandwidth of a copy", value)


def copy_bytes_per_second(size: int) -> float:
    """Read and written by JAX's device when it copies an array of so many bytes."""
    with in_float64():
        array = jax.device_put(np.zeros(size // 8))
        copied = jax.jit(lambda x: x + 1.0)
        taken: Times = times(lambda: copied(array).block_until_ready(), calls=10, warm_up=2)
    return 2 * (size // 8 * 8) / taken.best
