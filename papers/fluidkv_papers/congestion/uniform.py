"""One bound for all long inputs: Lemmas 18 and 19 for a given mix, as a finite certificate.

With epsilon = 1 / (R L + 1), R the mean of the input ratios, the entries V_s / V_0 of Phi are
affine in epsilon, from the limit of long inputs at 0 to input length L at epsilon. So Phi^T P Phi
is convex in epsilon for a fixed positive definite P, and

    P - Phi(epsilon)^T P Phi(epsilon) >= eta I

holds between two values of epsilon where it holds at both. There the solution of the Lyapunov
equation is at most P / eta, and the spectral radius at most sqrt(1 - eta / ||P||). Finitely many
matrices P cover [0, 1 / (R L + 1)]: every input length from L on.

The matrices are found in one way and tested in another: any P that passes proves the bound.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from flint import fmpq, fmpq_mat, fmpz_mat

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.nearby.lyapunov import EXACT_AGES, largest_eigenvalue, lyapunov
from fluidkv.exact.mixed.nearby.transition import transition_matrix
from fluidkv.exact.precision import DOUBLE, to_fmpq, working
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.verdict import Verdict

_ETA = Fraction(1, 2)  # half of what P's own equation gives: leaves room, and costs a factor 2
_ROUNDING = 2**40  # entries of P are rounded to multiples of its inverse; the test is on those
_SMALLEST_STEP = Fraction(1, 2**40)
_MOST_PIECES = 2000


@dataclass(frozen=True)
class UniformBound:
    """What holds at every real input length from the one asked for on.

    Fields, the bounds rounded outward:
        verdict: HOLDS if the certificate closed, exact; UNDECIDED if not, which says nothing.
        norm: C_P: I <= P(L) <= C_P I; None unless it closed.
        radius: rho < 1: every eigenvalue of Phi(L) has |z| <= rho; None unless it closed.
        reason: one line.
    """

    verdict: Verdict
    norm: float | None
    radius: float | None
    reason: str


@working(DOUBLE)
def uniform_bound(mix: LengthMix, input_length: Fraction | int) -> UniformBound:
    """C_P and rho that hold for all L >= `input_length`.

    Args:
        mix: at most `EXACT_AGES` ages; the tests are rational.
        input_length: L*, at least 0. The certificate cannot close at or below the largest
            threshold of stability, and takes more pieces the nearer L* is to it.

    Raises:
        InputError: too many ages, a negative input length or a float.
    """
    if mix.ages > EXACT_AGES:
        raise InputError("mix", f"{mix.ages} ages", f"at most {EXACT_AGES} ages")
    mix.weights(input_length)  # refuses floats and negative lengths
    ratio = Fraction(mix.limit.memory[0], mix.limit.denominator)
    end = 1 / (ratio * Fraction(input_length) + 1)
    at, step, pieces = Fraction(0), end, 0
    norm = 0.0
    while at < end:
        found = lyapunov(_weights(mix, ratio, at)) if pieces < _MOST_PIECES else None
        if found is None or found.matrix is None:
            reason = found.reason if found else f"more than {_MOST_PIECES} pieces"
            return _open(f"{reason}, at {_shown(ratio, at)}")
        candidate = _rounded(cast("fmpq_mat", found.flint))
        step = min(step, end - at)
        while not decreases(candidate, _phi(mix, ratio, at + step)):
            step /= 2
            if step < _SMALLEST_STEP:
                return _open(f"no progress beyond {_shown(ratio, at)}")
        if not decreases(candidate, _phi(mix, ratio, at)):
            return _open(f"rounding of P at {_shown(ratio, at)}")
        largest = float(largest_eigenvalue(candidate).upper())
        norm = max(norm, math.nextafter(largest / float(_ETA), math.inf))
        at, step, pieces = at + step, 2 * step, pieces + 1
    radius = math.nextafter(math.sqrt(math.nextafter(1 - 1 / norm, 1)), 1)
    return UniformBound(Verdict.HOLDS, norm, radius, "certificate closed")


def positive_definite(symmetric: fmpq_mat) -> bool:
    """Whether a symmetric rational matrix is positive definite, exact.

    Its eigenvalues are real; all are positive exactly if the coefficients of the characteristic
    polynomial alternate strictly in sign (Descartes).
    """
    numerators, _ = symmetric.numer_denom()
    coefficients = fmpz_mat(numerators).charpoly().coeffs()
    n = len(coefficients) - 1
    return all((c > 0) if (n - i) % 2 == 0 else (c < 0) for i, c in enumerate(coefficients))


def decreases(candidate: fmpq_mat, phi: fmpq_mat) -> bool:
    """Whether P > 0 and P - Phi^T P Phi > eta I.

    The second implies the first for Schur stable Phi only, so both are asked for.
    """
    n = candidate.nrows()
    eta = to_fmpq(_ETA)
    floor = fmpq_mat(n, n, [eta if i % (n + 1) == 0 else fmpq(0) for i in range(n * n)])
    drop = candidate - phi.transpose() * candidate * phi - floor
    return positive_definite(candidate) and positive_definite(drop)


def _phi(mix: LengthMix, ratio: Fraction, epsilon: Fraction) -> fmpq_mat:
    return transition_matrix(_weights(mix, ratio, epsilon))


def _weights(mix: LengthMix, ratio: Fraction, epsilon: Fraction) -> SurvivalWeights:
    return mix.limit if epsilon == 0 else mix.weights((1 / epsilon - 1) / ratio)


def _rounded(matrix: fmpq_mat) -> fmpq_mat:
    rows = [[fmpq(int((x * _ROUNDING).floor()), _ROUNDING) for x in row] for row in matrix.tolist()]
    return fmpq_mat(rows)


def _open(reason: str) -> UniformBound:
    return UniformBound(Verdict.UNDECIDED, None, None, reason)


def _shown(ratio: Fraction, epsilon: Fraction) -> str:
    return "L without bound" if epsilon == 0 else f"L = {float((1 / epsilon - 1) / ratio):.6g}"
