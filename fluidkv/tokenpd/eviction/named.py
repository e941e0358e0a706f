"""The policies that people use, by name, and Token-PD's."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fluidkv.errors import InputError
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope
from fluidkv.tokenpd.eviction.scorers import (
    Accumulated,
    Drawn,
    LastUsed,
    Persistence,
    Return,
    Votes,
    Written,
)
from fluidkv.tokenpd.pricing import Budget, Pricing
from fluidkv.tokenpd.seen import Predictor

SINKS = 4
"""StreamingLLM keeps so many first tokens (Xiao et al., ICLR 2024; `start_size` in its authors'
github.com/mit-han-lab/streaming-llm)."""
SCISSORHANDS_WINDOW = 10
"""Recent tokens that stay whatever their record; ours."""

_RETURN, _PRICED = ("return", "return-pooled"), ("token-pd", "token-pd-hard", "token-pd-heap")
NAMES = (
    *("fifo", "lru", "h2o", "streaming-llm", "snapkv-like", "scissorhands-like", "random"),
    *(_RETURN[0], *_PRICED, "full"),
)
"""Names of policies; all up to `return` also with `-pooled` after them."""


def policies(
    predictor: Predictor | None = None, pricing: Pricing | None = None
) -> dict[str, EvictionPolicy]:
    """All policies by name.

    Each of fifo, lru, h2o, streaming-llm, snapkv-like, scissorhands-like and random in each
    stream's share of the budget, and with `-pooled` after its name in one budget for all; full
    keeps all. Of the policies with a predictor, `return` keeps the best of R - lambda sigma^2 (the
    same returns as Token-PD, without a price), `token-pd` is rule (4) with (5) where rounds may use
    more than the budget, `token-pd-hard` the same within the budget, and `token-pd-heap` section
    5's heap.

    Args:
        predictor: of returns; without one the policies that need one are left out.
        pricing: with a predictor; without one the policies that price are left out. Its budget is
            replaced by the policy's.

    Raises:
        InputError: a predictor that predicts nothing, a pricing that is none.

    Examples:
        >>> from fluidkv.tokenpd import Pricing, policies
        >>> from fluidkv.tokenpd.returns.averages import LastSeen
        >>> [name for name in policies() if name.endswith("-like")]
        ['snapkv-like', 'scissorhands-like']
        >>> len(policies()), len(policies(LastSeen(), Pricing(step=0.1)))  # without, with one
        (15, 20)
    """
    plain: dict[str, EvictionPolicy] = {
        "fifo": EvictionPolicy("fifo", Written()),
        "lru": EvictionPolicy("lru", LastUsed()),
        "h2o": EvictionPolicy("h2o", Accumulated(), window_share=Fraction(1, 2)),
        "streaming-llm": EvictionPolicy("streaming-llm", Written(), sinks=SINKS),
        "snapkv-like": EvictionPolicy("snapkv-like", Votes()),
        "scissorhands-like": EvictionPolicy(
            "scissorhands-like", Persistence(), window=SCISSORHANDS_WINDOW
        ),
        "random": EvictionPolicy("random", Drawn()),
    }
    if predictor is not None:
        aversion = 0.0 if pricing is None else pricing.risk_aversion
        plain["return"] = EvictionPolicy("return", Return(predictor, aversion))
    found: dict[str, EvictionPolicy] = {}
    for name, one in plain.items():
        pooled = f"{name}-pooled"
        found |= {name: one, pooled: replace(one, name=pooled, scope=Scope.POOLED)}
    if predictor is not None and pricing is not None:
        found |= _priced(predictor, pricing)
    return found | {"full": EvictionPolicy("full", Written(), choice=Choice.ALL)}


def _priced(predictor: Predictor, pricing: Pricing) -> dict[str, EvictionPolicy]:
    kinds = {
        "token-pd": (Choice.PRICE, Budget.NETTED),
        "token-pd-hard": (Choice.PRICE, Budget.HARD),
        "token-pd-heap": (Choice.HEAP, Budget.HARD),
    }
    return {
        name: EvictionPolicy(
            name,
            Return(predictor),
            scope=Scope.POOLED,
            choice=choice,
            pricing=replace(pricing, budget=budget),
        )
        for name, (choice, budget) in kinds.items()
    }


def policy(
    name: str,
    predictor: Predictor | None = None,
    pricing: Pricing | None = None,
    **changes: Any,
) -> EvictionPolicy:
    """One of `policies`, with some of its fields changed.

    Raises:
        InputError: a name that none has, or that needs a predictor or a pricing; a field that
            policies do not have.

    Examples:
        >>> from fluidkv.tokenpd import policy
        >>> h2o = policy("h2o", sinks=4)
        >>> h2o.sinks, h2o.window_share, h2o.scope.value
        (4, Fraction(1, 2), 'uniform')
    """
    known = policies(predictor, pricing)
    if name not in known:
        needs = "with a predictor and a pricing" if name in _PRICED else "with a predictor"
        allowed = needs if name in (*_RETURN, *_PRICED) else ", ".join(known)
        raise InputError("policy", name, allowed)
    for field in changes:
        if field not in EvictionPolicy.__dataclass_fields__:
            raise InputError("changes", field, ", ".join(EvictionPolicy.__dataclass_fields__))
    return replace(known[name], **changes)
