"""The ledger: every outcome is the recorded one, and a wrong record is noticed."""

import builtins
import inspect
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import CodeType, FunctionType

import pytest

import fluidkv_papers
from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import stability
from fluidkv.ledger import outcomes
from fluidkv.ledger.claim import Claim, Outcome, Result
from fluidkv.ledger.outcomes import conjugate_modulus_squared, equals, root_rounds_to, rounds_to
from fluidkv.ledger.registry import ledger, select, verify
from fluidkv.ledger.verify import run, run_all
from fluidkv.verdict import Evidence, Verdict
from fluidkv.workload import RequestClass, System, Workload


@pytest.mark.parametrize("claim", ledger(), ids=lambda claim: claim.id)
def test_outcome_is_the_recorded_one(claim: Claim) -> None:
    """What fails has a witness or both values. The claims of a paper run in one process."""
    result = run(claim)
    assert result.error == ""
    assert result.as_expected, result.to_dict()
    if claim.expected is Verdict.FAILS:
        assert result.outcome is not None
        assert result.outcome.ours != result.outcome.paper


def test_ids_are_unique_and_statements_are_sentences() -> None:
    claims = ledger()
    assert max(Counter(claim.id for claim in claims).values()) == 1
    assert all(c.statement.endswith(".") and c.source and c.checked for c in claims)


def test_what_holds_where_a_claim_does_not_is_in_the_ledger_and_holds() -> None:
    known = {claim.id: claim for claim in ledger()}
    for claim in ledger():
        assert [id for id in claim.holds if known[id].expected is not Verdict.HOLDS] == [], claim.id
        assert claim.expected is not Verdict.HOLDS or not claim.holds, claim.id
    assert sum(claim.expected is Verdict.FAILS and bool(claim.holds) for claim in ledger()) > 100


def test_every_module_of_claims_is_in_the_ledger() -> None:
    files = Path(fluidkv_papers.__path__[0]).glob("*/claims/**/*.py")
    declaring = {path for path in files if "\nCLAIMS = " in path.read_text(encoding="utf-8")}
    listed = {Path(str(sys.modules[claim.check.__module__].__file__)) for claim in ledger()}
    assert declaring == listed


def test_no_check_holds_only_words_that_stand_in_it_against_each_other() -> None:
    """Then it could come out in one way alone: what it says is a remark of the coverage page."""
    said = {*dir(builtins), "append", "items", "join", "lower", "sorted", "values"}
    said |= {
        "Finding",
        "Outcome",
        "Evidence",
        "Verdict",
        *dir(Evidence),
        *dir(Verdict),
        *vars(outcomes),
    }
    said -= {"Fraction", "range"}  # with these a check computes
    for claim in ledger():
        for check in _functions(claim.check):
            assert not _names(check.__code__) <= said, claim.id


def _functions(check: Callable[[], Outcome]) -> list[FunctionType]:
    """What a claim is declared on, where nothing comes in but what it names itself."""
    cells = [cell.cell_contents for cell in check.__closure__ or ()]
    return [
        value
        for value in cells
        if inspect.isfunction(value)
        and not (value.__closure__ or value.__defaults__ or value.__code__.co_argcount)
    ]


def _names(code: CodeType) -> set[str]:
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)


@pytest.mark.parametrize(
    "name", ["congestion.example-1", "congestion.example-3", "congestion.worst-case-ratio"]
)
def test_wrong_expectation_is_noticed(name: str) -> None:
    flipped = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}
    wrong = [replace(c, expected=flipped[c.expected]) for c in select([name])]
    assert not any(result.as_expected for result in run_all(wrong))


def test_check_that_raises_is_reported_and_not_expected() -> None:
    def broken() -> Outcome:
        raise ZeroDivisionError("no such root")

    claim = replace(ledger()[0], check=broken)
    result = run(claim)
    assert result.outcome is None
    assert result.error == "ZeroDivisionError: no such root"
    assert not result.as_expected
    assert result.to_dict()["verdict"] is None


def test_part_of_an_id_selects_what_it_leads_to() -> None:
    chosen = select(["congestion.example-2"])
    assert len(chosen) == 9
    assert all(claim.id.startswith("congestion.example-2.") for claim in chosen)
    # A dot ends the part: example-2 does not take example-20, and level-1 not level-10.
    assert [c.id for c in select(["congestion.equation-4"])] == ["congestion.equation-4"]


@pytest.mark.parametrize("name", ["congestion_example_2", "Congestion.Example.2"])
def test_an_id_of_a_claim_may_be_written_as_a_file_is(name: str) -> None:
    assert select(name) == select("congestion.example-2")


def test_one_id_may_be_a_word() -> None:
    assert select("congestion.example-2") == select(["congestion.example-2"])


def test_selection_keeps_ledger_order_and_takes_each_once() -> None:
    chosen = select(["congestion.example-2.level-2.loss", "congestion.example-2"])
    assert [c.id for c in chosen] == [c.id for c in select(["congestion.example-2"])]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("congestion.exmaple-2", "congestion.example-2"),
        ("congestion.equation-44", "congestion.equation-4"),
        ("zzz", "an id of the ledger"),
        ("", "an id of the ledger"),
        ("congestion.example", "congestion.example-"),
    ],
)
def test_unknown_id_names_what_is_near(name: str, near: str) -> None:
    with pytest.raises(InputError, match=r"^id: got ") as error:
        verify([name])
    assert near in str(error.value)


