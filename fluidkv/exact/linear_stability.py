"""Is the eviction-free equilibrium of a system stable, and how do we know."""

import math
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.exact.roots.spectrum import SpectralCertificate, certify_spectrum, count_unstable
from fluidkv.exact.roots.winding import HIGH_DEGREE
from fluidkv.exact.survival import Equilibrium, eviction_free_equilibrium, survival_weights
from fluidkv.record import Record
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import System, Workload


@dataclass(frozen=True)
class StabilityResult(Record):
    """Linear stability of the eviction-free equilibrium.

    Near the equilibrium no request is evicted and the dynamics are exactly linear: all roots of F
    inside the unit circle is asymptotic stability, and one outside is instability.

    Fields:
        system: what was asked about.
        verdict: stable (asymptotically), unstable, or undecided.
        evidence: for the verdict and the two counts.
        reason: one line, readable without the rest.
        spectral_radius: (low, high) around max |z|, growth of the leading mode an iteration.
        unstable_modes: roots with |z| > 1, with multiplicity; None if undecided.
        neutral_modes: roots with |z| = 1 exactly; None if undecided.
        leading_period: iterations for one turn of the leading mode; None without modes.
        equilibrium: rate and requests in flight, exact.
        decode_gcd: greatest common divisor of the decode lengths.
        certificate: the object that proves it.

    Examples:
        >>> found = fk.stability(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> print(found.reason)
        2 of 2 modes grow
        >>> found.unstable_modes, found.decode_gcd, round(found.leading_period, 2)
        (2, 3, 2.97)
    """

    system: System
    verdict: Stability
    evidence: Evidence
    reason: str
    spectral_radius: tuple[float, float]
    unstable_modes: int | None
    neutral_modes: int | None
    leading_period: float | None
    equilibrium: Equilibrium
    decode_gcd: int
    certificate: SpectralCertificate

    @property
    def folding_time(self) -> float | None:
        """Iterations in which the leading mode grows or decays by a factor e.

        None without modes, or when the enclosure of the spectral radius touches 1.
        """
        low, high = self.spectral_radius
        if high == 0 or low <= 1 <= high:
            return None
        return 1 / abs(math.log((low + high) / 2))


def stability(system: System) -> StabilityResult:
    """Certify the stability of the eviction-free equilibrium of a system.

    The capacity scales the equilibrium and every perturbation alike: it sets how much is in flight,
    not whether it is stable.

    Args:
        system: any number of classes, an empirical trace included.

    Raises:
        InputError: no system.

    Source: Congestion, equations (8) to (10); Theorem 3 is the limit of long inputs.

    Examples:
        >>> alike = fk.System(fk.Workload.from_lengths([(20, 3)]), capacity=1000)
        >>> mixed = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> str(fk.stability(alike).verdict), str(fk.stability(mixed).verdict)
        ('unstable', 'stable')
    """
    certificate = certify_spectrum(survival_weights(system.workload))
    verdict, reason = judged(certificate)
    return StabilityResult(
        system=system,
        verdict=verdict,
        evidence=certificate.evidence,
        reason=reason,
        spectral_radius=certificate.radius,
        unstable_modes=certificate.outside,
        neutral_modes=certificate.on_circle,
        leading_period=certificate.leading_period,
        equilibrium=eviction_free_equilibrium(system),
        decode_gcd=system.workload.decode_gcd,
        certificate=certificate,
    )


@dataclass(frozen=True)
class InputScale(Record):
    """A factor on every input length between two certified verdicts.

    Fields:
        stable: a factor at which the equilibrium is stable; None if none was met. 0 if it is stable
            at every factor above 0.
        unstable: a factor at which it is unstable; None if none was met.
        complete: the verdict is known at every factor above 0: it is stable from `stable` on, and
            unstable up to `unstable`; at every factor the same where either is None. The two are
            neighbouring floats or nearly so. If False, what lies between them, or beyond them, is
            not claimed.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.scale import input_scale
        >>> found = input_scale(fk.Workload.from_lengths([(1, 2), (1, 5)]))
        >>> round(float(found.unstable), 6), round(float(found.stable), 6), found.complete
        (6.924344, 6.924344, True)
    """

    stable: Fraction | None
    unstable: Fraction | None
    complete: bool = False


def rounded_outward(value: Fraction, digits: int, *, up: bool) -> str:
    """A positive number in words: never below itself if `up`, never above itself if not.

    Up at the stable end of a bracket and down at the unstable one, whatever lies between the ends
    lies between the numbers that are shown.

    Args:
        value: above 0.
        digits: significant ones, at least 1. All before the point are shown, and no zeros at the
            end of a number that is not rounded.
        up: towards the larger neighbour.

    Raises:
        InputError: a value that is not above 0.

    Examples:
        >>> from fluidkv.exact.linear_stability import rounded_outward
        >>> factor = Fraction(4, 3)
        >>> rounded_outward(factor, 3, up=False), rounded_outward(factor, 3, up=True)
        ('1.33', '1.34')
    """
    if value <= 0:
        raise InputError("value", str(value), "numbers above 0")
    exponent = len(str(value.numerator)) - len(str(value.denominator))  # of the first digit,
    if value < Fraction(10) ** exponent:  # or one too many
        exponent -= 1
    places = max(0, digits - 1 - exponent)
    scaled = value * 10**places
    whole, part = divmod(math.ceil(scaled) if up else math.floor(scaled), 10**places)
    decimals = f"{part:0{places}d}" if places else ""
    if scaled.denominator == 1:
        decimals = decimals.rstrip("0")
    return f"{whole:,}.{decimals}" if decimals else f"{whole:,}"


