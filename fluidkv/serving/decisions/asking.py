"""What running requests ask for, literally: tokens of the budget, and room in memory."""

from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.progress import Computing, Request
from fluidkv.serving.rules import EngineRules, Growth


def asked(
    rules: EngineRules,
    limits: Limits,
    running: list[Request],
    newcomers: Computing,
    *,
    prefills_only: bool,
) -> dict[Request, int]:
    """Tokens that running requests compute next, in running order, while the budget lasts.

    Where prefills run alone the budget is theirs; decodes have none. Newcomers are served already,
    and whose cache is being copied asks for nothing.
    """
    decodes_only = rules.prefill_alone and not prefills_only
    left = UNLIMITED if decodes_only else limits.budget - sum(newcomers.values())
    tokens: dict[Request, int] = {}
    for request in running:
        if left == 0:
            break
        if request in newcomers or request.kept or (prefills_only and request.decoding):
            continue
        tokens[request] = min(request.length - request.computed, left)
        left -= tokens[request]
    return tokens


def fit(rules: EngineRules, free: int, growth: list[int]) -> bool:
    """Whether free blocks hold what is asked for, one after the other. Exactly full still fits."""
    if rules.growth is Growth.ONE_FREE and growth:
        return free - sum(growth[:-1]) >= max(1, growth[-1])
    return free >= sum(growth)
