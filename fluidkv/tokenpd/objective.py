"""What keeping a token is worth: the paper writes it three ways, and they are not the same.

Of a token with return R, risk sigma^2 and recomputation penalty delta, kept (x = 1) or not (x = 0),
utility (2) counts R - lambda sigma^2 - (1 - x) delta, so that keeping it adds delta, whatever R is.
Rule (4) weighs R - lambda sigma^2 against the price; Appendix A weighs R - lambda sigma^2 - delta.
"""

from enum import Enum
from typing import Any


class Objective(Enum):
    """What a kept token adds.

    UTILITY: delta, as (2) says literally. RULE: R - lambda sigma^2, as in (4).
    APPENDIX: R - lambda sigma^2 - delta. REPAIRED: R - lambda sigma^2 + delta, which is (2) if the
    return comes from kept tokens alone: ours, the paper does not print it.

    Examples:
        >>> from fluidkv.tokenpd.objective import Objective, worth_of
        >>> half = {"risk_aversion": 0, "penalty": Fraction(1, 4)}
        >>> {each.value: str(worth_of(each, Fraction(1, 2), 0, **half)) for each in Objective}
        {'utility': '1/4', 'rule': '1/2', 'appendix': '1/4', 'repaired': '3/4'}
    """

    UTILITY = "utility"
    RULE = "rule"
    APPENDIX = "appendix"
    REPAIRED = "repaired"


def worth_of(
    objective: Objective, returns: Any, risk: Any, *, risk_aversion: Any, penalty: Any
) -> Any:
    """What keeping tokens adds; numbers, exact ones or arrays of any one shape.

    Args:
        returns, risk: R and sigma^2.
        risk_aversion, penalty: lambda and delta.

    Raises:
        InputError: an objective that is none.

    Examples:
        >>> from fluidkv.tokenpd.objective import Objective, worth_of
        >>> returns, risk = np.array([0.5, 0.5]), np.array([0, 0.25])
        >>> worth_of(Objective.RULE, returns, risk, risk_aversion=1, penalty=0).tolist()
        [0.5, 0.25]
    """
    if objective is Objective.UTILITY:
        return 0 * returns + penalty
    sure = returns - risk_aversion * risk
    sign = {Objective.RULE: 0, Objective.APPENDIX: -1, Objective.REPAIRED: 1}[objective]
    return sure + sign * penalty
