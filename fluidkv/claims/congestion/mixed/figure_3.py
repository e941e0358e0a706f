"""Congestion, the caption of Figure 3: from which input length on the pair (2, 7) is stable."""

from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.claims.claim import Outcome
from fluidkv.claims.congestion.paper import congestion
from fluidkv.claims.outcomes import verdict
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.survival import SurvivalWeights

_PAIR = (2, 7)
_LONGEST_INPUT = 60
_PRINTED = 15


def _weights(lengths: tuple[int, int], first_stage: int) -> "SurvivalWeights":
    """V and alpha of two classes with equal shares whose stage j holds first_stage + j tokens.

    The model has first_stage = l0 + 1. Taken as it stands, l0 = 0 is possible too.
    """
    from fluidkv.exact.survival import SurvivalWeights

    alive = [sum(length > s for length in lengths) for s in range(max(lengths))]
    memory = tuple(a * (first_stage + s) for s, a in enumerate(alive))
    return SurvivalWeights(memory, tuple(alive), denominator=2)


def _stable_inputs(lengths: tuple[int, int], *, reserved: int = 1) -> list[int]:
    """The l0 up to _LONGEST_INPUT for which all roots of F lie inside the unit circle, exact."""
    from fluidkv.exact.roots.spectrum import count_unstable

    stable = []
    for l0 in range(1 - reserved, _LONGEST_INPUT + 1):
        count = count_unstable(_weights(lengths, l0 + reserved))
        if count.evidence is not Evidence.EXACT:
            raise ArithmeticError(f"degree {max(lengths) - 1} was not counted exactly")
        if count.outside == 0 and count.on_circle == 0:
            stable.append(l0)
    return stable


def _threshold() -> Outcome:
    stable = _stable_inputs(_PAIR)
    whole = stable == list(range(stable[0], _LONGEST_INPUT + 1))
    others = {
        "l0 + j tokens in stage j": _stable_inputs(_PAIR, reserved=0),
        "decode lengths counted one shorter, (1, 6)": _stable_inputs((1, 6)),
        "one longer, (3, 8)": _stable_inputs((3, 8)),
    }
    readings = "; ".join(f"{name}: {found[0]}" for name, found in others.items())
    return Outcome(
        verdict(whole and stable[0] == _PRINTED),
        Evidence.EXACT,
        ours=f"not stable for l0 < {stable[0]}, stable from there to {_LONGEST_INPUT}"
        if whole
        else f"stable for {stable}",
        paper=f"l0 >= {_PRINTED}",
        note=f"The smallest l0 under other readings: {readings}. The first-order criterion below "
        "(12) gives it: see congestion.figure-3.a.first-order.",
    )


def _first_order() -> Outcome:
    """The smallest l0 with (l0 + 7)(1 - rho) >= 1, rho the spectral radius of the limit A."""
    from fluidkv.exact.roots.spectrum import certify_spectrum
    from fluidkv.exact.survival import SurvivalWeights

    alive = _weights(_PAIR, 1).requests
    limit = certify_spectrum(SurvivalWeights(alive, alive, denominator=2))
    # Fractions of the outward-rounded ends, so that the two comparisons are rigorous.
    low, high = (Fraction(end) for end in limit.radius)
    meets = (_PRINTED + _PAIR[1]) * (1 - high) >= 1
    below_fails = (_PRINTED - 1 + _PAIR[1]) * (1 - low) < 1
    return Outcome(
        verdict(meets and below_fails),
        Evidence.BALL,
        ours=f"rho = {float(low):.6f}, so l0 >= {float(1 / (1 - low)) - _PAIR[1]:.2f}",
        paper=f"l0 >= {_PRINTED}",
        note="An estimate of the threshold for long inputs; the roots of F at finite l0 decide.",
    )


CLAIMS = (
    congestion(
        "figure-3.a.threshold",
        "For decode lengths 2 and 7 and p = 1/2, the roots of F lie inside the unit circle exactly "
        "from l0 = 15 on.",
        "Figure 3, caption (a)",
        _threshold,
        kind="figure",
        expected=Verdict.FAILS,
        checked=f"l0 = 0 ... {_LONGEST_INPUT}",
    ),
    congestion(
        "figure-3.a.first-order",
        "For decode lengths 2 and 7 and p = 1/2, 15 is the smallest l0 that meets the first-order "
        "criterion (l0 + 7)(1 - rho) >= 1.",
        "Figure 3, caption (a), read as the criterion below (12)",
        _first_order,
        kind="figure",
    ),
)
