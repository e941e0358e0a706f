"""The balance of a server that waits for full batches, and the conditions on its thresholds.

Type j of prompts comes at the rate lambda_j, with l_j tokens, and leaves l'_j. A batch with n_j
prompts at each stage lasts Delta T(n) = d0 + sum of n_j w_j, w_j = d1 c_j + d2 l_j.

Source: WAIT, sections 3 and 4.2, equations (4) to (12); the term in d2 is ours.
"""

from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Expr, Symbol

from fluidkv.errors import InputError
from fluidkv.symbolic.formulas import Formulas
from fluidkv.symbolic.symbols import CAPACITY


@dataclass(frozen=True)
class WaitEquilibrium(Formulas):
    """What a server does in balance, in c_j; numbers: `fluidkv.wait.theory.fluid.FluidEquilibrium`.

    Fields:
        iteration_time: tau*.
        per_stage: n*_j, prompts of each type at every stage.
        memory: M*, tokens.
        throughput: output tokens per unit of time.
        load: rho, below 1 where any policy is stable (Proposition 1).
        costs: c_j in the lengths l_j and l'_j, tokens summed over the iterations of a prompt.

    Examples:
        >>> from fluidkv.symbolic import wait_equilibrium
        >>> found = wait_equilibrium()
        >>> found.memory, found.load.subs(found.in_lengths)
        (c*d0*lambda/(-c*d1*lambda + 1), d1*lambda*(2*l + l')*(l' + 1)/2)
    """

    iteration_time: Expr = field(metadata={"latex": r"\tau^*"})
    per_stage: tuple[Expr, ...] = field(metadata={"latex": "n^*"})
    memory: Expr = field(metadata={"latex": "M^*"})
    throughput: Expr = field(metadata={"latex": r"\mathrm{throughput}^*"})
    load: Expr = field(metadata={"latex": r"\rho"})
    costs: tuple[Expr, ...] = field(metadata={"latex": "c"})

    @property
    def in_lengths(self) -> dict[Symbol, Expr]:
        """The value of each symbol c_j: for `subs` on the others."""
        return dict(zip(_numbered("c", len(self.costs)), self.costs, strict=True))


def wait_equilibrium(types: int = 1, *, prefill: bool = False) -> WaitEquilibrium:
    """The fluid equilibrium: the time tau of an iteration in which as many prompts come as leave.

    Solved by sympy from tau = d0 + sum of lambda_j tau w_j.

    Args:
        types: how many; the symbols of one have no number.
        prefill: with d2, time for each input token that a batch computes. The paper has none.

    Raises:
        InputError: fewer types than one.

    Source: WAIT, equations (4) to (10), Propositions 1 and 2.

    Examples:
        >>> from fluidkv.symbolic import wait_equilibrium
        >>> wait_equilibrium().iteration_time, wait_equilibrium().costs
        (d0/(-c*d1*lambda + 1), ((2*l + l')*(l' + 1)/2,))
    """
    rate, length, output, cost = (_numbered(name, types) for name in ("lambda", "l", "l'", "c"))
    time, base = Symbol("tau", positive=True), _D0
    load = sympy.Add(*(a * w for a, w in zip(rate, _times(cost, length, prefill), strict=True)))
    (solved,) = map(_positive, sympy.solve(sympy.Eq(time, base + time * load), time))
    per_stage = tuple(a * solved for a in rate)
    stage = Symbol("k", integer=True, nonnegative=True)
    costs: Any = tuple(
        sympy.factor(sympy.summation(a + stage, (stage, 0, b)))
        for a, b in zip(length, output, strict=True)
    )
    return WaitEquilibrium(
        iteration_time=solved,
        per_stage=per_stage,
        memory=solved * sympy.Add(*(a * c for a, c in zip(rate, cost, strict=True))),
        throughput=sympy.Add(*(a * b for a, b in zip(rate, output, strict=True))),
        load=load,
        costs=costs,
    )


def wait_thresholds(types: int = 1, *, prefill: bool = False) -> tuple[sympy.Rel, ...]:
    """The conditions on thresholds n_j: lambda_j Delta T(n) <= n_j for each type, memory <= M.

    Args, raises: as `wait_equilibrium`; the symbols are the same.

    Source: WAIT, equation (11).

    Examples:
        >>> from fluidkv.symbolic import wait_thresholds
        >>> wait_thresholds()
        (lambda*(c*d1*n + d0) <= n, c*n <= M)
    """
    rate, length, cost, n = (_numbered(name, types) for name in ("lambda", "l", "c", "n"))
    times = _times(cost, length, prefill)
    batch = _D0 + sympy.Add(*(a * w for a, w in zip(n, times, strict=True)))
    held = sympy.Add(*(a * c for a, c in zip(n, cost, strict=True)))
    return (*(sympy.Le(a * batch, b) for a, b in zip(rate, n, strict=True)), held <= CAPACITY)


def nested_thresholds(segments: int = 2, *, prefill: bool = False) -> tuple[sympy.Rel, ...]:
    """The conditions on thresholds n_k of Nested WAIT, at each stage of segment k.

    n_1 > r_1 Delta T(n), n_k > (r_k / r_{k-1}) n_{k-1} and memory <= M, where r_k is the rate of
    prompts that reach segment k and S_k what one of them holds, summed over its stages.

    Args:
        segments: how many; prompts share their input length l.
        prefill: as in `wait_equilibrium`.

    Raises:
        InputError: fewer than one.

    Source: WAIT, equation (12).

    Examples:
        >>> from fluidkv.symbolic import nested_thresholds
        >>> nested_thresholds(2)
        (n_1 > r_1*(d0 + d1*(S_1*n_1 + S_2*n_2)), n_2 > n_1*r_2/r_1, S_1*n_1 + S_2*n_2 <= M)
    """
    rate, cost, n = (_numbered(name, segments, "segments") for name in ("r", "S", "n"))
    held = sympy.Add(*(a * c for a, c in zip(n, cost, strict=True)))
    batch = _D0 + _D1 * held + (_D2 * n[0] * Symbol("l", positive=True) if prefill else 0)
    thinned = (n[k] > rate[k] / rate[k - 1] * n[k - 1] for k in range(1, segments))
    return (n[0] > rate[0] * batch, *thinned, held <= CAPACITY)


_D0, _D1, _D2 = sympy.symbols("d0 d1 d2", positive=True)


def _numbered(name: str, count: int, argument: str = "types") -> tuple[Symbol, ...]:
    """A symbol for each type or segment, numbered from 1 where there are several."""
    if count < 1:
        raise InputError(argument, count, "an integer of at least 1")
    if count == 1:
        return (Symbol(name, positive=True),)
    return tuple(Symbol(f"{name}_{j}", positive=True) for j in range(1, count + 1))


def _positive(value: Expr) -> Expr:
    """The same quotient with the signs that show that it is positive for a load below 1."""
    above, below = sympy.fraction(value)
    return (
        sympy.expand(-above) / sympy.expand(-below) if above.could_extract_minus_sign() else value
    )


def _times(cost: tuple[Symbol, ...], length: tuple[Symbol, ...], prefill: bool) -> list[Expr]:
    """w_j, what a prompt adds to the durations of its iterations."""
    prompts = zip(cost, length, strict=True)
    return [_D1 * c + (_D2 * tokens if prefill else 0) for c, tokens in prompts]
