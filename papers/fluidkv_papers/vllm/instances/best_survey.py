"""Every rule beside the best victims on all small cases: thousands of them, on record.

The cases of one survey are all requests of some lengths, in all orders, in every memory that holds
each alone and not all. `best_survey.csv` has a row for each survey and rule; the tests compute the
smallest again, and all of them when asked to be thorough.
"""

from dataclasses import astuple, dataclass, fields
from functools import cache

from fluidkv.serving.engines import VLLM
from fluidkv.serving.rules import Victim
from fluidkv_papers.records import Table
from fluidkv_papers.theory.best import Cost, best_victims, cost_of_rule, small_cases
from fluidkv_papers.vllm.instances.victim_rules import RULES, with_victim

_TABLE = Table(__file__)


@dataclass(frozen=True)
class Survey:
    """All cases of so many requests, inputs and outputs up to these, and what is to be least."""

    requests: int
    inputs: int
    outputs: int
    cost: Cost = Cost.RECOMPUTED
    budget: int | None = None


SURVEYS = (
    Survey(3, 2, 3),
    Survey(3, 2, 3, Cost.ITERATIONS),
    Survey(3, 2, 3, budget=3),
    Survey(3, 3, 4),
    Survey(3, 3, 4, Cost.ITERATIONS),
    Survey(4, 2, 3),
    Survey(2, 3, 4),
)


@dataclass(frozen=True)
class Score:
    """One rule in one survey.

    Fields:
        cases: how many there are.
        best, spent: cost of the best victims and of the rule, over all cases.
        worse: cases in which the rule costs more than the best.
        most: the largest difference in one case.
        ratio: the largest quotient in one case in which the best costs something.
        first: the smallest case in which it costs more; "" if there is none.
    """

    victim: str
    cases: int
    best: int
    spent: int
    worse: int
    most: int
    ratio: float
    first: str


def computed(survey: Survey) -> list[Score]:
    """Every rule in one survey, in the order of `RULES`."""
    part = 0 if survey.cost is Cost.RECOMPUTED else 1
    cases = list(
        small_cases(survey.requests, survey.inputs, survey.outputs, VLLM, budget=survey.budget)
    )
    best: list[int] = []
    for case in cases:
        found = best_victims(case.requests, VLLM, case.limits, cost=survey.cost)
        best.append((found.recomputed, found.iterations)[part])

    def score(victim: Victim) -> Score:
        rules = with_victim(VLLM, victim)
        spent = [int(cost_of_rule(c.requests, rules, c.limits)[part]) for c in cases]
        over = [a - b for a, b in zip(spent, best, strict=True)]
        return Score(
            victim.name,
            len(cases),
            sum(best),
            sum(spent),
            sum(x > 0 for x in over),
            max(over),
            round(max(a / b for a, b in zip(spent, best, strict=True) if b), 4),
            next((str(c) for c, x in zip(cases, over, strict=True) if x > 0), ""),
        )

    return [score(victim) for victim in RULES]


def record() -> None:
    """Compute all surveys and write them."""
    header = ["survey", *(f.name for f in fields(Score))]
    scores = ((k, score) for k, survey in enumerate(SURVEYS) for score in computed(survey))
    _TABLE.write(header, ([k, *astuple(score)] for k, score in scores))


@cache
def recorded() -> tuple[dict[str, Score], ...]:
    """The scores of each survey, by the name of the rule."""
    found: tuple[dict[str, Score], ...] = tuple({} for _ in SURVEYS)
    for line, score in zip(_TABLE.lines(), _TABLE.rows(Score), strict=True):
        found[int(line["survey"])][score.victim] = score
    return found
