"""WAIT, Proposition 5: what no policy reaches while it cannot foresee outputs.

The best of all policies that are blind to outputs is the optimum of a finite decision problem,
proved in rationals (`fluidkv.wait.theory.best_blind`). In it work never runs out: no policy on a
server whose prompts come at random has more.
"""

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.claims.claim import Claim, Outcome
from fluidkv.claims.outcomes import decimal, holds_for
from fluidkv.claims.wait.paper import wait
from fluidkv.verdict import Verdict

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem

_MEMORY, _FLUID = 9, 3
_CLOCKS = (Fraction(1), Fraction(1, 2), Fraction(1, 10))  # d0 as a part of tau* = 1


def _system(base: Fraction) -> "WaitSystem":
    """The proof's two types, with d0 + 9 d1 = tau* = 1: the paper gives no clock."""
    from fluidkv.wait.model import PromptType, WaitSystem

    types = (PromptType(1, 1, 1), PromptType(1, 1, 2))
    return WaitSystem(types, base, (1 - base) / _MEMORY)


def _best(base: Fraction, capacity: int) -> Fraction:
    from fluidkv.wait.theory.best_blind import best_blind_throughput

    return best_blind_throughput(_system(base), capacity).throughput


def _gap(base: Fraction) -> Outcome:
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    fluid = fluid_equilibrium(_system(base))
    if (fluid.memory, fluid.throughput) != (_MEMORY, _FLUID):
        raise ArithmeticError("not the equilibrium of the proof")
    best = _best(base, _MEMORY)
    return holds_for(
        None if best < fluid.throughput else f"a policy with {best}",
        ours=f"at most {best} = {decimal(best)}: a gap of {decimal(fluid.throughput - best)}",
        paper="a constant gap to 3",
        note="A proof for this clock: exact gain and relative values, which no action improves. "
        "A policy gains at most that times T, and a constant, by any T.",
    )


def _price(base: Fraction, more: int) -> Outcome:
    """Capacities at which the best blind policy has no more than the fluid; and the next one."""
    short, enough = (_best(base, _MEMORY + extra) for extra in (more - 1, more))
    fine = short < _FLUID < enough
    return holds_for(
        None if fine else f"{decimal(short)} and {decimal(enough)}",
        ours=f"{decimal(short)} with {_MEMORY + more - 1} tokens, {decimal(enough)} with "
        f"{_MEMORY + more}",
        paper="not given",
        note="Our own statement. Below 3 the arrivals of the instance cannot be served; above it a "
        "policy that never lacks work serves more than come.",
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
        for base in _CLOCKS
    ),
    *(
        wait(
            f"proposition-5.price.clock-{base.numerator}-{base.denominator}",
            f"There {more} more token{'s let' if more > 1 else ' lets'} a blind policy pass the "
            f"fluid throughput, and no fewer (d0 is {base} of tau*).",
            "beside Proposition 5 (our own)",
            lambda base=base, more=more: _price(base, more),
            kind="remark",
            checked="the instance of the proof, all policies",
        )
        for base, more in zip(_CLOCKS, (1, 1, 2), strict=True)
    ),
    wait(
        "proposition-5.dichotomy",
        "Each batch either leaves memory unused or risks an overflow.",
        "proof of Proposition 5",
        _dichotomy,
        kind="proposition",
        expected=Verdict.FAILS,
        checked="all batches of 9 tokens",
    ),
)
