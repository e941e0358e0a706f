"""Is a full server stable, whatever its requests hold: the certificate, from the mean footprint.

A server that admits as much as fits keeps sum over requests of phi = M in every iteration. Requests
admitted at n are u_n, so that A * u = M with A = E P, which is linear: its modes are the roots of
z^(d-1) A(1/z), and the equilibrium is stable if and only if all zeros of A lie outside the closed
unit disc. With phi(j) = l0 + 1 + j this is `fluidkv.stability`, by the same certificates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import judged
from fluidkv.exact.modes import GrowingModes, growing_modes
from fluidkv.exact.roots.spectrum import SpectralCertificate, certify_spectrum
from fluidkv.exact.survival import Equilibrium, SurvivalWeights
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.second_moments import mean_weights
from fluidkv.record import Record
from fluidkv.verdict import Evidence, Stability


@dataclass(frozen=True)
class FullServer(Record):
    """A server whose memory is full, and what its requests hold.

    Args:
        footprint: of the requests that it admits.
        capacity: M, tokens; a positive integer or rational above what any request ever holds.

    Raises:
        InputError: a capacity that one request may exceed.

    Examples:
        >>> server = fk.FullServer(fk.RequestFootprint(2, 3), capacity=24)
        >>> server.largest
        Fraction(5, 1)
    """

    footprint: Footprint
    capacity: Fraction

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, footprint: Footprint, capacity: Fraction | int) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", Fraction(self.capacity))
        if not self.capacity > self.largest:
            allowed = f"more than {self.largest} tokens, the most that a request holds"
            raise InputError("capacity", self.capacity, allowed)

    @property
    def largest(self) -> Fraction:
        """The most that a request ever holds, tokens."""
        return max(growth.largest for _, growth in self.footprint.growths)


@dataclass(frozen=True)
class FootprintStability(Record):
    """Linear stability of a full server.

    Fields:
        server: what was asked about.
        verdict: stable (asymptotically), unstable, or undecided.
        reason: one line, readable without the rest.
        equilibrium: u = M / A(1) admitted an iteration and R = u B(1) running, exact.
        weights: A and B.
        certificate: where the roots lie, and what proves it.

    Examples:
        >>> found = fk.footprint_stability(fk.FullServer(fk.RequestFootprint(2, 3), capacity=24))
        >>> print(found.reason)
        2 of 2 modes grow
        >>> str(found.equilibrium.rate), found.unstable_modes, len(found.modes.modes)
        ('2', 2, 1)
    """

    server: FullServer
    verdict: Stability
    reason: str
    equilibrium: Equilibrium
    weights: SurvivalWeights
    certificate: SpectralCertificate

    @property
    def evidence(self) -> Evidence:
        return self.certificate.evidence

    @property
    def spectral_radius(self) -> tuple[float, float]:
        """(low, high) around the growth of the leading mode, max |z|."""
        return self.certificate.radius

    @property
    def unstable_modes(self) -> int | None:
        """Modes that grow, with multiplicity; None if undecided."""
        return self.certificate.outside

    @property
    def modes(self) -> GrowingModes:
        """Those that grow, each in a ball."""
        return growing_modes(self.weights, self.certificate)


def footprint_stability(server: FullServer) -> FootprintStability:
    """Certify the stability of a full server from what its requests hold.

    Examples:
        >>> drafts = fk.Speculation(3, Fraction(3, 10))
        >>> plain = fk.RequestFootprint(100, 24)
        >>> cured = fk.RequestFootprint(100, 24, speculation=drafts)
        >>> [str(fk.footprint_stability(fk.FullServer(f, 10**5)).verdict) for f in (plain, cured)]
        ['unstable', 'stable']
    """
    weights = mean_weights(server.footprint)
    certificate = certify_spectrum(weights)
    verdict, reason = judged(certificate)
    rate = server.capacity / weights.lifetime_memory
    return FootprintStability(
        server=server,
        verdict=verdict,
        reason=reason,
        equilibrium=Equilibrium(rate=rate, in_flight=rate * weights.mean_lifetime),
        weights=weights,
        certificate=certificate,
    )


@dataclass(frozen=True)
class FootprintBoundary(Record):
    """Two values of a parameter of footprints, the verdict certified at each of them.

    Fields:
        unstable, stable: the nearest to each other that were looked at.
        undecided: a value between them with a root exactly on the circle, where the search ended;
            None: it ended within its width.

    Examples:
        >>> from fluidkv.footprints import SlidingWindow
        >>> def windowed(tokens):
        ...     return fk.RequestFootprint(20, 60, attention=SlidingWindow(tokens))
        ...
        >>> found = fk.footprint_boundary(windowed, 1, 200)
        >>> [int(value) for value in (found.stable, found.undecided, found.unstable)]
        [20, 21, 22]
    """

    unstable: Fraction
    stable: Fraction
    undecided: Fraction | None


def footprint_boundary(
    footprint: Callable[[Any], Footprint],
    low: Fraction | int,
    high: Fraction | int,
    *,
    width: Fraction = Fraction(1, 64),
) -> FootprintBoundary:
    """Where stability begins or ends along any parameter of what requests hold.

    Bisection: where the verdict changes more than once between the ends, one of the changes.

    Args:
        footprint: of a value of the parameter: an acceptance rate, a window, a chunk, a share of
            layers. Between whole ends it is called with whole numbers alone, with fractions else.
        low, high: values with different verdicts.
        width: distance of fractions to stop at; whole numbers stop at neighbours.

    Raises:
        InputError: the same verdict at both ends, one that is undecided, or a width of 0 or less.

    Examples:
        >>> def drafts(acceptance):
        ...     return fk.RequestFootprint(100, 24, speculation=fk.Speculation(3, acceptance))
        ...
        >>> found = fk.footprint_boundary(drafts, Fraction(0), Fraction(1, 2))
        >>> [str(value) for value in (found.unstable, found.stable)]
        ['15/64', '1/4']
    """
    if not width > 0:
        raise InputError("width", width, "a number above 0")
    whole = isinstance(low, int) and isinstance(high, int)
    at: dict[Stability, Fraction | int] = {}
    for name, end in (("low", low), ("high", high)):
        verdict = _verdict(footprint(end))
        if verdict is Stability.UNDECIDED:
            raise InputError(name, end, "a value whose verdict is not undecided")
        if verdict in at:
            raise InputError(name, end, f"another verdict than at {low}, {verdict}")
        at[verdict] = end
    undecided = None
    while abs(at[Stability.STABLE] - at[Stability.UNSTABLE]) > (1 if whole else width):
        total = at[Stability.STABLE] + at[Stability.UNSTABLE]
        middle = total // 2 if whole else Fraction(total, 2)
        verdict = _verdict(footprint(middle))
        if verdict is Stability.UNDECIDED:
            undecided = Fraction(middle)
            break
        at[verdict] = middle
    ends = Fraction(at[Stability.UNSTABLE]), Fraction(at[Stability.STABLE])
    return FootprintBoundary(*ends, undecided)


def _verdict(footprint: Footprint) -> Stability:
    return judged(certify_spectrum(mean_weights(footprint)))[0]
