"""Mutants of the statements about Token-PD's rule, price and guarantee, sections 3 and 4."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.section-3.regret.one-set.below", "one <= each", "one < each"),
    Mutant("tokenpd.section-3.regret.one-set.clairvoyant", "one == each", "one <= each"),
    Mutant("tokenpd.section-3.regret.utility-2", "a - (1 - x)", "a * x - (1 - x)"),
    Mutant("tokenpd.section-4.guarantee.regret.in-all.quarter", "(horizon, 4)", "(horizon, 2)"),
    Mutant(
        "tokenpd.section-4.guarantee.regret.in-all",
        "price_rule.purse_optimum(case.pool, 1)",
        "0",
        "def _lost",
    ),
    Mutant(
        "tokenpd.section-4.guarantee.regret.in-all.fixed-price",
        "least_worth == HALF",
        "least_worth == 1",
    ),
    Mutant("tokenpd.section-4.guarantee.regret.in-all.any-rule", "(horizon, 4)", "(horizon, 2)"),
    Mutant("tokenpd.section-3.protocol.errors", "<= signed + off", "<= signed"),
    Mutant("tokenpd.section-3.protocol.any-predictions", "((ZERO,),)", "((ONE,),)"),
    Mutant("tokenpd.section-3.protocol.any-rule", "sum(x) <= 1", "sum(x) <= 2"),
    Mutant("tokenpd.equation-4.independent", "for a in values for", "for a in values[1:] for"),
    Mutant("tokenpd.equation-4.kkt.optimal", "turn.excess < 0 and", "turn.excess < 0 or"),
    Mutant("tokenpd.equation-5.non-negative", "is (market.start > 0)", "is (market.start >= 0)"),
    Mutant("tokenpd.equation-5.sub-gradient", "slope = -turn.excess", "slope = turn.excess"),
    Mutant("tokenpd.equation-5.identity", "memory / eta *", "eta / memory *"),
    Mutant("tokenpd.equation-5.constant-cost", "with_sum=False", "with_sum=True"),
    Mutant(
        "tokenpd.section-4.guarantee.violation.netted",
        "<= price_rule.most_violation(setting)",
        "<= price_rule.most_violation(setting) / 9",
    ),
    Mutant(
        "tokenpd.section-4.guarantee.regret.netted",
        "<= price_rule.most_regret_simply(setting)",
        "<= price_rule.most_regret_simply(setting) / 99",
    ),
    Mutant(
        "tokenpd.appendix-a.rounding.small-cost",
        "<= price_rule.most_regret_simply(setting)",
        "<= price_rule.most_regret_simply(setting) / 99",
    ),
    Mutant("tokenpd.section-4.guarantee.regret.netted.sharp", "HALF * waits", "waits"),
    Mutant(
        "tokenpd.section-4.guarantee.violation.netted-any-start",
        "zero_price(horizon)",
        "zero_price(1)",
    ),
    Mutant(
        "tokenpd.section-4.guarantee.violation.netted-any-start.linear",
        "start=Fraction(0)",
        "start=ONE",
    ),
    Mutant("tokenpd.section-3.regret.never-violating", "Market()", "Market(budget=Budget.HARD)"),
    Mutant("tokenpd.section-4.guarantee.regret.hard.wanted.linear", "else 4)", "else 2)"),
    Mutant("tokenpd.section-4.guarantee.regret.hard.wanted.crowd", "rounds - times", "rounds // 2"),
    Mutant("tokenpd.section-4.guarantee.regret.hard.wanted", "Budget.HARD", "Budget.NETTED"),
    Mutant(
        "tokenpd.section-4.guarantee.regret.hard.wanted.smallest",
        "len(first) == 1",
        "len(first) == 2",
    ),
    Mutant(
        "tokenpd.section-4.guarantee.regret.hard.kept",
        "Demand.KEPT",
        "Demand.WANTED",
        "def _kept()",
    ),
    Mutant(
        "tokenpd.section-4.guarantee.regret.hard.kept.price-only-falls",
        "Demand.KEPT",
        "Demand.WANTED",
        "def _kept()",
    ),
    Mutant(
        "tokenpd.section-4.guarantee.regret.no-price",
        "range(min(market.tokens, len(values)) + 1)",
        "range(len(values) + 1)",
    ),
    Mutant("tokenpd.section-4.guarantee.regret.hard.fixed-price", "Budget.HARD", "Budget.NETTED"),
    Mutant(
        "tokenpd.section-4.guarantee.per-step.average",
        "sum(turn.excess for",
        "sum(max(turn.excess, 0) for",
    ),
    Mutant("tokenpd.section-4.guarantee.per-step.rounds", ".overuse", ".violation"),
    Mutant("tokenpd.section-4.guarantee.per-step.rounds.half", "horizon // 2", "horizon // 4"),
    Mutant(
        "tokenpd.section-4.ten-steps.slowest", "max(market.memory, max", "min(market.memory, max"
    ),
    Mutant("tokenpd.section-4.ten-steps.any-horizon", "math.sqrt(t)", "1"),
    Mutant(
        "tokenpd.section-4.guarantee.regret.gone.comparators",
        "one == knowing",
        "one == 1 + knowing",
    ),
    Mutant("tokenpd.section-4.guarantee.regret.returns", "gone=False", "gone=True"),
    Mutant("tokenpd.section-4.guarantee.regret.gone", "gone=True", "gone=False"),
    Mutant("tokenpd.section-4.guarantee.regret.returns.charged", "charged = HALF", "charged = 0"),
    Mutant(
        "tokenpd.section-4.guarantee.regret.returns.charged.hard",
        "HALF * int(run",
        "0 * int(run",
    ),
    Mutant("tokenpd.section-4.rates.violation", '_faster("violation")', '_faster("overuse")'),
    Mutant(
        "tokenpd.section-4.rates.regret.netted",
        '_faster("rounds_netted")',
        '_faster("rounds_hard")',
    ),
    Mutant(
        "tokenpd.section-4.rates.regret.fixed-price.independent",
        '_power(study, "price_netted")',
        '_power(study, "rounds_hard")',
    ),
    Mutant(
        "tokenpd.section-4.rates.regret.fixed-price.drifting",
        '_exceeds(studies, "price_netted")',
        '_exceeds(studies, "rounds_kept")',
    ),
    Mutant(
        "tokenpd.section-4.rates.regret.hard",
        '_exceeds(_ALONE, "rounds_hard")',
        '_exceeds(_ALONE, "rounds_kept")',
    ),
    Mutant(
        "tokenpd.section-4.rates.overuse",
        '_exceeds(_ALONE, "overuse")',
        '_exceeds(_ALONE, "violation")',
    ),
    Mutant("tokenpd.section-4.rates.regret.kept", '[name, "rounds_kept"]', '[name, "rounds_hard"]'),
    Mutant("tokenpd.section-4.rates.closed-forms", "Fraction(1, 4)", "Fraction(1, 3)", "CLOSED = "),
]
