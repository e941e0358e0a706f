"""Certified results depend neither on the precision of the process nor on other threads."""

import math
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, arb_mat, ctx, fmpq_mat

import fluidkv as fk
from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
from fluidkv.exact.mixed.motion.branches import track
from fluidkv.exact.mixed.motion.drift import drift, drift_bound, outward_rate
from fluidkv.exact.mixed.motion.limit import limit_roots
from fluidkv.exact.mixed.nearby.lyapunov import enclosed_eigenvalues
from fluidkv.exact.mixed.thresholds.asymptotic import asymptotic_threshold
from fluidkv.exact.mixed.thresholds.pencil import InputPencil
from fluidkv.exact.mixed.thresholds.scale import input_scale
from fluidkv.exact.one_class.return_map import cycle_stability
from fluidkv.exact.precision import outward, working
from fluidkv.exact.roots.spectrum import certify_spectrum, spectral_radius
from fluidkv.wait.theory.boundary_queue import ends, eta, exceedance_probability
from fluidkv.wait.theory.bounds import theorem_1_gap
from fluidkv_papers.congestion.uniform import uniform_bound

HALF = Fraction(1, 2)
MIX = fk.LengthMix((5, 9), (HALF, HALF))
LONG = fk.LengthMix((61, 80), (HALF, HALF))  # the route of winding numbers, and P in balls
PAIRED = fk.LengthMix((4, 6), (HALF, HALF))  # with roots of the limit on the circle
SEGMENTS = fk.wait.Segments(10, (4, 9), (Fraction(2), Fraction(1)))


def system(mix: fk.LengthMix, input_length: int) -> fk.System:
    return fk.System(mix.workload(input_length), 10**6)


def stability_in_full(mix: fk.LengthMix, input_length: int) -> object:
    found = fk.stability(system(mix, input_length))
    roots = [(root.modulus, root.period) for root in found.certificate.leading]
    return found, found.leading_period, found.folding_time, roots


def energies(mix: fk.LengthMix, input_length: int) -> object:
    found = fk.exact.neighbourhood(system(mix, input_length))
    deviation = [Fraction(1, 3), *[Fraction(0)] * (mix.ages - 1)]
    return found, found.lyapunov.norm, found.energy(deviation), found.contains(deviation)


def branch(mix: fk.LengthMix) -> object:
    root = limit_roots(mix)[-1]
    found, expansion = track(mix, root, (50, 100)), drift(mix, root)
    moduli = [root.modulus, *(point.modulus for point in found.points)]
    bounds = [drift_bound(mix, root, 5000, order=order) for order in (1, 2)]
    return found, moduli, expansion, expansion.modulus_rates, bounds


def memory() -> object:
    bound = fk.wait.theorem_2_memory(SEGMENTS, (10, 6), 1, 100, Fraction(1, 10))
    return bound, bound.total, bound.capacity, bound.upper


def server_gap() -> object:
    return theorem_1_gap(
        fk.wait.WaitSystem((fk.wait.PromptType(1, 1, 2),), 1, Fraction(1, 10)), (3,), 100
    )


