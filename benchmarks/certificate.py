"""The certified spectrum of a trace or a mix against all its roots in floats.

    python -m benchmarks.certificate

`certify_spectrum` proves how many roots of F lie outside the unit circle and encloses the spectral
radius; `numpy.roots` gives every root, as eigenvalues of the companion matrix, and proves nothing.
The two are compared before they are timed, in the same run. On few cores the eigenvalue solver is
faster, and far less disturbed by whatever else runs, when its BLAS keeps to one thread. It is timed
both ways, and the faster one is the peer.

What bounds the certificate: to know F at N points of a circle to rounding. The sums go through
matrix products, whose multiplications are counted here; `at peak` is the time that these would take
at the speed of one large product of NumPy, measured in the same run.

Real traces of this length are stable. So that the unstable side is timed at degree 2,000 too, two
made ones stand beside them: two long output lengths, where a thousand modes grow, and a draw of
requests such as a trace has, cut at a limit, with inputs short enough that some grow.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from unittest import mock

import numpy as np

from benchmarks.inputs import SkippedError, trace_workload
from benchmarks.report import against, load
from fluidkv.exact.modes import GrowingModes, growing_modes
from fluidkv.exact.roots import products
from fluidkv.exact.roots.polynomial import characteristic_polynomial, split_reciprocal
from fluidkv.exact.roots.spectrum import SpectralCertificate, certify_spectrum, count_unstable
from fluidkv.exact.survival import SurvivalWeights, survival_weights
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import Times, times
from fluidkv.workload import RequestClass, Workload

TARGET = "azure_llm_2023_code.csv"
TRACES = (TARGET, "azure_llm_2023_conv.csv", "vllm_rtx4090_llama31_8b")
TARGET_S = 1.0
COUNT_DEGREE, COUNT_TARGET_S = 1900, 0.1  # from this degree on the count alone has a target
TARGET_RATIO = 50.0
ENCLOSURE = 1e-9  # width of the spectral radius that is asked for

_ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ROOTS_ALONE = """
import json, sys, time
import numpy as np
coefficients = np.array(json.load(sys.stdin))
np.roots(coefficients[:200])
taken = []
for _ in range(3):
    start = time.perf_counter()
    np.roots(coefficients)
    taken.append(time.perf_counter() - start)
