"""States of the page for the papers' figures, and why the other figures have none."""

from dataclasses import dataclass

from fluidkv.explore.state import Lengths, PageState
from fluidkv.record import Record


@dataclass(frozen=True)
class Preset(Record):
    """A figure's system in the page.

    Fields:
        name: as `--preset` takes it.
        figure: of the paper Congestion, as it is called there.
        figures: ids of our figures, as `fluidkv figure` takes them; none where ours has none.
        finding: what there is to see.
        claims: ids of the ledger, as `fluidkv verify` takes them.
        state: what the page opens with.
    """

    name: str
    figure: str
    figures: tuple[str, ...]
    finding: str
    claims: tuple[str, ...]
    state: PageState

    @property
    def title(self) -> str:
        """What tells it apart from others of its figure: "outputs 2 and 4"."""
        assert isinstance(self.state.load, Lengths)
        *most, last = [str(length) for length, _ in self.state.load.outputs]
        lengths = f"{', '.join(most)} and {last}" if most else last
        return f"output{'s' if most else ''} {lengths}"


def _preset(
    name: str,
    numbers: str,
    finding: str,
    claims: str,
    state: tuple[int, tuple[tuple[int, int], ...], int, str, int],
    *,
    figures: str | None = None,
) -> Preset:
    """`numbers` of Congestion's figures; `claims` without the paper's name."""
    words = numbers.split()
    ids = [f"congestion_figure_{n}" for n in words] if figures is None else figures.split()
    plural = "s" if len(words) > 1 else ""
    input_length, outputs, capacity, start, iterations = state
    return Preset(
        name=name,
        figure=f"Figure{plural} {' and '.join(words)}",
        figures=tuple(ids),
        finding=finding,
        claims=tuple(f"congestion.{claim}" for claim in claims.split()),
        state=PageState(Lengths((input_length,), outputs), capacity, start, iterations),
    )


def _equal(*lengths: int) -> tuple[tuple[int, int], ...]:
    return tuple((length, 1) for length in lengths)


_PUSH = "over:25"
_NEAR, _SETTLES = "over:1", "empty"

