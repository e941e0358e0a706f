"""Token-PD, (2), (3), (4) and Appendix A: three readings of what is maximised, side by side.

(2) adds R - lambda sigma^2 of every token, kept or not; (4) weighs it against the price; Appendix A
takes the penalty from it. A fourth, (2) with the return of kept tokens alone, is ours.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

from fluidkv.ledger import Instance, Origin, Range
from fluidkv.tokenpd.objective import Objective, worth_of
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

Kept = frozenset[int]
HALF = Fraction(1, 2)
_ZERO = Fraction(0)


class Case(NamedTuple):
    """Tokens of cost 1 under a hard budget; numbers are exact."""

    returns: tuple[Fraction, ...]
    risks: tuple[Fraction, ...]
    aversion: Fraction
    penalty: Fraction
    budget: int

    def __str__(self) -> str:
        def many(values: tuple[Fraction, ...]) -> str:
            return ", ".join(map(str, values))

        return (
            f"R = {many(self.returns)}; sigma^2 = {many(self.risks)}; lambda = {self.aversion}, "
            f"delta = {self.penalty}, room for {self.budget}"
        )


def _cases() -> Iterator[tuple[Case]]:
    """Of 1 to 3 tokens, fewest first; risks within R (1 - R)."""
    token = [(r, s) for r in (_ZERO, HALF, Fraction(1)) for s in (_ZERO, Fraction(1, 4))
             if s <= r * (1 - r)]  # fmt: skip
    for tokens in range(1, 4):
        for drawn in product(token, repeat=tokens):
            returns, risks = zip(*drawn, strict=True)
            for aversion, penalty in product((HALF, Fraction(1)), (Fraction(1, 4), HALF)):
                for budget in range(1, tokens + 1):
                    yield (Case(returns, risks, aversion, penalty, budget),)


CASES = Range(
    "1 to 3 tokens, R in 0, 1/2, 1, sigma^2 in 0, 1/4 where it can be, lambda in 1/2, 1, delta in "
    "1/4, 1/2, room for 1 token to all",
    _cases,
)


def utility(case: Case, kept: Kept) -> Fraction:
    """(2), term by term, as it is printed."""
    total = _ZERO
    for token, (of, risk) in enumerate(zip(case.returns, case.risks, strict=True)):
        x = 1 if token in kept else 0
        total += of - case.aversion * risk - (1 - x) * case.penalty
    return total


def _worths(case: Case, objective: Objective) -> list[Fraction]:
    return [
        worth_of(objective, of, risk, risk_aversion=case.aversion, penalty=case.penalty)
        for of, risk in zip(case.returns, case.risks, strict=True)
    ]


def _sets(case: Case) -> list[Kept]:
    """What fits: (3)."""
    tokens = range(len(case.returns))
    return [frozenset(c) for size in range(case.budget + 1) for c in combinations(tokens, size)]


def best(case: Case, objective: Objective) -> set[Kept]:
    """All sets that fit and add the most."""
    worths = _worths(case, objective)
    value = {kept: sum((worths[token] for token in kept), _ZERO) for kept in _sets(case)}
    return {kept for kept in value if value[kept] == max(value.values())}


def _shown(sets: set[Kept]) -> str:
    return " or ".join(
        "none" if not kept else " and ".join(str(token + 1) for token in sorted(kept))
        for kept in sorted(sets, key=sorted)
    )


# ------------------------------------------------------------------------------------ (2) alone


@CLAIMS.claim("equation-2.number-kept", "(2), section 3")
def _number_kept() -> Iterator[Instance]:
    """(2) depends on what is kept only through how many tokens are.

    Checked: symbolically, for 4 tokens and each pair of sets
    Ours: U = sum of (R - lambda sigma^2 - delta), and delta for each token kept
    Paper: (2)
    Note: The return is not multiplied by x: a token earns it whether or not it is kept."""
    # U(x) - U(y) = delta (|x| - |y|), with R, sigma^2, lambda and delta symbols.
    import sympy as sp

    tokens = range(4)
    returns, risks = sp.symbols("R1:5"), sp.symbols("s1:5")
    aversion, penalty = sp.symbols("lambda delta")

    def of(x: tuple[int, ...]) -> sp.Expr:
        return sp.Add(*(returns[k] - aversion * risks[k] - (1 - x[k]) * penalty for k in tokens))

    for x, y in combinations(product((0, 1), repeat=4), 2):
        rest = sp.expand(of(x) - of(y) - penalty * (sum(x) - sum(y)))
        yield Instance(rest == 0, bad=f"x = {x}, y = {y}")


@CLAIMS.claim(
    "equation-2.knapsack", "equations (2) and (3), section 3", over=CASES, origin=Origin.PRINTED
)
def _knapsack(case: Case) -> bool | str:
    """(2) and (3) define a 0-1 knapsack, whose items are all worth delta.

    Paper: define a 0-1 knapsack
    Note: So all sets that fill the memory are best: whatever is evicted, oldest first or at random,
    and however wrong the predictions, regret is 0."""
    value = {kept: utility(case, kept) for kept in _sets(case)}
    top = {kept for kept in value if value[kept] == max(value.values())}
    return top == best(case, Objective.UTILITY) == {
        kept for kept in value if len(kept) == case.budget
    } or str(case)


@CLAIMS.fails(
    "equation-2.trades",
    "(2), section 3",
    over=CASES.where("returns that differ", lambda case: len(set(case.returns)) > 1),
)
def _trades(case: Case) -> bool | str:
    """What is best to keep under (2) has the most return for its risk.

    Ours: any tokens that fill the memory are best, for all lambda and all R
    Paper: lambda > 0 trades return for risk
    Note: It has with the return of kept tokens alone, and in (4).
    Holds: equation-2.number-kept, equation-2.knapsack, equation-2.repaired"""
    found = best(case, Objective.UTILITY)
    return found <= best(case, Objective.REPAIRED) or f"{case}: best is {_shown(found)}"


@CLAIMS.claim(
    "equation-2.repaired",
    "(2), section 3",
    over=lambda: (
        (Case((HALF, HALF), (_ZERO, Fraction(1, 4)), Fraction(1), HALF, 1), 0),
        (Case((HALF, Fraction(1)), (_ZERO, _ZERO), Fraction(1), HALF, 1), 1),
    ),
)
def _repaired(case: Case, wanted: int) -> bool | str:
    """With R - lambda sigma^2 of kept tokens alone, the token with less risk is kept, and the one
    with more return.

    Checked: 2 tokens, R = 1/2 and 1/2, sigma^2 = 0 and 1/4; R = 1/2 and 1; lambda = 1, room for 1
    Ours: in both
    Paper: lambda > 0 trades return for risk"""
    return best(case, Objective.REPAIRED) == {frozenset({wanted})} or str(case)


# ------------------------------------------------------------------------------- side by side

_READINGS = (Objective.RULE, Objective.APPENDIX, Objective.REPAIRED)


@CLAIMS.claim("objectives.order", "equations (2) and (4), Appendix A", over=CASES)
def _order(case: Case) -> bool | str:
    """(4), Appendix A and (2) repaired put tokens into the same order: of the sets of one size, the
    same are best.

    Paper: (2), (4), a = R - lambda sigma^2 - delta
    Note: They differ by a constant for each token kept. So where a full memory decides, by a heap
    or a sort, they are one objective."""
    for size in range(1, case.budget + 1):
        tops = []
        for objective in _READINGS:
            worths = _worths(case, objective)
            value = {
                kept: sum((worths[token] for token in kept), _ZERO)
                for kept in _sets(case)
                if len(kept) == size
            }
            tops.append({kept for kept in value if value[kept] == max(value.values())})
        if any(top != tops[0] for top in tops):
            return f"{case}, {size} kept"
    return True


@CLAIMS.fails("objectives.same", "equations (2) and (4), Appendix A", over=CASES)
def _same(case: Case) -> bool | str:
    """(2), (4) and Appendix A agree on what is best to keep.

    Ours: by (2) the token stays, by Appendix A it goes, by (4) either will do
    Paper: (2), (4), a = R - lambda sigma^2 - delta
    Holds: objectives.same.when, objectives.order"""
    found = {o: best(case, o) for o in (Objective.UTILITY, Objective.RULE, Objective.APPENDIX)}
    if len({frozenset(sets) for sets in found.values()}) == 1:
        return True
    return f"{case}: " + "; ".join(f"{o.value} {_shown(sets)}" for o, sets in found.items())


@CLAIMS.claim(
    "objectives.same.when",
    "equations (2) and (4), Appendix A",
    over=CASES.where(
        "every R - lambda sigma^2 above delta",
        lambda case: all(worth > 0 for worth in _worths(case, Objective.APPENDIX)),
    ),
)
def _same_when(case: Case) -> bool | str:
    """Where every token is worth more than delta, (4), Appendix A and (2) repaired agree on what is
    best to keep, and it is among what (2) calls best.

    Paper: (2), (4), a = R - lambda sigma^2 - delta
    Note: All of them fill the memory then, and take the best of one order; (2) takes any."""
    found = [best(case, objective) for objective in _READINGS]
    alike = all(sets == found[0] for sets in found)
    return (alike and found[0] <= best(case, Objective.UTILITY)) or str(case)


@CLAIMS.fails(
    "section-3.restated", "Appendix A, with (2) of section 3", over=CASES, origin=Origin.PRINTED
)
def _restated(case: Case) -> bool | str:
    """The problem that Appendix A restates is that of section 3: what it calls best is best there.

    Ours: the penalty changes its sign: in (2) evicting costs delta, in Appendix A keeping does
    Paper: we restate the online problem; a = R - lambda sigma^2 - delta
    Note: With an empty memory it throws tokens out that are worth less than recomputing them, and
    the larger delta, the more. So too beside (2) repaired; the same where delta = 0."""
    # The kindest: one of both meanings of (2) is enough.
    chosen = best(case, Objective.APPENDIX)
    if any(chosen <= best(case, o) for o in (Objective.UTILITY, Objective.REPAIRED)):
        return True
    return f"{case}: kept {_shown(chosen)}, best is {_shown(best(case, Objective.REPAIRED))}"


@CLAIMS.claim("section-3.penalty.utility", "(2), section 3", over=CASES)
def _penalty_utility(case: Case) -> bool | str:
    """Under (2), and under (2) repaired, a larger penalty for evictions keeps no fewer tokens.

    Paper: the last term internalises the recomputation cost
    Note: Under Appendix A it may keep fewer (section-3.restated)."""
    found = [_keeps_no_fewer(case, o) for o in (Objective.UTILITY, Objective.REPAIRED)]
    return next((bad for bad in found if bad is not True), True)


def _keeps_no_fewer(case: Case, objective: Objective) -> bool | str:
    dearer = case._replace(penalty=2 * case.penalty)
    before, after = (max(map(len, best(c, objective))) for c in (case, dearer))
    return after >= before or f"{case}: {before} kept, with delta = {dearer.penalty} {after}"


@CLAIMS.claim("equation-3.greedy", "equations (2) and (3), section 3", over=CASES)
def _greedy(case: Case) -> bool | str:
    """Tokens cost the same, so that taking the best as long as they fit is exact, in each reading.

    Paper: a 0-1 knapsack
    Note: No knapsack is hard here: the best M / c tokens, by a sort. What a price adds is that
    nothing has to be sorted."""
    for objective in Objective:
        worths = _worths(case, objective)
        taken = sorted((w for w in worths if w > 0), reverse=True)[: case.budget]
        most = sum((worths[token] for token in next(iter(best(case, objective)))), _ZERO)
        if sum(taken, _ZERO) != most:
            return f"{objective.value}: {case}"
    return True
