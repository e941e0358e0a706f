"""Which victims waste least, beside the best of all on small cases, and who starves.

What RFC 54644 and pull requests 53723, 36980, 38080 and 56897 propose, compared; statements are
ours. Rules of vLLM but for the victim: `fluidkv_papers.theory.best`.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Keeps, Requeue, Victim
from fluidkv_papers.theory.best import Case, Cost, Endless, best_victims, cost_of_rule, endless
from fluidkv_papers.vllm.instances.best_survey import SURVEYS, Score, recorded
from fluidkv_papers.vllm.instances.victim_rules import RULES, with_victim

CLAIMS = Statements("vllm-54644", "vLLM", origin=Origin.READING, evidence=Evidence.EXACT)

_PLACE = "RFC 54644; not stated there"
_CASES = "all cases of 3 requests of up to 3 + 4 tokens and of 4 of up to 2 + 3"


def _surveys(cost: Cost) -> Iterator[dict[str, Score]]:
    for survey, scores in zip(SURVEYS, recorded(), strict=True):
        if survey.cost is cost and survey.budget is None and survey.requests > 2:
            yield scores


def _over(score: Score) -> str:
    return f"{score.victim.lower()} {score.spent / score.best - 1:.1%}"


@CLAIMS.claim("best.recomputed", _PLACE, checked=f"{_CASES}; some 19,000 on record")
def _no_rule_is_near() -> Iterator[Instance]:
    """Over all cases each of eight rules recomputes at least a sixth more than the best victims do,
    most computed first at least a third.

    Ours: more than the best: {all}
    Paper: -"""
    for scores in _surveys(Cost.RECOMPUTED):
        ranked = sorted(scores.values(), key=lambda score: score.spent)
        shown = ", ".join(_over(score) for score in (ranked[0], ranked[1], ranked[-1]))
        far = ranked[0].spent >= 7 / 6 * ranked[0].best
        worst = scores[Victim.MOST_COMPUTED.name].spent >= 4 / 3 * ranked[0].best
        yield Instance(far and worst, shown)


_SMALLEST = {
    Victim.LAST_ADMITTED: Case(((1, 2), (2, 2)), 3),
    Victim.COST_AWARE: Case(((1, 2), (2, 2)), 3),
    Victim.FEWEST_BLOCKS: Case(((1, 2), (2, 2)), 4),
    Victim.LEAST_COMPUTED: Case(((1, 2), (2, 2)), 3),
}


@CLAIMS.claim("best.smallest", _PLACE)
def _smallest_cases() -> Iterator[Instance]:
    """Last come, least computed, cost-aware and fewest blocks recompute more than need be with two
    requests already.

    Checked: one case for each
    Paper: -"""
    for victim, case in _SMALLEST.items():
        best = best_victims(case.requests, VLLM, case.limits).recomputed
        spent, _ = cost_of_rule(case.requests, with_victim(VLLM, victim), case.limits)
        yield Instance(spent > best, f"{victim.name.lower()}: {case}, {spent:.0f} for {best}")


@CLAIMS.claim("starvation.none", _PLACE, evidence=Evidence.SAMPLED)
def _nobody_starves() -> Iterator[Instance]:
    """Where outputs are kept and the evicted wait at the head, as in vLLM, nobody starves beside an
    endless stream, whatever the victims.

    Checked: the seven rules that draw no lots; all of up to 3 tokens of memory, 2 and 3 clients;
    for all there is an argument (`fluidkv_papers.theory.best.stream`)
    Ours: done, after {max} evictions at most
    Paper: -"""
    rules = [victim for victim in RULES if victim is not Victim.RANDOM]
    for victim, one, stream, clients in product(rules, _lengths(3), _lengths(3), (2, 3)):
        found = _stream(with_victim(VLLM, victim), one, stream, 3, clients, clients - 1)
        bad = f"{victim.name}: {one} beside {stream}, {clients} clients"
        yield Instance(found.done is not None, found.evictions, bad)


def _lengths(most: int) -> list[tuple[int, int]]:
    return [(i, o) for i in range(1, most + 1) for o in range(1, most + 2 - i)]


def _stream(
    rules: EngineRules,
    one: tuple[int, int],
    stream: tuple[int, int],
    capacity: int,
    clients: int,
    place: int,
    budget: int | None = None,
) -> Endless:
    limits = Limits(capacity, max_num_batched_tokens=budget)
    return endless(one, stream, rules, limits, clients=clients, place=place)


@CLAIMS.claim("starvation.least-computed.restart", _PLACE)
def _least_computed_starves() -> Finding:
    """Where the evicted start again, least computed first never finishes one of two requests that
    are alike, while the other's successors finish one after the other.

    Checked: 1 + 2 tokens each, 2 tokens of memory: the state comes back"""
    rules = replace(VLLM, victim=Victim.LEAST_COMPUTED, keeps=Keeps.NOTHING)
    return _starved(_stream(rules, (1, 2), (1, 2), 2, 2, 0))


@CLAIMS.claim("starvation.least-computed.tail", _PLACE)
def _least_computed_starves_at_the_tail() -> Finding:
    """Where the evicted wait at the tail and prompts are cut, least computed first starves a
    request that is shorter than all others.

    Checked: 1 + 2 tokens beside 2 + 3, 5 tokens of memory, 2 an iteration: the state comes back"""
    rules = replace(VLLM, victim=Victim.LEAST_COMPUTED, requeue=Requeue.TAIL)
    return _starved(_stream(rules, (1, 2), (2, 3), 5, 3, 1, budget=2))


def _starved(found: Endless) -> Finding:
    shown = (
        f"from iteration {found.start} on, every {found.period}: "
        f"{found.completed} done, {found.evictions} evictions of the one"
    )
    return Finding(None if found.starves else f"done in {found.done}", shown, paper="-")


@CLAIMS.claim("starvation.most-computed.locked", _PLACE)
def _nobody_is_done() -> Finding:
    """Where the evicted start again, most computed first may finish nobody, ever.

    Checked: 1 + 4 and 1 + 5 tokens, 5 tokens of memory: the state comes back
    Paper: -"""
    case = Case(((1, 4), (1, 5)), 5)
    rules = replace(VLLM, victim=Victim.MOST_COMPUTED, keeps=Keeps.NOTHING)
    spent, _ = cost_of_rule(case.requests, rules, case.limits)
    best = best_victims(case.requests, rules, case.limits)
    bad = None if spent == float("inf") else f"done with {spent:.0f} tokens recomputed"
    return Finding(bad, f"never; {best.iterations} iterations with the best")
