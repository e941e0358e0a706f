"""The least whole thresholds, of WAIT and of Nested WAIT, in whole numbers.

Both climb in time: from the balanced state, whose batch is no longer than that of any solution,
each step goes to a time that the batch of the least solution cannot be shorter than.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

MOST_WORK = 5_000_000
"""Steps times types (or segments) after which a search is given up: some six seconds."""

_BITS = 40  # of fractions of a prompt; to round them down costs a few more steps, nothing else


@dataclass(frozen=True)
class WholeClock:
    """Rates and a clock in whole numbers, over common denominators: what makes a sweep fast.

    Fields:
        unit: rates are multiples of `1 / unit`.
        grid: d0, d1 / 2 and d2, and so Delta T, are multiples of `1 / grid`.
        base, step, prefill: d0, d1 / 2 and d2 in them.
    """

    unit: int
    grid: int
    base: int
    step: int
    prefill: int

    @classmethod
    def of(
        cls, rates: Iterable[Fraction], d0: Fraction, d1: Fraction, d2: Fraction
    ) -> "WholeClock":
        grid = math.lcm(d0.denominator, (d1 / 2).denominator, d2.denominator)
        unit = math.lcm(*(rate.denominator for rate in rates))
        return cls(unit, grid, int(d0 * grid), int(d1 / 2 * grid), int(d2 * grid))

    def time(self, half_tokens: int, inputs: int) -> int:
        """What a prompt adds: times `grid`, of twice the tokens that it holds, and its input."""
        return self.step * half_tokens + self.prefill * inputs

    def balanced(self, rates: Iterable[int], costs: Iterable[int]) -> int:
        """d0 / (1 - load), rounded up: times `grid`."""
        return self.solved(self.base, sum(map(operator.mul, rates, costs)))

    def solved(self, rest: int, work: int) -> int:
        """The least T >= rest + work T: times `grid`, work in `unit` and `grid`."""
        whole = self.unit * self.grid
        return -(-rest * whole // (whole - work))


def least_of_types(
    rates: Sequence[int], costs: Sequence[int], clock: WholeClock, *, strict: bool
) -> tuple[int, ...] | None:
    """The least thresholds of (11); None: not found in the steps allowed.

    Args:
        rates: lambda_j times `clock.unit`.
        costs: w_j = d1 c_j + d2 l_j, times `clock.grid`: `clock.time`.
        clock: denominators and d0; the load is below 1.
        strict: ask for lambda_j Delta T(n) < n_j.

    Times that stay below that of the least whole thresholds climb to it. Let n be the least ones,
    T = Delta T(n) and t <= T. The least whole numbers m_j that are not below (strict: that are
    above) lambda_j t are at most n_j, so u = Delta T(m) <= T. If no type has more arrivals in u
    than m_j, then m satisfies (11) and m = n. Otherwise let A be the types that have. Since
    n_j >= lambda_j T in A and n_j >= m_j elsewhere,

        T >= (d0 + sum of m_j w_j, not in A) / (1 - sum of lambda_j w_j, in A) >= u > t.

    That is the next t. For one type it is the last; where many types move together, it goes where
    plain iteration goes in 1 / (1 - rho) steps. T is a multiple of `1 / grid`, and so is t here.
    """
    whole, time = clock.unit * clock.grid, clock.balanced(rates, costs)
    for _ in range(max(1, MOST_WORK // len(rates))):
        # -(-a // b) is the ceiling of a / b.
        n = [rate * time // whole + 1 if strict else -(-rate * time // whole) for rate in rates]
        longer = clock.base + sum(map(operator.mul, n, costs))
        ahead = [rate * longer - whole * k for rate, k in zip(rates, n, strict=True)]
        moving = [gap > 0 or (strict and gap == 0) for gap in ahead]
        if not any(moving):
            return tuple(n)
        rest = sum(k * c for k, c, up in zip(n, costs, moving, strict=True) if not up)
        load = sum(r * c for r, c, up in zip(rates, costs, moving, strict=True) if up)
        time = clock.solved(clock.base + rest, load)
    return None


def least_of_segments(
    rates: Sequence[int], costs: Sequence[int], clock: WholeClock, extra: Sequence[int]
) -> tuple[int, ...] | None:
    """The least thresholds of (12) with e_k to spare; None: not found in the steps allowed.

    Args:
        rates: r_k times `clock.unit`.
        costs: w_k = d1 S_k, and d2 l besides for the first, times `clock.grid`: `clock.time`.
        clock: denominators and d0; the load of the segments is below 1.
        extra: e_k, what each line keeps to spare.

    Times that stay below that of the least thresholds climb to it. Let n be the least ones,
    T = Delta T(n) and t <= T. Then m_1 = floor(r_1 t) + 1 + e_1 and m_k = floor(p_k m_(k-1)) + 1 +
    e_k are at most n, so u = Delta T(m) <= T. If r_1 u + e_1 < m_1, then m is a solution and m = n.
    Otherwise u is a next t that raises m_1, and there is a better one. Whole numbers above
    (a / b) n are 1 / b above it at least, so n_k >= r_k T + o_k with o_1 = e_1 and
    o_k = p_k o_(k-1) + e_k + 1 / b_k, where b_k is the denominator of p_k. For any set A of
    segments, that in A and n_k >= m_k elsewhere give

        T >= (d0 + sum of m_k w_k, not in A, + sum of o_k w_k, in A) / (1 - sum of r_k w_k, in A).

    A are those where r_k u + o_k is the larger. T is a multiple of `1 / grid`.
    """
    whole, time = clock.unit * clock.grid, clock.balanced(rates, costs)
    offsets = _offsets(rates, extra)
    for _ in range(max(1, MOST_WORK // len(rates))):
        m = [rates[0] * time // whole + 1 + extra[0]]
        for k in range(1, len(rates)):
            m.append(rates[k] * m[-1] // rates[k - 1] + 1 + extra[k])
        longer = clock.base + sum(map(operator.mul, m, costs))
        if rates[0] * longer < (m[0] - extra[0]) * whole:
            return tuple(m)
        moving = fixed = offset = 0
        for rate, cost, n, above in zip(rates, costs, m, offsets, strict=True):
            if (rate * longer << _BITS) >= ((n << _BITS) - above) * whole:
                moving += rate * cost
                offset += above * cost
            else:
                fixed += n * cost
        rest = clock.base + fixed + (offset >> _BITS)
        time = max(longer, clock.solved(rest, moving))
    return None


def _offsets(rates: Sequence[int], extra: Sequence[int]) -> list[int]:
    """o_k times 2^_BITS, rounded down, so that denominators do not grow."""
    offsets = [extra[0] << _BITS]
    for before, rate, e in zip(rates, rates[1:], extra[1:], strict=False):
        step = (1 << _BITS) // (before // math.gcd(before, rate))
        offsets.append(offsets[-1] * rate // before + (e << _BITS) + step)
    return offsets
