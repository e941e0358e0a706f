"""Congestion, Figures 21 and 25 to 27, of nodes that always have requests waiting, in masses.

Figure 21 is the paper's own model; 25 to 27 are runs of SGLang on a GPU whose capacity is not
printed. In the model it does not enter: what is asked is whether evictions come back, at which
period, and which modes grow at the printed lengths.
"""

from fractions import Fraction

from fluidkv import exact
from fluidkv.exact import roots
from fluidkv.ledger import Evidence, Finding, Origin, Verdict
from fluidkv_papers.congestion.experiments.nodes import Lengths, flows, period
from fluidkv_papers.congestion.paper import statements

_COPRIME, _COMMON, _INPUT = (1000, 1211), (1000, 1200), 5000
_HALF = Fraction(1, 2)

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)
FIGURE_26 = CLAIMS.section("figure-26", "Figure 26", origin=Origin.READING, evidence=Evidence.BALL)


def _repeats(nodes: tuple[tuple[Lengths, int], ...], input_length: int, paper: str) -> Finding:
    """Whether each node evicts, and admits, again and again at its period."""
    bad, shown = None, []
    for lengths, expected in nodes:
        longest = max(lengths)
        late = [flow[-3 * longest :] for flow in flows(lengths, input_length, 60 * longest)]
        found = [period(flow, longest) for flow in late]
        evicting = int((late[1] > 0).sum())
        shown.append(
            f"{lengths}: period {found[1]}, evicts in {evicting} of {3 * longest} iterations"
        )
        if found != [expected, expected] or evicting == 0:
            bad = bad or shown[-1]
    return Finding(bad, "; ".join(shown), paper=paper)


@CLAIMS.claim("figure-21.periodic-eviction", "Figure 21, caption")
def _segregated() -> Finding:
    """The segregated nodes evict periodically, every 20 and every 25 iterations.

    Checked: endless queue from an empty server, the last 3 of 60 lifetimes"""
    nodes = (((20, 40), 20), ((25, 50), 25))
    return _repeats(nodes, 30, "high GCDs and severe periodic eviction")


@CLAIMS.claim("figure-21.less", "Figure 21, caption")
def _cuts() -> Finding:
    """Mixing all four classes cuts eviction pressure.

    Checked: endless queue from an empty server, the last 6 of 60 lifetimes
    Paper: cuts eviction pressure
    Note: Evicted in units of x* of each node."""
    late = [
        flows(lengths, 30, 60 * max(lengths))[1][-300:].sum()
        for lengths in ((20, 40), (25, 50), (20, 25, 40, 50))
    ]
    less = 1 - 2 * late[2] / (late[0] + late[1])
    return Finding(
        less > 0 or f"{-less:.1%} more",
        f"{less:.1%} less evicted, for what the nodes and the pool could complete",
    )


@CLAIMS.claim("figure-25.cycle", "Figure 25, caption")
def _one_length() -> Finding:
    """With inputs of 5000 and outputs of 1000 evictions come back, and admissions with them.

    Checked: masses, endless queue from an empty server, the last 3 of 60 lifetimes"""
    paper = "memory saturates, evicts and drops; admissions mirror the same cycle"
    return _repeats((((1000,), 1000),), _INPUT, paper)


@CLAIMS.claim("figure-27.segregated", "Figure 27, caption")
def _bursts() -> Finding:
    """Lengths 5 and 10, and 6 and 12, evict in bursts at fixed intervals.

    Checked: masses, inputs of 300, endless queue from an empty server, the last 3 of 60 lifetimes
    """
    return _repeats((((5, 10), 5), ((6, 12), 6)), 300, "recurring eviction bursts")


@CLAIMS.claim("figure-27.mixed", "Figure 27, caption")
def _no_bursts() -> Finding:
    """Lengths 5, 6, 10 and 12 together do not.

    Checked: masses, inputs of 300, endless queue from an empty server, after 2,000 iterations
    Paper: eliminates the periodic pattern"""
    late = flows((5, 6, 10, 12), 300, 4000)[1][2000:]
    return Finding(
        not late.any() or f"{late.max():.2g} x* evicted in an iteration",
        f"{int((late > 0).sum())} of {len(late)} iterations evict",
    )


def _spectrum(lengths: tuple[int, int]) -> "roots.spectrum.SpectralCertificate":
    return exact.certify_spectrum(exact.two_lengths(*lengths, _HALF).weights(_INPUT))


@FIGURE_26.fails("coprime-stable", ", with section 5.3 taken for this input")
def _stable() -> Finding:
    """Lengths 1000 and 1211, which are coprime, have a stable equilibrium at inputs of 5000.

    Checked: equal shares
    Paper: the coprime pair
    Note: The paper shows a run and does not say that it is stable.
    Holds: figure-26.stable-from"""
    found = _spectrum(_COPRIME)
    if found.outside is None:
        return Finding(Verdict.UNDECIDED, "not counted", evidence=found.evidence)
    return Finding(
        f"{found.outside} modes grow, by up to {found.radius[0]:.6f}" if found.outside else None,
        f"growing modes: {found.outside}, spectral radius {found.radius[0]:.7f}",
        evidence=found.evidence,
    )


@FIGURE_26.claim("growing-modes", "; not stated there")
def _growing() -> Finding:
    """At inputs of 5000 the coprime pair has 430 growing modes, lengths 1000 and 1200 have 599.

    Checked: equal shares
    Paper: not stated"""
    found = tuple(_spectrum(lengths).outside for lengths in (_COPRIME, _COMMON))
    return Finding(found == (430, 599), f"{found[0]} and {found[1]}")


@FIGURE_26.claim("stable-from", "; not stated there")
def _stable_from() -> Finding:
    """Lengths 1000 and 1211 are stable from inputs of 273,782,107 on, and not one below.

    Checked: equal shares, every input
    Paper: inputs of 5,000"""
    found = exact.input_threshold(exact.two_lengths(*_COPRIME, _HALF))
    return Finding(
        found.least == found.at_most == 273_782_107,
        f"{found.least:,}" if found.least else str(found.status),
    )


@FIGURE_26.claim("stronger", ", caption, read as growth near the equilibrium")
def _stronger() -> Finding:
    """The leading mode of the non-coprime pair grows faster than that of the coprime one.

    Checked: equal shares, inputs of 5000
    Paper: stronger synchronized memory pressure
    Note: By a ten-millionth per iteration: near the equilibrium the pairs are alike."""
    coprime, common = (_spectrum(lengths).radius for lengths in (_COPRIME, _COMMON))
    faster, slower = common[0] > coprime[1], common[1] < coprime[0]
    found = Verdict.HOLDS if faster else Verdict.FAILS if slower else Verdict.UNDECIDED
    return Finding(found, f"{common[0]:.9f} against {coprime[1]:.9f}")