PRESETS = (
    _preset(
        "figure-1",
        "1",
        "Equal requests end in the worst cycle: all complete together, and most of what is "
        "admitted in between is preempted. This is the lowest point of the figure.",
        "figure-1.ends theorem-2.3.basin",
        (2, _equal(12), 1000, _NEAR, 200),
    ),
    _preset(
        "figure-2a",
        "2",
        "Outputs of 2 and 3 tokens: a push of 25 % dies out within a few iterations.",
        "example-4.settles figure-2.a.finite-modulus",
        (50, _equal(2, 3), 518, _PUSH, 50),
    ),
    _preset(
        "figure-2b",
        "2",
        "Outputs of 2 and 4 tokens: the same push swings with period 2, grows, and ends in "
        "preemptions.",
        "example-5.grows figure-2.b.reaches-eviction",
        (50, _equal(2, 4), 626, _PUSH, 200),
    ),
    _preset(
        "figure-3",
        "3",
        "Outputs of 2 and 7 tokens at the input length that the paper prints as the first stable "
        "one: modes still grow, very slowly. From 18 tokens of input on they decay.",
        "figure-3.a.threshold figure-3.a.first-order",
        (15, _equal(2, 7), 900, _PUSH, 1000),
    ),
    _preset(
        "figure-6",
        "6 8",
        "Equal requests, half a request above the balance: the swing grows, then one stage after "
        "the other is lost, down to the worst cycle.",
        "figure-6.spread figure-8.evictions example-3.worst-cycle-begins",
        (2, _equal(3), 24, "list:2.5,2,1.7", 24),
    ),
    _preset(
        "figure-7",
        "7",
        "A cycle of four iterations with two stages empty. It is exact and unstable: with one more "
        "token of memory it falls to the worst cycle.",
        "example-6.closes definition.eviction-block.fixed-support",
        (2, _equal(4), 63, "list:17,3,0,0", 200),
    ),
    _preset(
        "figure-9",
        "9",
        "Four stages: five evictions, each at the figure's iteration, lead to the worst cycle.",
        "appendix-a1.l1-4.evictions appendix-a1.l1-4.settles",
        (2, _equal(4), 48, "over:18.75", 30),
    ),
    _preset(
        "figure-10a",
        "10",
        "Outputs of 2 and 3 tokens: both roots are inside the circle.",
        "example-8.pair figure-10.a.modulus",
        (10, _equal(2, 3), 118, _PUSH, 60),
    ),
    _preset(
        "figure-10b",
        "10",
        "Outputs of 2 and 4 tokens: the root that long inputs put at -1 is outside. Lengthen the "
        "input and it moves back towards -1, but never inside.",
        "example-8.places figure-10.b.drift figure-10.b.interior",
        (10, _equal(2, 4), 146, _PUSH, 120),
    ),
    _preset(
        "figure-11",
        "11",
        "Outputs of 2 and 3 tokens with one token of input: both roots lie exactly on the circle, "
        "where floating point cannot tell. With two tokens of input they are inside.",
        "figure-11.coprime-inside example-9.safety-margin",
        (1, _equal(2, 3), 28, _PUSH, 60),
    ),
    _preset(
        "figure-12",
        "12",
        "Long inputs, from an empty server: the first burst overshoots, one preemption frees far "
        "more than an iteration adds, and then it settles.",
        "figure-12.a.cleared figure-12.a.fraction",
        (100, _equal(2, 3), 1180, _SETTLES, 60),
    ),
    _preset(
        "figure-13",
        "13 14 15",
        "Near the balance nothing is preempted: one request too many is absorbed.",
        "example-11.decreases example-11.entry example-11.stays-inside",
        (10, _equal(2, 3), 118, _PUSH, 20),
    ),
    _preset(
        "figure-16a",
        "16",
        "Outputs of 4 and 7 tokens forget the burst that an empty server takes in.",
        "figure-16.lengths-4-7.locally-stable figure-16.lengths-4-7.converges",
        (40, _equal(4, 7), 239, _SETTLES, 400),
    ),
    _preset(
        "figure-16b",
        "16",
        "Outputs of 4 and 8 tokens keep the burst: they pulse and preempt for good.",
        "figure-16.lengths-4-8.oscillates",
        (40, _equal(4, 8), 263, _SETTLES, 400),
    ),
    _preset(
        "figure-17a",
        "17",
        "Outputs of 2, 7 and 12 tokens settle from an empty server.",
        "figure-17.lengths-2-7-12.locally-stable figure-17.lengths-2-7-12.converges",
        (30, _equal(2, 7, 12), 739, _SETTLES, 600),
    ),
    _preset(
        "figure-17b",
        "17",
        "Outputs of 2, 9 and 12 tokens settle too: no divisor is common to all three.",
        "figure-17.lengths-2-9-12.locally-stable figure-17.lengths-2-9-12.converges",
        (30, _equal(2, 9, 12), 816, _SETTLES, 600),
    ),
    _preset(
        "figure-17c",
        "17",
        "Outputs of 2, 8 and 12 tokens are all even: they pulse and preempt for good.",
        "figure-17.lengths-2-8-12.oscillates",
        (30, _equal(2, 8, 12), 777, _SETTLES, 600),
    ),
    _preset(
        "figure-18a",
        "18 20",
        "One of two servers that serve half of the lengths each: outputs of 6 and 10 pulse.",
        "figure-20.closes-the-gap",
        (30, _equal(6, 10), 600, _SETTLES, 720),
    ),
    _preset(
        "figure-18b",
        "18 20",
        "The other server: outputs of 9 and 15, which have the divisor 3, pulse.",
        "figure-20.closes-the-gap",
        (30, _equal(9, 15), 600, _SETTLES, 720),
    ),
    _preset(
        "figure-18c",
        "18 20",
        "The same four lengths mixed on one server settle.",
        "figure-18.mixed-stable figure-20.closes-the-gap",
        (30, _equal(6, 9, 10, 15), 600, _SETTLES, 720),
    ),
    _preset(
        "figure-21a",
        "21 20",
        "Outputs of 20 and 40 tokens: requests are preempted in 19 of every 20 iterations, most of "
        "them right after the one without.",
        "figure-21.periodic-eviction",
        (30, _equal(20, 40), 1000, _SETTLES, 800),
    ),
    _preset(
        "figure-21b",
        "21 20",
        "Outputs of 25 and 50 tokens: requests are preempted in 24 of every 25 iterations, most of "
        "them right after the one without.",
        "figure-21.periodic-eviction",
        (30, _equal(25, 50), 1000, _SETTLES, 800),
    ),
    _preset(
        "figure-21c",
        "21 20",
        "All four mixed, with the divisor 5 left: less preemption, and not none.",
        "figure-21.less figure-20.closes-the-gap.partial",
        (30, _equal(20, 25, 40, 50), 1000, _SETTLES, 800),
    ),
    _preset(
        "figure-22a",
        "22",
        "Outputs of 50 and 75 tokens, as masses in the memory of the figure's A100.",
        "table-6.fewer-evictions",
        (512, _equal(50, 75), 483_328, _SETTLES, 800),
    ),
    _preset(
        "figure-22b",
        "22",
        "Outputs of 77 and 84 tokens, as masses in the memory of the figure's A100.",
        "table-6.fewer-evictions",
        (512, _equal(77, 84), 483_328, _SETTLES, 800),
    ),
    _preset(
        "figure-22c",
        "22",
        "The pool of all four: no common divisor, and modes grow at this input length all the "
        "same; the paper has it stable.",
        "table-6.mixed-stable table-6.fewer-evictions",
        (512, _equal(50, 75, 77, 84), 483_328, _SETTLES, 800),
    ),
    _preset(
        "figure-23a",
        "23",
        "Outputs of 100 and 200 tokens, as masses in the memory of the figure's A100.",
        "table-7.fewer-evictions",
        (512, _equal(100, 200), 483_328, _SETTLES, 1000),
    ),
    _preset(
        "figure-23b",
        "23",
        "Outputs of 125 and 250 tokens, as masses in the memory of the figure's A100.",
        "table-7.fewer-evictions",
        (512, _equal(125, 250), 483_328, _SETTLES, 1000),
    ),
    _preset(
        "figure-23c",
        "23",
        "The pool of all four, with the divisor 25 left: it loses less throughput than either "
        "part, and pulses for good.",
        "figure-23.grows-slower table-7.fewer-evictions",
        (512, _equal(100, 125, 200, 250), 483_328, _SETTLES, 1000),
    ),
    _preset(
        "figure-24a",
        "24",
        "Outputs of 4 and 7 tokens, all requests there from the start: the burst spreads out.",
        "figure-24.common-divisor.all-at-once",
        (512, _equal(4, 7), 483_328, _SETTLES, 140),
    ),
    _preset(
        "figure-24b",
        "24",
        "Outputs of 4 and 8 tokens keep the burst that they start with.",
        "figure-24.common-divisor.all-at-once",
        (512, _equal(4, 8), 483_328, _SETTLES, 140),
    ),
    _preset(
        "figure-27a",
        "27",
        "Outputs of 5 and 10 tokens: requests are preempted in 4 of every 5 iterations; the figure "
        "is of a GPU, this is the same mix as masses, with inputs of 300.",
        "figure-27.segregated",
        (300, _equal(5, 10), 40_000, _SETTLES, 400),
        figures="",
    ),
    _preset(
        "figure-27b",
        "27",
        "Outputs of 6 and 12 tokens: requests are preempted in 5 of every 6 iterations.",
        "figure-27.segregated",
        (300, _equal(6, 12), 40_000, _SETTLES, 400),
        figures="",
    ),
    _preset(
        "figure-27c",
        "27",
        "The four lengths together settle: nothing is preempted in the last half.",
        "figure-27.mixed",
        (300, _equal(5, 6, 10, 12), 40_000, _SETTLES, 1000),
        figures="",
    ),
)

