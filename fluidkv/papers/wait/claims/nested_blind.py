"""WAIT, Proposition 5: what no policy reaches while it cannot foresee outputs.

Bounds on the best of all policies that are blind to outputs, whatever they remember, proved in
integers (`fluidkv.wait.theory.best_blind`). In them work never runs out: no policy on a server
whose prompts come at random has more.
"""

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import decimal, holds_for
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Verdict

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem

_MEMORY, _FLUID = 9, 3
_PRICES = {  # d0 as a part of tau* = 1 -> the certificate's price; any gives a bound
    Fraction(1): Fraction(1, 4),
    Fraction(1, 2): Fraction(3, 20),
    Fraction(1, 10): Fraction(3, 10),
}


def _system(base: Fraction) -> "WaitSystem":
    """The proof's two types, with d0 + 9 d1 = tau* = 1: the paper gives no clock."""
    from fluidkv.wait.model import PromptType, WaitSystem

    types = (PromptType(1, 1, 1), PromptType(1, 1, 2))
    return WaitSystem(types, base, (1 - base) / _MEMORY)


def _gap(base: Fraction) -> Outcome:
    from fluidkv.wait.theory.best_blind import best_blind_throughput
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    fluid = fluid_equilibrium(_system(base))
    if (fluid.memory, fluid.throughput) != (_MEMORY, _FLUID):
        raise ArithmeticError("not the equilibrium of the proof")
    best = best_blind_throughput(_system(base), _MEMORY, prices=[_PRICES[base]])
    return holds_for(
        None if best.at_most < fluid.throughput else f"the bound is {decimal(best.at_most)}",
        ours=f"between {decimal(best.attained)} and {decimal(best.at_most)}: a gap of at least "
        f"{decimal(fluid.throughput - best.at_most)}",
        paper="a constant gap to 3",
        note="A proof for this clock: no action in any state gains more, evicted prompts that are "
        "known to be long sold and bought at a price. A policy gains at most that times T, and a "
        "constant, by any T.",
    )


def _price(base: Fraction, more: int) -> Outcome:
    from fluidkv.wait.theory.best_blind import attained_blind_throughput

    enough = attained_blind_throughput(_system(base), _MEMORY + more)
    return holds_for(
        None if enough > _FLUID else f"{decimal(enough)} with {_MEMORY + more} tokens",
        ours=f"{decimal(enough)} with {_MEMORY + more} tokens",
        paper="not given",
        note="Our own statement. A policy that never lacks work then serves more than come.",
    )


def _dichotomy() -> Outcome:
    """Batches of 9 tokens in stages 0, 1, 2, after which all that is left fits, every time."""
    safe = [
        batch
        for batch in product(range(10), range(5), range(4))
        if batch[0] + 2 * batch[1] + 3 * batch[2] == _MEMORY
        and 2 * batch[0] + 3 * batch[1] <= _MEMORY
    ]
    first = max(safe, key=lambda batch: batch[2], default=None)
    return holds_for(
        first and f"{first[2]} prompts in stage 2: 9 tokens, all complete, none overflows",
        ours=f"{len(safe)} full batches are followed by an overflow in no case",
        paper="memory is left unused, or an overflow has constant probability",
        note="Stages 0, 1, 2 hold 1, 2, 3 tokens; prompts that wait hold none, so that nobody must "
        "be let in. The conclusion stands (wait.proposition-5.gap): it needs the long run.",
    )


CLAIMS: tuple[Claim, ...] = (
    *(
        wait(
            f"proposition-5.gap.clock-{base.numerator}-{base.denominator}",
            "With M = M* = 9 every policy that is blind to outputs stays a constant below the "
            f"fluid throughput (d0 is {base} of tau*).",
            "Proposition 5",
            lambda base=base: _gap(base),
            kind="proposition",
            checked="the instance of the proof, all policies",
        )
        for base in _PRICES
    ),
    *(
        wait(
            f"proposition-5.price.clock-{base.numerator}-{base.denominator}",
            f"With {more} token{'s' if more > 1 else ''} above M* = 9 a blind policy passes the "
            f"fluid throughput (d0 is {base} of tau*).",
            "beside Proposition 5 (our own)",
            lambda base=base, more=more: _price(base, more),
            kind="remark",
            checked="the instance of the proof, one policy",
        )
        for base, more in zip(_PRICES, (1, 1, 2), strict=True)
    ),
    wait(
        "proposition-5.dichotomy",
        "In the instance of Proposition 5 each batch leaves memory unused or risks an overflow.",
        "proof of Proposition 5",
        _dichotomy,
        kind="proposition",
        expected=Verdict.FAILS,
        checked="all batches of 9 tokens",
    ),
)
