"""The numbers of the price rule where nobody says them: taken from the attention itself."""

import math
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.runs.checks import count
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.objective import Objective
from fluidkv.tokenpd.pricing import Pricing


def usual_pricing(
    attention: Attention,
    *,
    step: float | None = None,
    start: float | None = None,
    risk_aversion: float = 0.0,
    penalty: float = 0.0,
    objective: Objective = Objective.RULE,
) -> Pricing:
    """A price rule for these weights.

    Args:
        step: eta; None: 1 / sqrt(rounds), as the paper has it up to a factor.
        start: mu_1; None: what a token has on average when most are held, streams over tokens. The
            paper names none. From far away it takes |log(mu / mu_1)| / eta rounds and more to get
            to a price mu that memory asks for, as a round moves log mu by eta (used - M) / M.
        risk_aversion, penalty: lambda and delta.
        objective: what a kept token is worth.

    Raises:
        InputError: what `Pricing` refuses.

    Examples:
        >>> from fluidkv.answers.price.rule import usual_pricing
        >>> from fluidkv.tokenpd import Structure, generated
        >>> attention = generated(Structure(), 0, requests=1, prompt=2, length=5)
        >>> pricing = usual_pricing(attention)
        >>> pricing.step == 1 / attention.rounds**0.5, pricing.start  # a stream of 5 tokens
        (True, 0.2)
    """
    if step is None:
        step = 1 / math.sqrt(attention.rounds)
    if start is None:
        streams, tokens = at_most(attention)
        start = streams / tokens
    return Pricing(step, start, objective=objective, risk_aversion=risk_aversion, penalty=penalty)


def tokens_of(budget: int | Fraction, attention: Attention) -> int:
    """A budget in tokens; of a share, that part of what is held at most, rounded down.

    Raises:
        InputError: less than one token, more than all that is held.
    """
    if not isinstance(budget, Fraction):
        return count("budget", budget)
    if budget > 1:
        raise InputError("budget", budget, "a share of at most 1, or an integer of tokens")
    held = at_most(attention)[1]
    tokens = int(budget * held)
    if tokens < 1:
        said = f"{float(100 * budget):g}% of {held:,} tokens"
        raise InputError("budget", said, "at least one token")
    return tokens


def at_most(attention: Attention) -> tuple[int, int]:
    """Streams and tokens in the round in which most tokens are held, if nothing is evicted."""
    last = attention.start + attention.length - attention.prompt
    best = (0, 0)
    for now in sorted(set(last.tolist())):
        runs = (attention.start <= now) & (now <= last)
        tokens = int((attention.prompt + now - attention.start)[runs].sum())
        best = max(best, (tokens, int(runs.sum())))
    return best[1], best[0]