CERTIFIED: dict[str, Callable[[], object]] = {
    "stability": lambda: stability_in_full(MIX, 20),
    "stability of long outputs": lambda: stability_in_full(LONG, 40),
    "certify_spectrum": lambda: certify_spectrum(MIX.limit),
    "spectral_radius": lambda: spectral_radius(LONG.limit),
    "growing_modes": lambda: fk.growing_modes(MIX.weights(1)),
    "growing_modes of long outputs": lambda: fk.growing_modes(LONG.weights(1)),
    "input_scale": lambda: input_scale(MIX.workload(3)),
    "input_scale_bracket": lambda: fk.input_scale_bracket(MIX.workload(3)),
    "input_threshold": lambda: fk.input_threshold(MIX),
    "crossings": lambda: InputPencil(PAIRED).crossings(),
    "asymptotic_threshold": lambda: asymptotic_threshold(LONG),
    "lyapunov": lambda: fk.exact.lyapunov(MIX.weights(200)).norm,
    "enclosed_eigenvalues": lambda: enclosed_eigenvalues(fk.exact.lyapunov(MIX.weights(200)).flint),
    "neighbourhood": lambda: energies(MIX, 200),
    "neighbourhood in balls": lambda: energies(LONG, 400_000),
    "uniform_bound": lambda: uniform_bound(MIX, 200),
    "pulse_stability": lambda: pulse_stability(pulse_cycle(system(PAIRED, 20))),
    "pulse_stability of other gaps": lambda: pulse_stability(
        pulse_cycle(system(PAIRED, 20), (1, 1))
    ),
    "cycle_stability": lambda: cycle_stability(
        fk.System(fk.Workload((fk.RequestClass(4, 6, Fraction(1)),)), 100), (1, 2, 3)
    ),
    "limit_roots": lambda: limit_roots(PAIRED),
    "branches": lambda: branch(MIX),
    "outward_rate": lambda: outward_rate(PAIRED, 5000),
    "eta": lambda: (found := eta(10, Fraction(1, 3), 5), found.reciprocal),
    "ends": lambda: ends(eta(10, Fraction(1, 3), 5).reciprocal),
    "exceedance_probability": lambda: exceedance_probability(10, Fraction(1, 3), 5, 12, 40),
    "theorem_1_gap": server_gap,
    "theorem_2_memory": memory,
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_ambient_precision_is_no_input(name):
    compute, found = CERTIFIED[name], {}
    before = ctx.prec
    try:
        for bits in (before, 10, 1000):
            ctx.prec = bits
            result = compute()
            found[bits] = (digits(result), repr(result) if is_dataclass(result) else None)
            assert ctx.prec == bits
    finally:
        ctx.prec = before
    assert found[10] == found[before] == found[1000]


def test_four_threads_find_what_one_finds():
    before = ctx.prec
    inputs = range(1, 11)
    alone = [digits(stability_in_full(MIX, n)) for n in inputs]
    together = threading.Barrier(4)

    def calls(_: int) -> list[object]:
        together.wait()
        return [digits(stability_in_full(MIX, n)) for n in inputs for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(calls, range(4)))
    expected = [each for each in alone for _ in range(4)]
    assert found == [expected] * 4
    assert ctx.prec == before


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(-1, 3), Fraction(1), Fraction(10**20 + 1)]
)
def test_doubles_around_a_ball_lie_outside_of_it(value):
    with working(200):
        ball = arb(value.numerator) / value.denominator
        low, high = outward(ball)
        assert low < ball < high
    assert high - low <= 4 * math.ulp(float(value))


def test_an_error_leaves_the_precision_as_it_was():
    before = ctx.prec
    with pytest.raises(fk.InputError):
        drift_bound(MIX, limit_roots(MIX)[0], -1)
    assert ctx.prec == before


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_process_forked_amid_a_certificate_is_at_rest():
    computing, done, before = threading.Event(), threading.Event(), ctx.prec

    def certificate() -> None:
        with working(777):
            computing.set()
            done.wait(0.2)

    thread = threading.Thread(target=certificate)
    thread.start()
    computing.wait()
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        with working(99):
            inside = ctx.prec
        os._exit(0 if (inside, ctx.prec) == (99, before) else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("name", ["stability", "branches", "crossings", "eta", "lyapunov"])
def test_certificates_pickle_to_the_last_bit(name):
    result = CERTIFIED[name]()
    assert digits(pickle.loads(pickle.dumps(result))) == digits(result)


def test_matrices_of_balls_pickle():
    found = fk.exact.lyapunov(LONG.weights(400_000))
    assert isinstance(found.flint, arb_mat)
    assert digits(pickle.loads(pickle.dumps(found))) == digits(found)


def digits(value: object) -> object:
    """All of a result in plain values, balls to their last bit."""
    if isinstance(value, arb):
        return tuple((int(m), int(e)) for m, e in (value.mid().man_exp(), value.rad().man_exp()))
    if isinstance(value, acb):
        return digits(value.real), digits(value.imag)
    if isinstance(value, arb_mat | fmpq_mat):
        return digits(value.tolist())
    if is_dataclass(value):
        return {f.name: digits(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [digits(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value
