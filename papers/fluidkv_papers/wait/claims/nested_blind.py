"""WAIT, Proposition 5: what no policy reaches while it cannot foresee outputs.

Bounds on the best of all policies that are blind to outputs, whatever they remember, proved in
integers (`fluidkv.wait.theory.best_blind`). In them work never runs out: no policy on a server
whose prompts come at random has more. The proof's lengths are lost, and given back as in
Proposition 3: one prompt of each type at each stage.
"""

from fractions import Fraction
from itertools import product

from fluidkv import wait
from fluidkv.ledger import Finding, Origin, decimal
from fluidkv_papers.wait.instances.systems import proposition_3
from fluidkv_papers.wait.paper import statements

CLAIMS = statements()

_MEMORY, _FLUID = 9, 3
_CLOCKS = {  # d0 as a part of tau* = 1 -> the certificate's price (any gives a bound), tokens above
    Fraction(1): (Fraction(1, 4), 1),
    Fraction(1, 2): (Fraction(3, 20), 1),
    Fraction(1, 10): (Fraction(3, 10), 2),
}


def _at(base: Fraction) -> None:
    """The two claims at one clock: d0 + 9 d1 = tau* = 1, the paper gives none."""
    price, more = _CLOCKS[base]
    clock = f"clock-{base.numerator}-{base.denominator}"
    system = f"d0 is {base} of tau*"

    @CLAIMS.claim(
        f"proposition-5.gap.{clock}",
        "Proposition 5",
        "With M = M* = 9 every policy that is blind to outputs stays a constant below the fluid "
        f"throughput ({system}).",
        origin=Origin.READING,
        checked="the instance of the proof, all policies",
    )
    def _gap() -> Finding:
        fluid = wait.fluid_equilibrium(proposition_3(base))
        if (fluid.memory, fluid.throughput) != (_MEMORY, _FLUID):
            raise ArithmeticError("not the equilibrium of the proof")
        best = wait.best_blind_throughput(proposition_3(base), _MEMORY, prices=[price])
        return Finding(
            best.at_most < fluid.throughput or f"the bound is {decimal(best.at_most)}",
            f"between {decimal(best.attained)} and {decimal(best.at_most)}: a gap of at least "
            f"{decimal(fluid.throughput - best.at_most)}",
            paper="a constant gap to 3",
            note="A proof for this clock: no action in any state gains more, evicted prompts that "
            "are known to be long sold and bought at a price. A policy gains at most that times T, "
            "and a constant, by any T.",
        )

    @CLAIMS.claim(
        f"proposition-5.price.{clock}",
        "beside Proposition 5 (our own)",
        f"With {more} token{'s' if more > 1 else ''} above M* = 9 a blind policy passes the fluid "
        f"throughput ({system}).",
        origin=Origin.READING,
        kind="remark",
        checked="the instance of the proof, one policy",
    )
    def _price() -> Finding:
        enough = wait.attained_blind_throughput(proposition_3(base), _MEMORY + more)
        return Finding(
            enough > _FLUID or f"{decimal(enough)} with {_MEMORY + more} tokens",
            f"{decimal(enough)} with {_MEMORY + more} tokens",
            paper="not given",
            note="Our own statement. A policy that never lacks work then serves more than come.",
        )


for each in _CLOCKS:
    _at(each)


def _safe(length: int) -> list[tuple[int, int, int]]:
    """Batches in stages 0, 1, 2 of inputs of this length that complete more than the 2 prompts
    which are expected, and after which all that is left fits, every time.
    """
    memory = 5 * length + 4  # one prompt of each type at each of its stages
    sizes = [range(memory // (length + stage) + 1) for stage in range(3)]
    return [
        (a, b, c)
        for a, b, c in product(*sizes)
        if a * length + b * (length + 1) + c * (length + 2) <= memory
        and c > 2
        and a * (length + 1) + b * (length + 2) <= memory
    ]


@CLAIMS.undecided(
    "proposition-5.dichotomy",
    "proof of Proposition 5, its lost instance given back",
    origin=Origin.READING,
)
def _dichotomy() -> Finding:
    """In the instance of Proposition 5 each batch leaves so much memory unused that more are
    expected to come than complete, or risks an overflow.

    Checked: all batches, l = 1 ... 12 (the proof's l is lost)
    Paper: memory is left unused, or an overflow has constant probability
    Note: Stages 0, 1, 2 hold l, l + 1, l + 2 tokens; prompts that wait hold none, so that nobody
    must be let in. 3 (l + 2) <= M* = 5 l + 4 for every l >= 1. The conclusion stands
    (wait.proposition-5.gap): it needs the long run."""
    # The second type's prompts at their last stage complete, all of them.
    # A length without such a batch would save the statement, as its own length is lost.
    safe = {length: _safe(length) for length in range(1, 13)}
    missing = [length for length, batches in safe.items() if not batches]
    most = max((batch[2] for batch in safe[1]), default=0)
    witness = f"l = 1: {most} prompts in stage 2 hold {3 * most} of 9 tokens and all complete; 2 "
    return Finding(
        None if missing else f"{witness}are expected to come",
        f"l = {missing}: none" if missing else "three do neither, for every l tried",
    )
