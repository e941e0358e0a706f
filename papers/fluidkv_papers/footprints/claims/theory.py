"""Full servers of any footprint: equilibrium and stability, spectra, windows, drafts.

A full server admits u_n requests in iteration n so that sum over j of A_j u_{n-j} = M, A_j = E
phi(j), as long as nobody is evicted. **Stability**: a deviation obeys the same with 0 on the right,
a linear recursion with the characteristic polynomial z^{d-1} A(1/z); it dies out if and only if all
zeros of A lie outside the closed unit disc. A plain request has A_j = p_j (l0 + 1 + j), p_j the
share that lives so long: the polynomial F of Congestion.

**Spectra**: let a request admitted in iteration n hold P rather than A, and be there as Q rather
than B. What it holds beyond the mean must be made up by admissions: A(z) du(z) = A(z) - P(z), and
running requests move by Q - B + B du = Q - (B / A) P. Requests draw independently and u come an
iteration, so that densities are u E|P/A - 1|^2 and u E|Q - (B/A) P|^2 on the circle (a filter
driven by white noise), and variances are u times the sums of E h_k^2 over their responses h.

**Windows**: requests all alike whose prompt is held whole hold l0 + 1 tokens, then at most W. Where
W <= l0, A_j falls and A_0 > A_1, and in the closed disc (1 - z) A(z) = A_0 - (A_0 - A_1) z - ... -
A_{d-1} z^d is 0 only where all the products with z point where A_0 does, so for z = 1, where A is
not 0: stable (Enestrom and Kakeya). Where W = l0 + 1 they hold as much always, and the zeros are
roots of unity. Where W > l0 + 1 and l1 >= 2, A_j rises, and all zeros lie in the closed disc by the
same of the reversed polynomial: not stable.
"""

from collections.abc import Sequence
from fractions import Fraction

from fluidkv import exact, footprints
from fluidkv.ledger import Finding, Origin, Statements
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import System, Workload

CLAIMS = Statements("footprints", "Footprints", origin=Origin.READING)

_MIXES = (((2, 3),), ((3, 1), (3, 3)), ((9, 2), (4, 5), (7, 6)), ((20, 4), (20, 6)))
_MEMORY = 1000


@CLAIMS.claim("stability.plain", "stability", evidence=Evidence.SAMPLED)
def _plain() -> bool:
    """Of plain requests A and B are the survival weights, and the criterion is that of Congestion.

    Checked: four mixes of one to three classes, as integers; verdicts of both"""
    for lengths in _MIXES:
        workload = Workload.from_lengths(lengths)
        footprint = footprints.footprint_of(workload)
        ours, theirs = (
            footprints.second_moments.mean_weights(footprint),
            exact.survival_weights(workload),
        )
        same = [Fraction(a, ours.memory[0]) for a in ours.memory] == [
            Fraction(v, theirs.memory[0]) for v in theirs.memory
        ]
        found = footprints.footprint_stability(footprints.FullServer(footprint, _MEMORY))
        known = exact.stability(System(workload, _MEMORY))
        equal = found.equilibrium.rate == known.equilibrium.rate
        if not (same and equal and found.verdict is known.verdict):
            return False
    return True


@CLAIMS.claim("spectra", "spectra", evidence=Evidence.SAMPLED)
def _spectra() -> Finding:
    """Variances are u times the sums of squares of what one request more moves, and are the means
    of the spectra over the circle.

    Checked: two mixes, 400 iterations of the linear recursion in rationals
    Paper: within the balls of the certified means"""
    shown = []
    for lengths in (((30, 1), (30, 3)), ((50, 2), (60, 5), (70, 3))):
        server = footprints.FullServer(
            footprints.footprint_of(Workload.from_lengths(lengths)), _MEMORY
        )
        ball = footprints.certified_variances(server)
        rate = footprints.footprint_stability(server).equilibrium.rate
        running, admissions = _by_recursion(lengths, 400)
        for name, sum_, bounds in (
            ("running", running, ball.running_bounds),
            ("admissions", admissions, ball.admissions_bounds),
        ):
            variance = float(rate * sum_)
            if bounds is None or not bounds[0] - 1e-12 <= variance <= bounds[1] + 1e-12:
                return Finding(f"{name} of {lengths}: {variance} outside {bounds}", "")
            shown.append(f"{name} {variance:.6f}")
    return Finding(True, ", ".join(shown))


