"""Congestion, section 4 and Appendix B."""

from tests.papers.mutants import Mutant

MUTANTS = [
    # examples 4 and 5, Figure 2
    Mutant("congestion.example-4.limit-polynomial", '"z**2 + z + 1/2"', '"z**2 + z + 1/3"'),
    Mutant("congestion.example-5.equilibrium", '"4")', '"5")'),
    Mutant("congestion.figure-2.b.finite-root", '"1.015", "1.025"', '"1.025", "1.035"'),
    # the threshold
    Mutant(
        "congestion.equation-12.remainder",  # O(eps^2)
        "/ coprime.drift_ratio(a / n, p)",
        "* n / coprime.drift_ratio(a / n, p)",
    ),
    Mutant("congestion.equation-12.criterion.required", "at * low >= 1", "at * low <= 1"),
    Mutant("congestion.figure-3.a.threshold", "_PRINTED = 15", "_PRINTED = 18", near="_PAIR ="),
    Mutant("congestion.figure-3.a.first-order", "_PRINTED = 15", "_PRINTED = 16", near="_PAIR ="),
    Mutant("congestion.proposition-4.asymptotic", "n**3", "n**2", near="def _relative_errors"),
    Mutant("congestion.proposition-4.harder.prefactor", "subs(theta, 0)", "subs(theta, 1)"),
    Mutant(
        "congestion.proposition-4.harder.long-requests-rare",  # for a = 1 it is not so
        "a > 1)",
        "a > 0)",
        near='PAIRS.where("a > 1',
    ),
    # recurrence and equations
    Mutant("congestion.equation-7", "1 - rate * sum(limit) / c", "1 - rate / c"),
    Mutant("congestion.equation-8", "Fraction(n + 1, 2))", "Fraction(n, 2))"),
    Mutant("congestion.equation-30", "(n - 1) * limit", "n * limit"),
    Mutant("congestion.equation-10.cohort-map", "-v[j + 1] / v[0]", "-v[j] / v[0]"),
    # roots of the limit and their drift
    Mutant("congestion.lemma-10", "== rest.degree()", "< rest.degree()"),
    Mutant("congestion.lemma-12", "p * r * n", "p * r", near="def _mean"),
    Mutant(
        "congestion.remark-2.invariance",  # of all roots
        "roots.polynomial.split_reciprocal(_whole(mix))[0]",
        "_limit(mix)",
    ),
    Mutant("congestion.theorem-14.roots-outside", ">= mix.decode_gcd - 1", ">= mix.decode_gcd"),
    Mutant("congestion.lemma-15.count", "decode_gcd - 1", "decode_gcd", near="def _settles"),
    Mutant("congestion.theorem-17", "decode_gcd - 1", "decode_gcd", near="def _settles"),
    Mutant("congestion.lemma-15.order", "rate.limit == 1", "rate.limit == 2"),
    Mutant("congestion.b-9.radial", "p * r * n", "p * n", near="def _radial"),
    Mutant("congestion.example-8.at-one", '"5/2"', '"3/2"'),
    Mutant("congestion.figure-10.b.drift", '"1.087"', '"1.086"'),
    Mutant(
        "congestion.figure-11.first-order.coprime",
        "input_length + second",
        "input_length + 2 * second",
        near="def _confirmed",
    ),
    # limits and proofs
    Mutant("congestion.theorem-24.expansion", "alpha * bend + 2", "alpha * bend + 1"),
    Mutant(
        "congestion.theorem-24.dominant-branches-simple",
        "SIMPLE_FROM = 6",
        "SIMPLE_FROM = 5",
        near="_BITS = 128",
    ),
    Mutant(
        "congestion.theorem-24.spectral-radius",  # K eps^2
        "abs(remainder(",
        "abs(n * remainder(",
    ),
    Mutant("congestion.proposition-25.phase-derivatives", "D**3) == 0", "D**2) == 0"),
    Mutant(
        "congestion.corollary-26.bound", "drift_ratio(t / 100, p)", "drift_ratio(t / 100, p) / 2"
    ),
    Mutant("congestion.lemma-23.place", "** (n - a) * p**n", "** n * p**n"),
    Mutant("congestion.lemma-27.away", "_DELTA**2 / 4", "_DELTA**2 * 4", near="def _away"),
    Mutant("congestion.lemma-28.equation", "eta / n * z /", "eta * z /", near="right ="),
    Mutant("congestion.lemma-29.product", "1 - eps * (n - 1)", "1 - eps * n"),
    Mutant("congestion.b-8-7.quadratic-form", "(y - b * centre) ** 2", "(y - centre) ** 2"),
    Mutant(
        "congestion.b-8-7.fixed-shorter-lengths",
        "mean**2 / last**2",
        "mean**2 / last",
        near="def _fixed_constant",
    ),
    Mutant("congestion.b-8-7.bounded-resonance", "value / two", "value / one"),
    Mutant("congestion.b-8-7.upper-bound", "2 * math.pi**2", "math.pi**2", near="def upper_bound"),
    # global convergence, B.6
    Mutant("congestion.lemma-20.evicted", "+ 1) ** 2", "+ 1) ** 3", near="def _evicted"),
    Mutant("congestion.lemma-20.sharp", "(l0 + 2)", "(l0 + 1)", near="as_said ="),
    Mutant("congestion.figure-12.a.cleared", '"9"', '"99"'),
    Mutant("congestion.example-10.transition-matrix", "-13/22", "-12/22"),
    Mutant("congestion.example-10.rate", '"0.907"', '"0.908"'),
    Mutant("congestion.example-11.entry", '"8"', '"9"'),
    Mutant("congestion.example-11.post-shift-share", '"63"', '"64"'),
    Mutant("congestion.example-11.exceeds-guaranteed", "ratio > 10", "ratio > 100"),
    Mutant("congestion.figure-15.a.spiral", "shrinks < 1", "2 * shrinks < 1"),
    Mutant("congestion.figure-12.b.order", "(l0 + 1) ** 2", "(l0 + 1)"),
    Mutant(
        "congestion.theorem-22.first-step-size", "W - 2 * kappa", "W - kappa", near="estimates !="
    ),
    Mutant("congestion.theorem-22.rate", "1 - 1 / low", "1 - 4 / low", near="def _rate"),
    Mutant("congestion.theorem-22.one-step-change", "2 * cross", "cross"),
]
