"""Token-PD, section 4: powers of T that long runs follow, on record over T = 10^2 ... 10^6.

All runs have eta = 1 / sqrt(T); means over seeds, intervals of 95 % over blocks of seeds
(`instances.rates`). A power is of these lengths alone; what is proved is in the other modules.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING

from fluidkv.ledger import Evidence, Finding, Instance, Origin
from fluidkv_papers.tokenpd.paper import statements

if TYPE_CHECKING:
    from fluidkv_papers.theory.price_rule.exponents import Exponent

_RUNS = "T = 10^2 ... 10^6, eta = 1 / sqrt(T); 1,000 seeds up to 10^5, 100 at 10^6"
CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED, checked=_RUNS)
SECTION_4_RATES = CLAIMS.section("section-4.rates", "section 4")

_PLACE = "section 4, the theorem"
_NEAR = 0.05
"""How far from 1/2, or 1, the end of an interval may lie: T is finite, and so is what bends."""
_ALONE = ("uniform, dear", "skewed, dear")
"""Rounds drawn independently of one law, from a price that is above every worth."""


def _power(study: str, measure: str) -> "Exponent":
    from fluidkv_papers.tokenpd.instances.rates import exponent

    return exponent(study, measure)


def _studies(*kinds: str) -> list[str]:
    from fluidkv_papers.tokenpd.instances.rates import STUDIES

    return [name for name, study in STUDIES.items() if not kinds or study.kind in kinds]


def _told(studies: Iterable[str], measure: str) -> str:
    found = ((study, _power(study, measure)) for study in studies)
    return "; ".join(
        f"{study} {each.power:.3f} [{each.low:.3f}, {each.high:.3f}]"
        for study, each in found
        if each.sign > 0
    )


def _faster(measure: str) -> str | None:
    """A study in which the mean grows faster than sqrt(T)."""
    for study in _studies():
        found = _power(study, measure)
        if found.sign > 0 and found.low > 0.5 + _NEAR:
            return f"{study}: {_told([study], measure)}"
        if found.sign == 0 and found.means[-1] > found.horizons[-1] ** 0.5:
            return f"{study}: {found.means[-1]:g} at T = {found.horizons[-1]}"
    return None


@SECTION_4_RATES.claim("violation", ", the theorem")
def _violation() -> Finding:
    """Use above M less what is left free grows no faster than sqrt(T), on stochastic, drifting and
    adversarial rounds.

    Paper: O(sqrt(T))
    Note: Where the price starts above all worths there is none, netted."""
    return Finding(
        _faster("violation"), f"{_told(_studies(), 'violation')}; 0 at some T in the others"
    )


@SECTION_4_RATES.claim("regret.netted", ", the theorem")
def _netted() -> Finding:
    """Where sums are netted, regret against the optima of rounds grows no faster than sqrt(T).

    Paper: O(sqrt(T))
    Note: Who may use more than M in a round gains more than who may not."""
    gains = [name for name in _studies() if _power(name, "rounds_netted").means[-1] < 0]
    return Finding(
        _faster("rounds_netted"),
        f"{_told(_studies(), 'rounds_netted')}; below 0 in {len(gains)} studies of "
        f"{len(_studies())}, in the end",
    )


@SECTION_4_RATES.claim(
    "regret.fixed-price.independent", ", the theorem", checked=f"{_RUNS}; {' and '.join(_ALONE)}"
)
def _fixed_price() -> Iterator[Instance]:
    """On rounds drawn independently of one law, netted regret against the best fixed price that
    uses T M in all has the power 1/2.

    Paper: O(sqrt(T))
    Note: This is the setting of reference [1]."""
    for study in _ALONE:
        found = _power(study, "price_netted")
        near = 0.5 - _NEAR <= found.low <= found.high <= 0.5 + _NEAR
        yield Instance(near, _told([study], "price_netted"))


@SECTION_4_RATES.fails(
    "regret.fixed-price.drifting", ", the theorem", checked=f"{_RUNS}; drifting, dear and growing"
)
def _drifting() -> Finding:
    """On rounds that drift, netted regret against that price grows no faster than sqrt(T).

    Paper: O(sqrt(T))
    Note: One price spends T M on the better part of the run; a price that is moved by each round
    spends M in each part.
    Holds: section-4.rates.regret.fixed-price.independent"""
    studies = [name for name in _studies("drifting") if name != "drifting, cheap"]
    return Finding(_exceeds(studies, "price_netted"), _told(studies, "price_netted"))


def _exceeds(studies: Iterable[str], measure: str) -> str | None:
    """A study whose interval lies above 1/2, and whose last step is nearly linear."""
    for study in studies:
        found = _power(study, measure)
        if found.sign > 0 and found.low > 0.5 + _NEAR and found.steps[-1] > 1 - 2 * _NEAR:
            return f"{_told([study], measure)}, {found.steps[-1]:.3f} at the end"
    return None


@CLAIMS.fails(
    "section-4.rates.regret.hard",
    f"{_PLACE}, with section 3",
    checked=f"{_RUNS}; {' and '.join(_ALONE)}",
)
def _hard() -> Finding:
    """On rounds drawn independently of one law, regret grows no faster than sqrt(T) where no round
    may use more than M and (5) sees what (4) wanted.

    Paper: O(sqrt(T)), while never violating (3)
    Note: The price that wants M on average wants less in some rounds and cannot have more in
    others: a loss in each.
    Holds: section-4.rates.regret.kept"""
    return Finding(_exceeds(_ALONE, "rounds_hard"), _told(_ALONE, "rounds_hard"))


@SECTION_4_RATES.fails("overuse", ", after the theorem", checked=f"{_RUNS}; {' and '.join(_ALONE)}")
def _overuse() -> Finding:
    """On rounds drawn independently of one law, what rounds use above M, without netting, grows no
    faster than sqrt(T).

    Paper: sub-linear, hence vanishing per-step
    Note: It ends with a power near 1 in every study.
    Holds: section-4.rates.violation"""
    return Finding(_exceeds(_ALONE, "overuse"), _told(_ALONE, "overuse"))


@CLAIMS.claim(
    "section-4.rates.regret.kept",
    f"{_PLACE}, with section 3",
    ours=lambda parts: f"at most {max(parts):.2f} of it; {_told(_ALONE, 'rounds_kept')}",
)
def _kept() -> Iterator[Instance]:
    """Where (5) sees what is kept, regret is at most M mu_1 / (1 - e^(-eta)) at every T.

    Paper: O(sqrt(T)), while never violating (3)
    Note: A fitted power may be above 1/2 where the price has not yet begun to matter."""
    from fluidkv_papers.tokenpd.instances.rates import STUDIES, recorded

    for name, study in STUDIES.items():
        for rounds, found in recorded()[name, "rounds_kept"].items():
            bound = study.budget * study.start / (1 - exp(-(rounds**-0.5)))
            part = float(found.blocks.max()) / bound
            yield Instance(part <= 1, part, f"{name}, T = {rounds}: {part:.2f} of it")


CLOSED = {
    ("alternating", "rounds_netted"): Fraction(-1, 4),
    ("alternating", "rounds_hard"): Fraction(1, 4),
    ("alternating", "overuse"): Fraction(1, 2),
    ("alike", "rounds_netted"): Fraction(0),
    ("alike", "rounds_hard"): Fraction(1, 2),
    ("alike", "overuse"): Fraction(1, 2),
    ("idle, then busy", "rounds_netted"): Fraction(-1, 2),
    ("idle, then busy", "violation"): Fraction(0),
    ("idle, then busy", "overuse"): Fraction(1, 2),
}
"""A round on average, for every step and even T: proofs beside the sequences."""


@SECTION_4_RATES.claim("closed-forms", ", the theorem", evidence=Evidence.FLOAT)
def _closed_forms() -> Iterator[Instance]:
    """Where regret and violation are known in closed form, that is what the record has at every T.

    Checked: three sequences, T = 10^2 ... 10^6
    Ours: all 9, at all T
    Paper: not said"""
    from fluidkv_papers.tokenpd.instances.rates import recorded

    for (study, measure), rate in CLOSED.items():
        for rounds, found in recorded()[study, measure].items():
            mean = float(found.blocks.mean())
            near = abs(mean - float(rate * rounds)) <= 1e-6 * rounds
            yield Instance(near, bad=f"{study}, {measure}, T = {rounds}: {mean:g}")