print(json.dumps(taken))
"""


@dataclass(frozen=True)
class CertificateTiming:
    """Times of one trace.

    Fields:
        name: of the trace.
        certificate: what was proved.
        growing: the modes that grow, as far as they are enclosed.
        certify: `certify_spectrum`, from the survival weights on.
        count: `count_unstable` alone.
        modes: `growing_modes`, given the certificate.
        roots_threaded: `numpy.roots` with NumPy's own number of BLAS threads.
        roots_alone: `numpy.roots` with one.
        flops: of the matrix products in one certificate.
        exact_s: of which the exact gcd with the reciprocal polynomial takes, seconds.
    """

    name: str
    certificate: SpectralCertificate
    growing: GrowingModes
    certify: Times
    count: Times
    modes: Times
    roots_threaded: Times
    roots_alone: Times
    flops: int
    exact_s: float

    @property
    def ratio(self) -> float:
        return min(self.roots_alone.best, self.roots_threaded.best) / self.certify.best

    @property
    def ratio_of_medians(self) -> float:
        return min(self.roots_alone.median, self.roots_threaded.median) / self.certify.median


def two_lengths() -> Workload:
    """Output lengths 1,990 and 2,001 in equal shares behind inputs of 2,000 tokens."""
    half = Fraction(1, 2)
    return Workload((RequestClass(2000, 1990, half), RequestClass(2000, 2001, half)))


def drawn() -> Workload:
    """20,000 requests, outputs lognormal about a median of 1,500 tokens and cut at 2,001.

    With inputs of this length some modes grow; with 1,000 tokens none, with 900 nearly all.
    """
    draw = np.random.default_rng(0).lognormal(np.log(1500), 0.6, 20_000)
    outputs = np.clip(draw.astype(int), 1, 2001)
    return Workload.from_lengths((980, int(n)) for n in outputs)


MADE = {"made: {1,990, 2,001}": two_lengths, "made: 20,000 drawn": drawn}


def run(name: str) -> CertificateTiming:
    """Compare, then time, one trace or made workload."""
    weights = survival_weights(MADE[name]() if name in MADE else trace_workload(name))
    top = max(weights.memory)
    floats = np.array([v / top for v in weights.memory])
    certificate = certify_spectrum(weights)
    np.roots(floats[:200])  # warm
    start = time.perf_counter()
    roots = np.roots(floats)
    threaded = time.perf_counter() - start
    _check(certificate, roots)
    growing = growing_modes(weights, certificate)
    return CertificateTiming(
        name=name,
        certificate=certificate,
        growing=growing,
        count=times(lambda: count_unstable(weights), calls=11),
        modes=times(lambda: growing_modes(weights, certificate), calls=5),
        certify=times(lambda: certify_spectrum(weights), calls=21, warm_up=2),
        roots_threaded=Times(threaded, threaded, 1),
        roots_alone=_roots_alone(floats),
        flops=_flops(weights),
        exact_s=times(lambda: split_reciprocal(characteristic_polynomial(weights)), calls=5).best,
    )


def _roots_alone(coefficients: np.ndarray) -> Times:
    """`numpy.roots` in a process of its own with one BLAS thread; the start does not count."""
    done = subprocess.run(
        [sys.executable, "-c", _ROOTS_ALONE],
        input=json.dumps(coefficients.tolist()),
        env=os.environ | dict.fromkeys(_ONE_THREAD, "1"),
        capture_output=True,
        text=True,
        check=True,
    )
    taken = json.loads(done.stdout)
    return Times(min(taken), median(taken), len(taken))


def peak_flop_rate() -> float:
    """Of one large matrix product, on all cores that NumPy uses, a second."""
    n = 1500
    a = np.random.default_rng(0).random((n, n))
    return 2 * n**3 / times(lambda: a @ a, calls=5).best


def _check(certificate: SpectralCertificate, roots: np.ndarray) -> None:
    """Stop where the two disagree.

    Eigenvalues of a companion matrix of this size are good to about 1e-12 where roots are simple;
    where one is nearer to the unit circle than ten thousand times that, they would not tell.
    """
    moduli = np.abs(roots)
    if np.abs(moduli - 1).min() < 1e-8:
        raise AssertionError("a root too near the unit circle to compare counts with floats")
    low, high = certificate.radius
    if certificate.outside != int((moduli > 1).sum()):
        raise AssertionError(f"{certificate.outside} certified outside, {(moduli > 1).sum()} found")
    if not low - 1e-10 < moduli.max() < high + 1e-10:
        raise AssertionError(f"radius certified in [{low}, {high}], {moduli.max()} found")
    if not high - low < ENCLOSURE:
        raise AssertionError(f"the enclosure is {high - low} wide")


def _flops(weights: SurvivalWeights) -> int:
    """Multiplications and additions in the matrix products of one certificate."""
    counted = 0
    product = products._dot

    def counting(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        nonlocal counted
        counted += 2 * a.size * b.shape[1]
        return product(a, b)

    with mock.patch.object(products, "_dot", counting):
        certify_spectrum(weights)
    return counted


def report() -> str:
    """The table in Markdown."""
    timings, skipped = [], []
    for name in (*TRACES, *MADE):
        try:
            timings.append(run(name))
        except SkippedError as reason:
            skipped.append(f"Skipped: {reason}.")
    lines = [
        "## Certified spectrum against `numpy.roots`",
        "",
        "Best of the calls, median in brackets; the ratio is against the faster of the two"
        " `numpy.roots`.",
        "",
    ]
    if timings:
        lines += [_table(timings), "", _modes(timings), "", _limits(timings), ""]
    lines += [
        against(
            f"Target for {t.name}: under {TARGET_S:g} s and at least {TARGET_RATIO:g} times faster",
            t.certify.median < TARGET_S and min(t.ratio, t.ratio_of_medians) >= TARGET_RATIO,
        )
        + "."
        for t in timings
        if t.name == TARGET
    ]
    lines += [
        "",
        *(
            against(
                f"Target for {t.name}, degree {t.certificate.degree:,}: count under "
                f"{COUNT_TARGET_S:g} s, radius to {ENCLOSURE:g} under {TARGET_S:g} s",
                t.count.median < COUNT_TARGET_S and t.certify.median < TARGET_S,
            )
            + ".\n"
            for t in timings
            if t.certificate.degree >= COUNT_DEGREE - 2
        ),
    ]
    return "\n".join([*lines, *skipped, "", f"Load at the end: {load()}."])


def _table(timings: list[CertificateTiming]) -> str:
    return table(
        [
            "trace",
            "degree",
            "outside",
            "radius",
            "width",
            "certificate",
            "roots, 1 thread",
            "roots, all threads",
            "ratio",
        ],
        [
            [
                t.name,
                f"{t.certificate.degree:,}",
                f"{t.certificate.outside}",
                f"{t.certificate.radius[1]:.9f}",
                f"{t.certificate.radius[1] - t.certificate.radius[0]:.0e}",
                f"{seconds(t.certify.best)} ({seconds(t.certify.median)})",
                f"{seconds(t.roots_alone.best)} ({seconds(t.roots_alone.median)})",
                seconds(t.roots_threaded.best),
                f"{t.ratio:.0f} ({t.ratio_of_medians:.0f})",
            ]
            for t in timings
        ],
    )


def _modes(timings: list[CertificateTiming]) -> str:
    rows = [
        [
            t.name,
            f"{seconds(t.count.best)} ({seconds(t.count.median)})",
            f"{t.growing.count:,}",
            f"{t.growing.enclosed:,}",
            "yes" if t.growing.complete else "no",
            f"{seconds(t.modes.best)} ({seconds(t.modes.median)})",
        ]
        for t in timings
    ]
    header = ["trace", "count alone", "growing", "enclosed", "complete", "enclosing"]
    return "The certified count alone, and the growing modes one by one.\n\n" + table(header, rows)


def _limits(timings: list[CertificateTiming]) -> str:
    peak = peak_flop_rate()
    rows = [
        [
            t.name,
            f"{_cells(t.certificate):,}",
            f"{t.flops / 1e6:.0f} M",
            seconds(t.flops / peak),
            f"{t.flops / peak / t.certify.best:.0%}",
            f"{t.flops / t.certify.best / 1e9:.1f} GFLOP/s",
            seconds(t.exact_s),
        ]
        for t in timings
    ]
    header = ["trace", "cells", "flops", "at peak", "of the time", "achieved", "exact gcd"]
    return (
        f"How far from the limit (one large product here: {peak / 1e9:.0f} GFLOP/s). The products"
        " are small, a few hundred rows, and stay on one core.\n\n" + table(header, rows)
    )


def _cells(certificate: SpectralCertificate) -> int:
    """In the two coverings that are the proof; the search evaluates one more circle or two."""
    circles = (certificate.unit_circle, certificate.gap_circle)
    return sum(circle.cells for circle in circles if circle is not None)


if __name__ == "__main__":
    print(report())