def test_results_arrive_one_by_one_and_go_into_json() -> None:
    seen: list[Result] = []
    results = verify(["congestion.equation-4"], on_result=seen.append)
    assert seen == results
    shown = json.loads(json.dumps(results[0].to_dict()))
    assert (shown["verdict"], shown["evidence"], shown["as_expected"]) == ("holds", "exact", True)


@pytest.mark.parametrize(
    ("value", "printed", "verdict"),
    [
        (Fraction(24, 13), "1.85", Verdict.HOLDS),  # 1.846...
        (Fraction(24, 13), "1.84", Verdict.FAILS),
        (Fraction(24, 13), "1.9", Verdict.FAILS),
        (Fraction(5, 2), "2", Verdict.HOLDS),  # exactly half a unit: either neighbour is right
        (Fraction(5, 2), "3", Verdict.HOLDS),
        (-Fraction(24, 13), "-1.85", Verdict.HOLDS),
    ],
)
def test_rounding_to_a_printed_decimal(value: Fraction, printed: str, verdict: Verdict) -> None:
    assert rounds_to(value, printed).verdict is verdict


def test_rounding_of_a_square_root() -> None:
    assert root_rounds_to(Fraction(2), "1.414").verdict is Verdict.HOLDS
    assert root_rounds_to(Fraction(2), "1.415").verdict is Verdict.FAILS


def test_threshold_of_figure_3_is_that_of_the_stability_verdict() -> None:
    """The same question asked through workloads: unstable at 17, stable at 18."""
    (result,) = verify(["congestion.figure-3.a.threshold"])
    assert result.outcome is not None
    assert result.outcome.ours == "not stable for l0 < 18, stable from there on"
    half = Fraction(1, 2)
    for l0, expected in ((15, "unstable"), (17, "unstable"), (18, "stable")):
        workload = Workload((RequestClass(l0, 2, half), RequestClass(l0, 7, half)))
        found = stability(System(workload, 100))
        assert (found.verdict, found.evidence) == (expected, Evidence.EXACT)


def test_vectors_are_compared_entry_by_entry() -> None:
    assert equals([1, Fraction(1, 2)], "1, 1/2").verdict is Verdict.HOLDS
    assert equals([1, Fraction(1, 2)], "1, 1/3").verdict is Verdict.FAILS
    assert equals([1], "1, 1").verdict is Verdict.FAILS
    assert rounds_to([1], "1, 1").verdict is Verdict.FAILS


def test_modulus_of_a_conjugate_pair() -> None:
    assert conjugate_modulus_squared([1, 2, 5]) == 5  # -1 ± 2i
    with pytest.raises(ArithmeticError):
        conjugate_modulus_squared([1, 3, 2])  # -1 and -2


@pytest.mark.parametrize("id_", ["", "one", "Has.Capitals", "a..b", "a.b c"])
def test_malformed_id_is_refused(id_: str) -> None:
    with pytest.raises(InputError, match=r"^id: "):
        Claim(id_, "lemma", "S.", "P", "r", lambda: equals(1, "1"))


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"^kind: .*theorem"):
        Claim("a.b", "guess", "S.", "P", "r", lambda: equals(1, "1"))  # type: ignore[arg-type]


def test_evidence_is_sampled_where_only_cases_were_tried() -> None:
    for result in verify(["congestion.lemma-1", "congestion.equation-8.one-class"]):
        assert result.outcome is not None
        assert result.outcome.evidence is Evidence.SAMPLED


@pytest.mark.parametrize(
    ("what", "heavy"),
    [
        ("ledger", ("jax", "sympy", "flint", "scipy", "matplotlib")),
        ("tables", ("jax", "sympy", "flint", "scipy", "matplotlib", "xarray", "pandas")),
    ],
)
def test_listing_claims_and_tables_imports_nothing_heavy(what: str, heavy: tuple[str, ...]) -> None:
    code = (
        f"import sys; from fluidkv.ledger.registry import {what}; {what}(); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_waste_account_is_held_against_the_literal_model(monkeypatch):
    # With evictions read off two states, any two states add up: the check must not rest on that.
    from fluidkv.exact.one_class import waste
    from fluidkv_papers.congestion.claims.one_class.waste import CLAIMS

    (claim,) = [c for c in CLAIMS if c.id.endswith("equation-27.trajectories")]
    monkeypatch.setattr(waste, "evicted_masses", lambda before, after: [0 * x for x in before])
    assert claim.check().verdict is Verdict.FAILS


def test_dominant_branches_are_simple_from_the_length_that_is_said(monkeypatch):
    # One shorter and lengths (2, 5), p = 9/10 are in: their dominant root is real.
    from fluidkv_papers.congestion.claims.mixed import theorem_24

    (claim,) = [c for c in theorem_24.CLAIMS if c.id.endswith("dominant-branches-simple")]
    assert claim.check().verdict is Verdict.HOLDS
    monkeypatch.setattr(theorem_24, "SIMPLE_FROM", 5)
    found = claim.check()
    assert (found.verdict, found.witness) == (Verdict.FAILS, "decode lengths (2, 5), p = 9/10")