NAMED = {preset.name: preset for preset in PRESETS}

_RANDOM = "requests come at random; the page has a queue that never empties"
_CAP = "admission is capped; the page admits whatever fits"
_BURSTS = "arrivals come in bursts; the page has a queue that never empties"

WITHOUT = {
    "4": _RANDOM,
    "5": "a cap on admission on Vidur's machine; the page admits whatever fits",
    "19": _RANDOM,
    "25": "measured on a GPU; its lengths are beyond what a run draws iteration by iteration",
    "26": "measured on a GPU; its lengths are beyond what a run draws iteration by iteration",
    "28": _CAP,
    "29": _CAP,
    **dict.fromkeys(("30", "31", "32", "33", "34"), _BURSTS),
}
"""Figures of Congestion that no state of the page stands for, and why."""

OTHER_PAPERS = {
    "wait": "WAIT holds requests back until a batch of them is full: another admission",
    "routing": "what moves is a prefix cache and a router, not the masses of one batch",
    "cacheopt": "a scheduler with predicted lengths and two pools, run request by request",
    "tokenpd": "single cached tokens are priced; no request is evicted",
    "vllm": "logs of servers and their replays, with arrivals and a clock",
    "measured": "logs of servers, with arrivals and a clock",
}
"""Papers whose figures have no such state, and why."""