def exact_factor(value: Fraction) -> str:
    """A factor as it is: "4,096" or "1/4,096".

    Where the verdict is certified at one factor only, any other number would claim too much.

    Examples:
        >>> from fluidkv.exact.linear_stability import exact_factor
        >>> exact_factor(Fraction(4096)), exact_factor(Fraction(1, 4096))
        ('4,096', '1/4,096')
    """
    below = "" if value.denominator == 1 else f"/{value.denominator:,}"
    return f"{value.numerator:,}{below}"


def input_scale_bracket(
    workload: Workload, *, resolution: Fraction = Fraction(1, 64), reach: int = 12
) -> InputScale:
    """How far the boundary of stability is, on the axis of the input lengths.

    Longer inputs stabilise (Congestion, Theorem 3 and section 4.3): starting from the workload as
    it is, the factor is doubled while unstable, or halved while stable, at most `reach` times; then
    the bracket is bisected until its ends agree within `resolution`. Each end is certified.

    Above `HIGH_DEGREE` tokens a count takes seconds. Then the furthest factor comes first, and the
    powers of two are bisected as well: some ten counts in place of forty, and the same answer
    where the verdict changes once. Where it changes more often, another change may be met.

    Args:
        workload: any number of classes.
        resolution: relative width of the bracket to stop at.
        reach: powers of two to look at in either direction.

    Raises:
        InputError: no workload.

    Examples:
        >>> workload = fk.Workload.from_lengths([(8, 5), (8, 9)])
        >>> scale = fk.input_scale_bracket(workload)
        >>> round(float(8 * scale.unstable), 2), round(float(8 * scale.stable), 2)
        (64.0, 65.0)
    """
    first = _is_stable(workload, Fraction(1))
    if first is None:
        return InputScale(None, None)
    search = _leapt if workload.longest_decode > HIGH_DEGREE else _stepped
    # stable? -> the factor nearest to the boundary so far
    verdicts = {first: Fraction(1)} | search(workload, first, reach)
    while len(verdicts) == 2 and verdicts[True] / verdicts[False] > 1 + resolution:
        middle = Fraction((verdicts[True] + verdicts[False]) / 2)
        now = _is_stable(workload, middle)
        if now is None:
            break
        verdicts[now] = middle
    return InputScale(stable=verdicts.get(True), unstable=verdicts.get(False))


def _stepped(workload: Workload, first: bool, reach: int) -> dict[bool, Fraction]:
    """Factors of either verdict, by powers of two one after the other."""
    step, verdicts = Fraction(1, 2) if first else Fraction(2), {}
    for power in range(1, reach + 1):
        now = _is_stable(workload, step**power)
        if now is None:
            break
        verdicts[now] = step**power
        if now != first:
            break
    return verdicts


def _leapt(workload: Workload, first: bool, reach: int) -> dict[bool, Fraction]:
    """Likewise, the furthest power first, then by halves; what is undecided is not come back to."""
    step, verdicts = Fraction(1, 2) if first else Fraction(2), {}
    near, far, power = 0, reach + 1, reach  # as at first; not so, or not looked at
    while far - near > 1:
        now = _is_stable(workload, step**power)
        if now is not None:
            verdicts[now] = step**power
        near, far = (power, far) if now == first else (near, power)
        power = (near + far) // 2
    return verdicts


def _is_stable(workload: Workload, factor: Fraction) -> bool | None:
    count = count_unstable(survival_weights(workload, input_scale=factor))
    if count.outside is None:
        return None
    if count.outside == 0 and count.on_circle:
        return None
    return count.outside == 0


def judged(certificate: SpectralCertificate) -> tuple[Stability, str]:
    outside, on_circle = certificate.outside, certificate.on_circle
    if outside is None or on_circle is None:
        if certificate.radius[0] > 1:
            return Stability.UNSTABLE, f"at least one of {certificate.degree} modes grows"
        return Stability.UNDECIDED, "a root is too near the unit circle to place it on either side"
    if outside > 0:
        return (
            Stability.UNSTABLE,
            f"{outside} of {certificate.degree} modes {'grows' if outside == 1 else 'grow'}",
        )
    if on_circle > 0:
        return (
            Stability.UNDECIDED,
            f"modes exactly on the unit circle, which neither grow nor decay: {on_circle}",
        )
    if certificate.degree == 0:
        return Stability.STABLE, "requests last one iteration: there are no modes"
    return Stability.STABLE, f"all {certificate.degree} modes decay"
