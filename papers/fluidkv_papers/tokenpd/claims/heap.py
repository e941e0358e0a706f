"""Token-PD, section 5: the heap of excess values, beside rule (4).

Tokens of cost 1 are written one a step; each has a worth R - lambda sigma^2, and a price is told at
each step. When there are more than fit, the smallest recorded excess value goes.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from fluidkv import tokenpd
from fluidkv.ledger import Evidence, Finding, Origin, Range
from fluidkv.tokenpd import knapsack
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv_papers.tokenpd.instances.tables import printed
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

_HOOKS = "section 5, hook points"
_HALVES = [Fraction(n, 2) for n in range(3)]


class Written(NamedTuple):
    """Worths of tokens, in the order in which they are written, and the price at each step."""

    worths: tuple[Fraction, ...]
    prices: tuple[Fraction, ...]
    room: int

    def __str__(self) -> str:
        worths, prices = (", ".join(map(str, x)) for x in (self.worths, self.prices))
        return f"worth {worths}, written at prices {prices}, room for {self.room}"


def _cases() -> Iterator[tuple[Written]]:
    for tokens in (1, 2, 3):
        for worths in product(_HALVES, repeat=tokens):
            for prices in product(_HALVES, repeat=tokens):
                for room in range(1, tokens + 2):
                    yield (Written(worths, prices, room),)


WRITTEN = Range(
    "1 to 3 tokens, worths and prices 0, 1/2 or 1, room for 1 token to one more", _cases
)


def _heap(case: Written, *, fresh: bool) -> tuple[list[int], int]:
    """Who is left, and the most that were held after a step.

    Args:
        fresh: excess values are those at the price of the step; else as they were recorded.
    """
    held: list[int] = []
    most = 0
    for step, price in enumerate(case.prices):
        held.append(step)
        if len(held) > case.room:
            at = {token: price if fresh else case.prices[token] for token in held}
            held.remove(min(held, key=lambda token: (case.worths[token] - at[token], token)))
        most = max(most, len(held))
    return held, most


def _worth_kept(case: Written, held: list[int]) -> list[Fraction]:
    return sorted((case.worths[token] for token in held), reverse=True)


@CLAIMS.claim("section-5.heap.price-cancels", _HOOKS, over=WRITTEN)
def _price_cancels(case: Written) -> bool | str:
    """With excess values at one price for all, the heap evicts the same tokens at any price.

    Paper: pop the smallest-g element
    Note: g = R - lambda sigma^2 - mu c: mu c is the same for all, and no price is needed."""
    free = case._replace(prices=tuple(Fraction(0) for _ in case.prices))
    return _heap(case, fresh=True) == _heap(free, fresh=True) or str(case)


@CLAIMS.claim("section-5.heap.best", _HOOKS, over=WRITTEN)
def _best(case: Written) -> bool | str:
    """With excess values at one price for all, what the heap leaves is worth the most that fits.

    Paper: selects an optimal batch-level cache (abstract)
    Note: Worths that do not change, and no token is wanted back."""
    held, _ = _heap(case, fresh=True)
    return _worth_kept(case, held) == sorted(case.worths, reverse=True)[: case.room] or str(case)


@CLAIMS.claim(
    "section-5.heap.recorded.one-price",
    _HOOKS,
    over=WRITTEN.where("one price throughout", lambda case: len(set(case.prices)) == 1),
)
def _one_price(case: Written) -> bool | str:
    """If all tokens are written at one price, the least valuable ones go.

    Paper: pop the smallest-g element"""
    held, _ = _heap(case, fresh=False)
    return _worth_kept(case, held) == sorted(case.worths, reverse=True)[: case.room] or str(case)


@CLAIMS.fails("section-5.heap.is-the-rule", f"{_HOOKS}, with (4)", over=WRITTEN)
def _is_the_rule(case: Written) -> bool | str:
    """The heap keeps what rule (4) keeps, where that fits.

    Ours: it keeps tokens of negative excess value as long as there is room
    Paper: Decision (4); on CacheEvict [...] pop the smallest-g element
    Note: Nobody is evicted before the engine asks for memory. So (5)'s price limits nothing: it is
    not what keeps memory within M.
    Holds: section-5.heap.peak"""
    # At the last step's price.
    kept = [token for token, worth in enumerate(case.worths) if worth >= case.prices[-1]]
    held, _ = _heap(case, fresh=True)
    if len(kept) > case.room or sorted(held) == kept:
        return True
    return f"{case}: {len(held)} kept, by (4) {len(kept)}"


@CLAIMS.claim(
    "section-5.heap.peak",
    f"{_HOOKS}, with Table 1",
    over=WRITTEN,
    paper=f"{float(printed(256, 'FIFO', 'memory'))} GB with FIFO, "
    f"{float(printed(256, 'Token-PD', 'memory'))} GB with Token-PD",
    kind="table",
)
def _peak(case: Written) -> bool | str:
    """The heap's peak memory is what is written or what fits, whichever is less: that of first in,
    first out.

    Note: Whatever the worths and prices. A lower peak is a smaller M that somebody chose; and an
    engine that sets its cache aside at the start, as vLLM does, has one peak with every policy."""
    oldest_first = case._replace(
        worths=tuple(Fraction(n) for n in range(len(case.worths))),
        prices=tuple(Fraction(0) for _ in case.prices),
    )
    _, most = _heap(case, fresh=False)
    _, oldest = _heap(oldest_first, fresh=False)
    return most == oldest == min(len(case.worths), case.room) or str(case)


def _pool(worths: tuple[float, ...], arrivals: tuple[int, ...], rounds: int) -> Pool:
    returns = np.tile(np.array(worths), (rounds, 1))
    many = len(worths)
    return Pool(
        returns,
        request=np.zeros(many, int),
        arrival=np.array(arrivals),
        end=np.full(many, rounds),
        risk=np.zeros_like(returns),
    )


def _arriving() -> Iterator[tuple[tuple[float, ...], tuple[int, ...]]]:
    for arrivals in ((0, 1), (0, 0, 1), (0, 0, 1, 1)):
        for worths in product((0.25, 0.5, 1.0), repeat=len(arrivals)):
            yield worths, arrivals


@CLAIMS.fails(
    "section-5.heap.recorded.after-5", f"{_HOOKS}, with (5)", over=_arriving, refuted=Evidence.FLOAT
)
def _after_5(worths: tuple[float, ...], arrivals: tuple[int, ...]) -> bool | str:
    """With excess values recorded when tokens are written, at the prices of (5), what is left is
    worth the most.

    Checked: 2 to 4 tokens worth 1/4, 1/2 or 1, in rounds 0 and 1, M = 1, mu_1 = 1/4, eta = 2
    Ours: where the first round is crowded, the price has risen when better tokens come
    Paper: computes the excess value g, then records the tuple <g, ptr>
    Note: It holds at one price, and with excess values as of now. Prices are floats, and the two
    excess values lie far apart.
    Holds: section-5.heap.recorded.one-price, section-5.heap.price-cancels, section-5.heap.best"""
    pool, pricing = _pool(worths, arrivals, rounds=2), tokenpd.Pricing(2.0, start=0.25)
    recorded, fresh = (
        knapsack.heap.literal_heap(pool, 1, pricing, fresh=each) for each in (False, True)
    )
    if recorded.reward[-1] == fresh.reward[-1]:
        return True
    return (
        f"worth {', '.join(f'{w:g}' for w in worths)}, in rounds {', '.join(map(str, arrivals))}: "
        f"kept what is worth {recorded.reward[-1]:g}, not {fresh.reward[-1]:g}; the price was "
        f"{recorded.price[0]:g} and then {recorded.price[1]:.2f}"
    )


@CLAIMS.claim(
    "section-6.constant-return",
    "section 6, ablation, with (4)",
    over=lambda: product(range(1, 5), (0.125, 0.5, 2.0), (0.25, 1.0)),
)
def _constant_return(tokens: int, start: float, step: float) -> bool | str:
    """With one constant return in place of the predictor, rule (4) keeps all tokens or none.

    Checked: 1 to 4 tokens of one return, M = 1, mu_1 = 1/8, 1/2 and 2, eta = 1/4 and 1, 40 rounds
    Paper: substituting a constant return halves the gains
    Note: Whichever the price; section 5's heap then evicts by the price at which each token was
    written, or, at one price, in the order of ties."""
    pool = _pool((0.5,) * tokens, (0,) * tokens, rounds=40)
    run = knapsack.literal.literal_rounds(pool, 1, tokenpd.Pricing(step, start=start))
    some = sorted(set(run.wanted.sum(1).tolist()) - {0, tokens})
    return not some or f"{tokens} tokens: {some[0]} kept"


PAGE = 16
"""Tokens of a page: vLLM's default."""


@CLAIMS.fails(
    "section-5.pages",
    "section 5, with section 2 and Table 1",
    checked=f"pages of {PAGE} tokens, vLLM's default",
)
def _pages() -> Finding:
    """Evicting 59 % of the tokens frees about as many of vLLM's pages, where tokens go
    independently of their places.

    Paper: a pure plug-in, requiring no changes to [...] CUDA kernels
    Note: A page is freed when its last token goes. With kept tokens moved together, or an attention
    kernel for single tokens, 59 % can be freed; both are more than a callback."""
    evicted = 1 - printed(256, "Token-PD", "memory") / printed(256, "FIFO", "memory")
    freed = evicted**PAGE
    return Finding(
        freed > Fraction(1, 2) or f"{float(freed):.3%} of the pages are empty",
        f"{float(freed):.2%}",
    )
