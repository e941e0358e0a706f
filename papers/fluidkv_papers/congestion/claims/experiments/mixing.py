"""Congestion, sections 5.2 and 6.2: is the eviction-free equilibrium of each node stable.

Tables 1, 2 and 4 to 7 and Figures 18 and 21 to 23 route classes to two nodes, a few to each or all
to both. The tables come from Vidur, a GPU and a simulator; what is certified here is the
equilibrium of the saturated model at their lengths, equal shares and common input. Capacity does
not enter. Growth near the equilibrium says nothing of how large a cycle becomes.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from fluidkv.exact import routing
from fluidkv.ledger import Evidence, Finding, Origin, Outcome, Verdict, equals
from fluidkv.verdict import Stability
from fluidkv.workload import RequestClass, Workload
from fluidkv_papers.congestion.paper import statements

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """One comparison of a table: the decode lengths of the two segregated nodes."""

    table: str
    nodes: tuple[Lengths, Lengths]
    input_length: int

    @property
    def pool(self) -> str:
        return _braces(tuple(sorted(n for node in self.nodes for n in node)))


_TABLE_1 = Comparison("Table 1", ((20,), (21,)), 512)
_TABLE_1_PARTIAL = Comparison("Table 1", ((100,), (125,)), 512)
_TABLE_2 = Comparison("Table 2", ((5, 10), (6, 12)), 300)
_TABLE_4 = Comparison("Table 4", ((6, 10), (9, 15)), 30)
_TABLE_5 = Comparison("Table 5", ((20, 40), (25, 50)), 30)
_TABLE_6 = Comparison("Table 6", ((50, 75), (77, 84)), 512)
_TABLE_7 = Comparison("Table 7", ((100, 200), (125, 250)), 512)

_ALL = (_TABLE_1, _TABLE_1_PARTIAL, _TABLE_2, _TABLE_4, _TABLE_5, _TABLE_6, _TABLE_7)
_PARTIAL = (_TABLE_1_PARTIAL, _TABLE_5, _TABLE_7)
_WEAKENS = "weakens synchronization"
_NOT_CLAIMED = (
    "The paper says that its coprime criterion is for long inputs and that mixing helps short of "
    "it; it does not say whether this input is long enough. Few evictions in a run of 20,000 "
    "requests are no contradiction: near the equilibrium a perturbation takes {tenfold:,.0f} "
    "iterations to grow tenfold."
)

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.BALL)
EXACTLY = CLAIMS.section(evidence=Evidence.EXACT)


@cache
def _nodes(
    case: Comparison,
) -> "tuple[routing.mixing.RoutedNode, routing.mixing.RoutedNode, routing.mixing.RoutedNode]":
    """The two segregated nodes, and one of the two mixed ones, which are alike."""

    lengths = [n for node in case.nodes for n in node]
    share = Fraction(1, len(lengths))
    workload = Workload(tuple(RequestClass(case.input_length, n, share) for n in lengths))
    first = len(case.nodes[0])
    groups = [range(first), range(first, len(lengths))]
    apart = routing.mixing.partitioned(workload, groups).nodes
    return apart[0], apart[1], routing.mixing.all_mixed(workload, 2).nodes[0]


def _evidence(*cases: Comparison) -> Evidence:
    found = [node.certificate.evidence for case in cases for node in _nodes(case)]
    return Evidence.BALL if Evidence.BALL in found else Evidence.EXACT


def _certified(
    bad: str | None, shown: str, paper: str, note: str = "", *cases: Comparison
) -> Finding:
    """Known as well as the certificates of these comparisons."""
    return Finding(bad, shown, paper, note, _evidence(*cases))


@EXACTLY.claim("section-6-2.divisors", "Tables 1, 2 and 4 to 7", origin=Origin.PRINTED)
def _divisors() -> Outcome:
    """The greatest common divisors of the nodes in Tables 1, 2 and 4 to 7 are those stated.

    Checked: two segregated nodes and the mixed one of each comparison, in this order"""
    found = [node.decode_gcd for case in _ALL for node in _nodes(case)]
    return equals(found, "20,21,1, 100,125,25, 5,6,1, 2,3,1, 20,25,5, 25,7,1, 100,125,25")


@CLAIMS.claim("section-6-2.segregated-unstable", "section 6.2 and Appendix D.2", kind="table")
def _apart() -> Finding:
    """Every segregated node of these tables has an unstable equilibrium.

    Checked: the 14 nodes, equal shares"""
    bad, shown = None, []
    for case in _ALL:
        for lengths, node in zip(case.nodes, _nodes(case), strict=False):
            if node.stability is not Stability.UNSTABLE:
                bad = bad or f"{_braces(lengths)}, inputs of {case.input_length}"
            shown.append(f"{_braces(lengths)} {node.certificate.outside}")
    paper = "periodic eviction on every segregated node"
    return _certified(bad, "growing modes: " + ", ".join(shown), paper, "", *_ALL)


_STABILIZE = "mixtures of coprime lengths stabilize; nearly no evictions"


@CLAIMS.fails(
    "table-6.mixed-stable",
    "Table 6 and Figure 22, with section 5.3 taken for this input",
    "Mixing 50, 75, 77 and 84, which are coprime, makes the equilibrium stable at inputs of 512.",
    given=(_TABLE_6, "removes the periodic overflow; effective GCD = 1"),
)
@EXACTLY.claim(
    "figure-18.mixed-stable",
    "Figure 18 and Table 4",
    "Mixing 6, 9, 10 and 15 makes the equilibrium stable at inputs of 30.",
    origin=Origin.PRINTED,
    given=(_TABLE_4, "converges to an eviction-free equilibrium"),
)
@EXACTLY.claim(
    "table-2.mixed-stable",
    "Table 2, with section 5.3 taken for this input",
    "Mixing 5, 6, 10 and 12 makes the equilibrium stable at inputs of 300.",
    given=(_TABLE_2, _STABILIZE),
)
@EXACTLY.fails(
    "table-1.mixed-stable",
    "Table 1, with section 5.3 taken for this input",
    "Mixing 20 and 21, which are coprime, makes the equilibrium stable at inputs of 512.",
    given=(_TABLE_1, _STABILIZE),
)
def _pool(case: Comparison, paper: str) -> Finding:
    """Whether the mixed node of a coprime comparison is stable."""
    node = _nodes(case)[2]
    growing, (low, high) = node.certificate.outside, node.certificate.radius
    if node.stability is Stability.UNDECIDED:
        return Finding(Verdict.UNDECIDED, "not decided", paper, evidence=node.certificate.evidence)
    stable = node.stability is Stability.STABLE
    return Finding(
        stable or f"{case.pool}, inputs of {case.input_length}",
        f"growing modes: {growing}, spectral radius {(low + high) / 2:.6f}",
        paper,
        "" if stable else _NOT_CLAIMED.format(tenfold=math.log(10) / math.log(low)),
        node.certificate.evidence,
    )


@CLAIMS.claim("section-6-2.divisor-left", "Tables 1, 5 and 7")
def _divisor_left() -> Finding:
    """Where mixing leaves a common divisor g above 1, at least g - 1 modes still grow.

    Checked: the three mixed nodes"""
    bad, shown = None, []
    for case in _PARTIAL:
        node = _nodes(case)[2]
        growing, g = node.certificate.outside, node.decode_gcd
        if growing is None or growing < g - 1:
            bad = bad or f"{case.pool}: {growing}"
        shown.append(f"{case.pool} {growing} (g - 1 = {g - 1})")
    return _certified(
        bad,
        "growing modes: " + ", ".join(shown),
        "mixing does not eliminate common periodicity",
        "Table 5 has more than g - 1: its inputs are short.",
        *_PARTIAL,
    )


@CLAIMS.fails(
    "figure-23.grows-slower", "Figure 23 and section 6.2, read as growth near the equilibrium"
)
def _grows_slower() -> Finding:
    """Mixing that lowers the divisor weakens synchronization: the leading mode grows more slowly
    than on either segregated node.

    Checked: Tables 1, 5 and 7"""
    # The leading mode of the mixed node against those of the two segregated ones, in balls.
    bad, shown, between = None, [], 0
    for case in _PARTIAL:
        *apart, pool = (node.certificate.radius for node in _nodes(case))
        slowest, fastest = min(apart), max(apart)
        if slowest[0] <= pool[1] and pool[0] <= slowest[1]:
            return Finding(Verdict.UNDECIDED, case.table, _WEAKENS)
        if pool[0] > slowest[1]:
            bad = bad or f"{case.pool} grows by {pool[0]:.6f}, a node by {slowest[0]:.6f}"
            between += pool[1] < fastest[0]
        shown.append(f"{case.table}: " + ", ".join(f"{low:.6f}" for low, _ in (*apart, pool)))
    return Finding(
        bad,
        "spectral radius of node 1, node 2, mixed: " + "; ".join(shown),
        paper=_WEAKENS,
        note=f"Mixed lies between the two nodes in {between} of {len(_PARTIAL)}. This is one "
        "reading of the words; the size of the cycles is another.",
    )


@CLAIMS.fails("table-5.fewer-modes", "Table 5 and section 6.2, read as a count of modes")
def _fewer_modes() -> Finding:
    """Mixing that lowers the divisor desynchronizes in part: fewer modes grow than on either
    segregated node.

    Checked: Tables 1, 5 and 7"""
    bad, shown = None, []
    for case in _PARTIAL:
        *apart, pool = (node.certificate.outside or 0 for node in _nodes(case))
        if not pool < min(apart):
            bad = bad or f"{case.pool}, inputs of {case.input_length}: {pool} of {apart}"
        shown.append(f"{case.table}: " + ", ".join(map(str, (*apart, pool))))
    return _certified(
        bad,
        "growing modes of node 1, node 2, mixed: " + "; ".join(shown),
        "partial desynchronization",
        "In Tables 1 and 7 far fewer; in Table 5 as many as on its first node.",
        *_PARTIAL,
    )


def _braces(lengths: Lengths) -> str:
    return "{" + ", ".join(map(str, lengths)) + "}"