def _by_recursion(lengths: Sequence[tuple[int, int]], iterations: int) -> tuple[Fraction, Fraction]:
    """Mean squares of the responses of running and admissions, classes in equal shares."""
    longest = max(l1 for _, l1 in lengths)
    share = Fraction(1, len(lengths))
    held = [[l0 + 1 + j if j < l1 else 0 for j in range(longest)] for l0, l1 in lengths]
    there = [[int(j < l1) for j in range(longest)] for _, l1 in lengths]
    mean_held = [share * sum(row[j] for row in held) for j in range(longest)]
    mean_there = [share * sum(row[j] for row in there) for j in range(longest)]
    running = admissions = Fraction(0)
    for tokens, alive in zip(held, there, strict=True):
        moved: list[Fraction] = []
        for n in range(iterations):
            beyond = tokens[n] - mean_held[n] if n < longest else Fraction(0)
            last = min(n, longest - 1)
            beyond += sum(mean_held[j] * moved[n - j] for j in range(1, last + 1))
            moved.append(_short(-beyond / mean_held[0]))
            runs = alive[n] - mean_there[n] if n < longest else Fraction(0)
            runs += sum(mean_there[j] * moved[n - j] for j in range(last + 1))
            running += share * _short(runs * runs)
        admissions += share * sum((_short(x * x) for x in moved), Fraction(0))
    return running, admissions


def _short(value: Fraction) -> Fraction:
    """Cut at 2^-200, so that denominators do not grow; errors stay far below 1e-12."""
    return Fraction(round(value * 2**200), 2**200)


@CLAIMS.claim("windows", "windows", evidence=Evidence.SAMPLED)
def _windows() -> bool:
    """Requests all alike are stable behind a window of at most their input, neutral behind one of a
    token more, and not stable behind any longer one that lets them grow.

    Checked: inputs of 1 to 6, outputs of 2 to 7, windows of 1 to 14, certified"""
    for l0 in range(1, 7):
        for l1 in range(2, 8):
            for window in range(1, 15):
                footprint = footprints.RequestFootprint(l0, l1, footprints.SlidingWindow(window))
                found = footprints.footprint_stability(footprints.FullServer(footprint, _MEMORY))
                neutral = found.certificate.on_circle if window == l0 + 1 else None
                stable = found.verdict is Stability.STABLE
                if stable != (window <= l0) or (window == l0 + 1 and neutral != l1 - 1):
                    return False
    return True


@CLAIMS.claim("drafts.cure", "drafts")
def _drafts() -> Finding:
    """Drafts can cure requests that are all alike: 100 tokens in and 24 out are unstable, and
    stable with three drafts that are accepted three times of ten.

    Checked: the certificate, in exact arithmetic"""
    half = {"plain": None, "drafts": footprints.Speculation(3, Fraction(3, 10))}
    verdicts = [
        footprints.footprint_stability(
            footprints.FullServer(footprints.RequestFootprint(100, 24, speculation=drafts), _MEMORY)
        )
        for drafts in half.values()
    ]
    plain, drafted = (found.verdict for found in verdicts)
    right = plain is Stability.UNSTABLE and drafted is Stability.STABLE
    shown = ", ".join(f"|z| = {sum(found.spectral_radius) / 2:.4f}" for found in verdicts)
    return Finding(right or f"{plain}, {drafted}", shown)


@CLAIMS.claim("drafts.not-always", "drafts")
def _drafts_not() -> bool:
    """They do not always: 20 tokens in and 60 out stay unstable with three drafts, half accepted.

    Checked: the certificate"""
    drafts = footprints.Speculation(3, Fraction(1, 2))
    footprint = footprints.RequestFootprint(20, 60, speculation=drafts)
    found = footprints.footprint_stability(footprints.FullServer(footprint, _MEMORY))
    return found.verdict is Stability.UNSTABLE
