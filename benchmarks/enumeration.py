"""Every equilibrium of a decode length of 16, each verified by running the map once round.

    python -m benchmarks.enumeration

`equilibria` lists the gap vectors up to rotation and builds every state from closed forms;
`verify_cycle` runs the map on exact integers. The peer is the literal model in rationals, run once
round on every sixteenth cycle; both are timed a cycle. The peer for the listing alone filters all
compositions of l1, which is what a list of gap vectors up to rotation costs without necklaces.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

from benchmarks.report import load
from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cycles import Cycle
from fluidkv.exact.one_class.cycles_verified import verify_cycle
from fluidkv.exact.one_class.equilibria import Equilibria, equilibria
from fluidkv.exact.one_class.gaps import canonical_gaps, gap_vectors
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import Times, times
from fluidkv.workload import RequestClass, System, Workload

INPUT, DECODE = 5, 16
_EVERY = 16  # cycle that the literal model walks


@dataclass(frozen=True)
class EnumerationTiming:
    """Times of one decode length.

    Fields:
        cycles: how many there are.
        listing, building, verifying: gap vectors alone; with all states; running each once round.
        compositions: gap vectors by filtering.
        literal: running each cycle of the sample once round in the literal model.
        sample: how many cycles that is.
    """

    cycles: int
    listing: Times
    building: Times
    verifying: Times
    compositions: Times
    literal: Times
    sample: int

    @property
    def verified_ratio(self) -> float:
        """Literal over verified, a cycle."""
        return (self.literal.best / self.sample) / (self.verifying.best / self.cycles)


def run() -> EnumerationTiming:
    system = System(Workload((RequestClass(INPUT, DECODE),)), Fraction(1000))
    found = equilibria(system)
    sample = found.cycles[::_EVERY]
    if set(gap_vectors(DECODE)) != _filtered() or not _all_verified(found):
        raise RuntimeError("the list of cycles, or one of them, is wrong")
    if not all(_closes_literally(cycle) for cycle in sample):
        raise RuntimeError("the literal model does not confirm a cycle")
    return EnumerationTiming(
        cycles=len(found.cycles),
        listing=times(lambda: list(gap_vectors(DECODE)), calls=7),
        building=times(lambda: equilibria(system), calls=5),
        verifying=times(lambda: _all_verified(found), calls=5),
        compositions=times(_filtered, calls=3),
        literal=times(lambda: all(map(_closes_literally, sample)), calls=3, warm_up=0),
        sample=len(sample),
    )


def _all_verified(found: Equilibria) -> bool:
    return all(verify_cycle(found.system, cycle) for cycle in found.cycles)


def _closes_literally(cycle: Cycle) -> bool:
    once_round = pairwise([*cycle.states, cycle.states[0]])
    return all(iterate(cycle.system, [a]).state == [list(b)] for a, b in once_round)


def _filtered() -> set[tuple[int, ...]]:
    """Gap vectors up to rotation, out of all 2^(l1-1) compositions."""
    found = set()
    for cuts in product((False, True), repeat=DECODE - 1):
        ends = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), DECODE]
        found.add(canonical_gaps([b - a for a, b in pairwise(ends)]))
    return found


def report() -> str:
    """The table in Markdown."""
    t = run()
    rows = [
        ["gap vectors, as necklaces", *_row(t.listing, t.cycles), ""],
        ["gap vectors, by filtering", *_row(t.compositions, t.cycles), _ratio(t)],
        ["with all states", *_row(t.building, t.cycles), ""],
        ["verified, exact integers", *_row(t.verifying, t.cycles), ""],
        [
            f"verified, literal model, {t.sample} of them",
            *_row(t.literal, t.sample),
            f"{t.verified_ratio:.0f} x verified",
        ],
    ]
    whole = seconds(t.building.median + t.verifying.median)
    return "\n".join(
        [
            "## Enumeration",
            "",
            f"All {t.cycles:,} balanced cycles for l0 = {INPUT}, l1 = {DECODE}: listed, built and"
            f" verified in {whole} (medians).",
            "",
            table(["step", "best", "median", "a cycle", "ratio"], rows),
            "",
            f"Load at the end: {load()}.",
        ]
    )


def _row(found: Times, cycles: int) -> list[str]:
    return [seconds(found.best), seconds(found.median), seconds(found.best / cycles)]


def _ratio(t: EnumerationTiming) -> str:
    return f"{t.compositions.best / t.listing.best:.0f} x necklaces"


if __name__ == "__main__":
    print(report())
