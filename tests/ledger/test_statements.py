"""Claims declared on a predicate over a range: what is recorded, and what a surprise says."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from fluidkv.errors import InputError
from fluidkv.exact.precision import working
from fluidkv.ledger.claim import Claim, Finding, Origin
from fluidkv.ledger.outcomes import ball_rounds_to, equals
from fluidkv.ledger.ranges import Instance, Range, Seen
from fluidkv.ledger.statements import Statements
from fluidkv.ledger.verify import run, run_all
from fluidkv.verdict import Evidence, Verdict

PAIRS = Range("a = 1, 2, b = 1 ... 3", lambda: ((a, b) for a in (1, 2) for b in (1, 2, 3)))


def _declared(
    limit: int,
    *,
    cases: Range = PAIRS,
    expected: Verdict = Verdict.HOLDS,
    ours: str | Callable[[list[Any]], str] = "small",
) -> Claim:
    claims = Statements("paper", "Paper")

    @claims.claim(
        "lemma-1.sum", "Lemma 1", "S.", over=cases, ours=ours, paper="small", expected=expected
    )
    def _sum(a: int, b: int) -> bool | str:
        return a + b <= limit or f"{a} + {b}"

    (claim,) = claims
    return claim


def test_what_holds_on_a_sample_is_sampled() -> None:
    claim = _declared(5)
    assert (claim.id, claim.kind, claim.source) == ("paper.lemma-1.sum", "lemma", "Paper, Lemma 1")
    result = run(claim)
    assert result.as_expected
    assert result.outcome is not None
    assert (result.outcome.evidence, result.outcome.ours) == (Evidence.SAMPLED, "small")


def test_what_holds_on_all_cases_is_exact() -> None:
    whole = Range("all", PAIRS.cases, whole=True)
    result = run(_declared(5, cases=whole))
    assert result.as_expected
    assert result.outcome is not None
    assert result.outcome.evidence is Evidence.EXACT


def test_the_first_counterexample_is_the_witness() -> None:
    result = run(_declared(3))
    assert not result.as_expected
    assert result.outcome is not None
    assert result.outcome.verdict is Verdict.FAILS
    assert (result.outcome.witness, result.outcome.ours) == ("1 + 3", "a counterexample")
    assert run(_declared(3, expected=Verdict.FAILS)).as_expected


def test_a_claim_names_what_holds_where_it_does_not() -> None:
    claims = Statements("paper", "Paper")

    @claims.fails("lemma-1.all", "Lemma 1")
    def _all() -> bool:
        """S.

        Note: N.
        Holds: lemma-1.some,
        lemma-1.most"""
        return False

    claims.claim("lemma-1.some", "Lemma 1", "S.")(lambda: True)
    failing, other = claims
    assert failing.holds == ("paper.lemma-1.some", "paper.lemma-1.most")
    assert run(failing).to_dict()["holds"] == list(failing.holds)
    assert other.holds == ()


def test_what_is_ours_may_be_counted_or_computed() -> None:
    for ours in ("{count} pairs", lambda _: "{count} pairs, " + PAIRS.share(lambda a, b: a == b)):
        outcome = run(_declared(5, ours=ours)).outcome
        assert outcome is not None
        assert outcome.ours.startswith("6 pairs")
    assert outcome.ours == "6 pairs, 2 of 6"


def test_what_a_predicate_has_seen_makes_the_record_where_it_holds() -> None:
    claims = Statements("paper", "Paper")
    for limit in (5, 3):

        @claims.claim(
            f"lemma-1.up-to-{limit}", "Lemma 1", over=PAIRS, note=lambda seen: f"{len(seen)} sums"
        )
        def _sum(a: int, b: int, limit: int = limit) -> bool | Seen:
            """S.

            Ours: at most {max}"""
            return a + b <= limit and Seen(a + b)

    held, fell = (run(claim).outcome for claim in claims)
    assert held is not None
    assert fell is not None
    assert (held.verdict, held.ours, held.note) == (Verdict.HOLDS, "at most 5", "6 sums")
    assert (fell.verdict, fell.ours, fell.note) == (Verdict.FAILS, "a counterexample", "")
    assert fell.witness == "a = 1, b = 3"


def test_words_of_what_was_seen() -> None:
    claims = Statements("paper", "Paper")

    @claims.claim("lemma-1", "Lemma 1", over=range(1, 4))
    def _half(n: int) -> Seen:
        """S.

        Checked: n = 1 ... 3
        Ours: {count} from {min:.2f} to {max:.1f}, {sum} in all, {n} left as it is"""
        return Seen(Fraction(n, 2))

    @claims.claim("lemma-2", "Lemma 2", over=("a", "b"), whole=True, ours="{all}")
    def _letters(letter: str) -> Seen:
        """S."""
        return Seen(letter)

    halves, letters = claims
    assert halves.checked == "n = 1 ... 3"
    shown = [(each.ours, each.evidence) for c in (halves, letters) if (each := run(c).outcome)]
    assert shown == [
        ("3 from 0.50 to 1.5, 3 in all, {n} left as it is", Evidence.SAMPLED),
        ("a; b", Evidence.EXACT),
    ]


def test_the_docstring_of_a_check_is_the_record() -> None:
    claims = Statements("paper", "Paper", evidence=Evidence.BALL)

    @claims.claim("table-1.gain", "Table 1")
    def _gain() -> bool:
        """The gain is more than
        4 %.

        Checked: the printed numbers
        Ours: 5 %
        Paper: 4 %
        Note: in words that go on
        in a second line.

        How it is computed is of no concern to the record."""
        return True

    (claim,) = claims
    assert claim.statement == "The gain is more than 4 %."
    assert (claim.kind, claim.checked) == ("table", "the printed numbers")
    outcome = claim.check()
    assert (outcome.ours, outcome.paper) == ("5 %", "4 %")
    assert outcome.note == "in words that go on in a second line."
    assert (outcome.verdict, outcome.evidence) == (Verdict.HOLDS, Evidence.BALL)


@pytest.mark.parametrize(
    ("expected", "origin", "verdict"),
    [
        (Verdict.HOLDS, Origin.PRINTED, Verdict.FAILS),
        (Verdict.HOLDS, Origin.REPRODUCTION, Verdict.UNDECIDED),  # other settings may meet it
        (Verdict.FAILS, Origin.REPRODUCTION, Verdict.FAILS),
        (Verdict.UNDECIDED, Origin.READING, Verdict.UNDECIDED),
    ],
)
def test_what_a_miss_is(expected: Verdict, origin: Origin, verdict: Verdict) -> None:
    claims = Statements("paper", "Paper", origin=origin)
    for found in (False, "3 > 2", Finding("3 > 2", "3")):
        about = {"expected": expected, "witness": "2", "ours": "two"}
        claims.claim("lemma-1", "Lemma 1", "S.", **about)(lambda found=found: found)
    outcomes = [claim.check() for claim in claims]
    assert {outcome.verdict for outcome in outcomes} == {verdict}
    assert [outcome.witness for outcome in outcomes] == ["2", "3 > 2", "3 > 2"]
    words = "two" if expected is verdict else "a counterexample"
    assert [outcome.ours for outcome in outcomes] == [words, words, "3"]


@pytest.mark.parametrize(
    ("holds", "verdict", "witness"),
    [
        (None, Verdict.HOLDS, ""),
        ([], Verdict.HOLDS, ""),
        (["3 > 2", "4 > 2"], Verdict.FAILS, "3 > 2"),
        (iter(("5 > 2",)), Verdict.FAILS, "5 > 2"),
        (Verdict.UNDECIDED, Verdict.UNDECIDED, ""),
        (Verdict.HOLDS, Verdict.HOLDS, ""),
    ],
)
def test_what_a_finding_may_be(holds: Any, verdict: Verdict, witness: str) -> None:
    claims = Statements("paper", "Paper")
    claims.claim("lemma-1", "Lemma 1", "S.", paper="2")(
        lambda: Finding(holds, "3", note="n", evidence=Evidence.BALL)
    )
    (claim,) = claims
    outcome = claim.check()
    assert (outcome.verdict, outcome.witness) == (verdict, witness)
    assert (outcome.ours, outcome.paper, outcome.note) == ("3", "2", "n")
    assert outcome.evidence is Evidence.BALL


def test_claims_that_share_a_check_say_what_each_states() -> None:
    claims = Statements("paper", "Paper")

    @claims.fails("lemma-1.two", "Lemma 1", "It is two.", given=(2,))
    @claims.undecided("lemma-1.one", "Lemma 1", "It is one.", given=(1,))
    def _is(n: int) -> bool | str:
        return n > 2 or f"{n}"

    one, two = claims
    assert (one.statement, one.check().witness, run(one).as_expected) == ("It is one.", "1", True)
    assert (two.statement, two.check().witness, run(two).as_expected) == ("It is two.", "2", True)


def test_a_claim_without_a_statement_is_refused() -> None:
    claims = Statements("paper", "Paper")
    with pytest.raises(InputError, match=r"^statement: .*lemma-1"):
        claims.claim("lemma-1", "Lemma 1")(lambda: True)


def test_an_unknown_section_is_refused() -> None:
    claims = Statements("paper", "Paper")

    def check() -> bool:
        """S.

        Papers: 4 %"""
        return True

    with pytest.raises(InputError, match=r"^docstring: got 'Papers: 4 %'; allowed: .*paper"):
        claims.claim("lemma-1", "Lemma 1")(check)


def test_a_check_that_returns_nothing_does_not_hold() -> None:
    claims = Statements("paper", "Paper")
    claims.claim("lemma-1", "Lemma 1", "S.")(lambda: None)  # type: ignore[arg-type]  # what is refused
    (claim,) = claims
    assert run(claim).error.startswith("TypeError: a check returns whether")


def test_a_range_without_cases_proves_nothing() -> None:
    none = PAIRS.where("a > 5", lambda a, b: a > 5)
    assert none.words == "a = 1, 2, b = 1 ... 3, a > 5"
    assert run(_declared(5, cases=none)).error.startswith("ArithmeticError: no case")


def test_other_evidence_than_recorded_is_a_surprise() -> None:
    claims = Statements("paper", "Paper")
    claims.claim("example-1", "Example 1", "S.", evidence=Evidence.SAMPLED)(
        lambda: equals(Fraction(1, 2), "1/2")
    )
    (claim,) = claims
    assert not run(claim).as_expected


def test_no_jobs_are_refused() -> None:
    with pytest.raises(InputError, match=r"^jobs: got 0"):
        run_all([], jobs=0)


@pytest.mark.parametrize("bits", [10, 53, 300])
@pytest.mark.parametrize(
    ("printed", "verdict"),
    [
        ("1.414", Verdict.HOLDS),
        ("1.415", Verdict.FAILS),
        ("1.41421356237309505", Verdict.UNDECIDED),  # shorter than the ball is wide
    ],
)
def test_whether_a_ball_rounds_to_what_is_printed_is_decided_alike_in_any_precision(
    bits: int, printed: str, verdict: Verdict
) -> None:
    with working(53):
        ball = arb(2).sqrt()
    with working(bits):
        assert ball_rounds_to(ball, printed).verdict is verdict
    assert ball_rounds_to(arb.nan(), printed).verdict is Verdict.UNDECIDED


def test_jobs_that_are_no_number_are_refused() -> None:
    with pytest.raises(InputError, match=r"^jobs: got 2\.5"):
        run_all([], jobs=2.5)  # type: ignore[arg-type]


def test_claims_of_a_section_share_its_place_and_options() -> None:
    claims = Statements("paper", "Paper")
    section = claims.section("lemma-1", "Lemma 1", evidence=Evidence.BALL, checked="n = 2")
    section.claim("sum", "", "S.")(lambda: True)
    claims.claim("b", "Remark 2", "S.")(lambda: True)
    section.claim("sum.least", "and Figure 3", "S.", evidence=Evidence.EXACT)(lambda: True)
    section.fails("sum.most", ", proof", "S.")(lambda: False)
    assert [(c.id, c.source, c.checked, c.evidence) for c in claims] == [
        ("paper.lemma-1.sum", "Paper, Lemma 1", "n = 2", Evidence.BALL),
        ("paper.b", "Paper, Remark 2", "the printed case", Evidence.EXACT),
        ("paper.lemma-1.sum.least", "Paper, Lemma 1 and Figure 3", "n = 2", Evidence.EXACT),
        ("paper.lemma-1.sum.most", "Paper, Lemma 1, proof", "n = 2", Evidence.BALL),
    ]


def test_sections_nest_and_an_own_word_wins() -> None:
    claims = Statements("paper", "Paper")
    lemma = claims.section("lemma-1", "Lemma 1", checked="n = 2", note="shared")
    inner = lemma.section(evidence=Evidence.BALL)

    @inner.claim("a")
    def _documented() -> bool:
        """S.

        Checked: n = 3"""
        return True

    inner.claim("b", "", "S.", note="own")(lambda: True)
    a, b = claims
    assert (a.id, a.source, b.id) == ("paper.lemma-1.a", "Paper, Lemma 1", "paper.lemma-1.b")
    assert [(c.checked, c.evidence, c.check().note) for c in claims] == [
        ("n = 3", Evidence.BALL, "shared"),
        ("n = 2", Evidence.BALL, "own"),
    ]


@pytest.mark.parametrize(
    ("limit", "verdict", "witness"),
    [
        (3, Verdict.HOLDS, ""),
        (1, Verdict.FAILS, "two"),
        (2, Verdict.FAILS, "n = 3"),  # no words of its own: what is shown of it
    ],
)
def test_a_check_yields_instances_and_the_first_bad_one_is_the_witness(
    limit: int, verdict: Verdict, witness: str
) -> None:
    claims = Statements("paper", "Paper")

    @claims.claim("lemma-1", "Lemma 1", "S.", ours="{list}")
    def _small() -> Iterator[Instance]:
        for n, bad in ((1, ""), (2, "two"), (3, "")):
            yield Instance(n <= limit, f"n = {n}", bad)

    (claim,) = claims
    outcome = claim.check()
    assert (outcome.verdict, outcome.witness) == (verdict, witness)
    assert outcome.ours == "n = 1, n = 2, n = 3"


@pytest.mark.parametrize(
    ("holds", "shown", "ours", "witness"),
    [
        (False, None, "it is larger", "by hand"),  # as recorded
        (True, None, "no counterexample", ""),
        (True, "n = 1", "no counterexample", ""),
    ],
)
def test_words_of_the_record_are_said_where_it_is_what_comes_out(
    holds: bool, shown: str | None, ours: str, witness: str
) -> None:
    claims = Statements("paper", "Paper")

    @claims.claim(
        "lemma-1", "Lemma 1", "S.", ours="it is larger", witness="by hand", expected=Verdict.FAILS
    )
    def _small() -> Iterator[Instance]:
        yield Instance(holds, shown)

    (claim,) = claims
    outcome = claim.check()
    assert (outcome.ours, outcome.witness) == (ours, witness)


def test_a_check_that_yields_nothing_proves_nothing() -> None:
    claims = Statements("paper", "Paper")
    claims.claim("lemma-1", "Lemma 1", "S.")(lambda: iter(()))
    (claim,) = claims
    assert run(claim).error.startswith("ArithmeticError: a check that looks at nothing")
