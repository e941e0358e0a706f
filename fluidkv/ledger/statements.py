"""Claims declared on what decides them.

CLAIMS = statements()
SYSTEMS = Range("l0 = 1, 5, 50, l1 = 1 ... 8", lambda: product((1, 5, 50), range(1, 9)))

@CLAIMS.over(
    SYSTEMS,
    "proposition-6.decreases",
    "Proposition 6",
    "The throughput of the contiguous cycle falls from level to level.",
    ours="strictly decreasing",
    paper="c_i > c_{i+1}",
)
def _decreases(l0: int, l1: int) -> bool | str:
    found = [exact.contiguous_cycle(system_of(l0, l1), i).throughput for i in range(l1)]
    return all(a > b for a, b in pairwise(found)) or f"l0={l0}, l1={l1}: {found}"

@CLAIMS.over(SYSTEMS, "lemma-20.growth", ..., ours=lambda seen: f"at most {max(seen)} tokens")
def _growth(l0: int, l1: int) -> bool | Seen:
    growth = ...
    return growth <= l1 and Seen(growth)

@CLAIMS.claim("example-2.rate", "Example 2", "The rate is 24/5.")
def _rate() -> Outcome:
    return equals(exact.eviction_free_equilibrium(SYSTEM).rate, "24/5")

A module imports the rooms (`from fluidkv import exact, fluid`), which load what they hold on first
use: so statements are there without what checks need.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

from fluidkv.ledger.claim import Claim, Kind, Origin, Outcome
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.verdict import Evidence, Verdict

Predicate = Callable[..., bool | str | Seen]
Text = str | Callable[[list[Any]], str]
"""Words, or what makes them of the values that a predicate has `Seen`, case by case."""


class Statements:
    """The claims of one module about one paper, in the order in which they are declared.

    Args:
        paper: first word of their ids, "congestion".
        name: short name in their sources, "Congestion".
        origin, evidence: of the claims that do not say so themselves.
    """

    def __init__(
        self,
        paper: str,
        name: str,
        *,
        origin: Origin = Origin.PRINTED,
        evidence: Evidence = Evidence.EXACT,
    ) -> None:
        self._paper, self._name = paper, name
        self._origin, self._evidence = origin, evidence
        self._claims: list[Claim] = []

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims)

    def claim(
        self,
        id: str,
        place: str,
        statement: str,
        *,
        expected: Verdict = Verdict.HOLDS,
        evidence: Evidence | None = None,
        origin: Origin | None = None,
        kind: Kind | None = None,
        checked: str = "the printed case",
        given: tuple[Any, ...] = (),
    ) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
        """Declare a claim on the function that checks it.

        Args:
            id: without the paper.
            place: in the paper.
            statement, expected, evidence, origin, checked: as in `Claim`.
            kind: taken from the place or the id where one of them names it; else it is required.
            given: arguments of the check, where several claims have one.
        """
        named = kind or _kind(place) or _kind(id.replace("-", " ")) or "remark"

        def declared(check: Callable[..., Outcome]) -> Callable[..., Outcome]:
            bound = partial(check, *given) if given else check
            bound.__module__ = check.__module__  # where the statement stands
            self._claims.append(
                Claim(
                    id=f"{self._paper}.{id}",
                    kind=named,
                    statement=statement,
                    source=f"{self._name}, {place}",
                    checked=checked,
                    check=bound,
                    expected=expected,
                    evidence=evidence or self._evidence,
                    origin=origin or self._origin,
                )
            )
            return check

        return declared

    def over(
        self,
        cases: Range,
        id: str,
        place: str,
        statement: str,
        *,
        ours: Text = "in all {count} cases",
        paper: str = "as stated",
        note: Text = "",
        expected: Verdict = Verdict.HOLDS,
        refuted: Evidence = Evidence.EXACT,
        origin: Origin | None = None,
        kind: Kind | None = None,
    ) -> Callable[[Predicate], Predicate]:
        """Declare a claim on a predicate that holds in every case of a range, or fails in one.

        Args:
            cases: where it is tried. Holding on all is sampled, exact on a whole range.
            ours, paper, note: of the outcome on record. Another outcome says only what was found.
                "{count}" in `ours` becomes the number of cases that were tried. Where both would
                say the statement again, leave them out.
            refuted: how well a counterexample is known.
            expected: as in `claim`. Where it is undecided, since something that the statement
                rests on is not in the text, a counterexample leaves it so.
            id, place, statement, origin, kind: as in `claim`.
        """
        held = Evidence.EXACT if cases.whole else Evidence.SAMPLED
        failed = Verdict.UNDECIDED if expected is Verdict.UNDECIDED else Verdict.FAILS

        def declared(predicate: Predicate) -> Predicate:
            def check() -> Outcome:
                seen: list[Any] = []

                def looked(*case: Any) -> bool | str | Seen:
                    found = predicate(*case)
                    seen.append(found.value if isinstance(found, Seen) else found)
                    return found

                bad = cases.counterexample(looked)
                found = Verdict.HOLDS if bad is None else failed
                as_recorded = found is expected
                surprise = "no counterexample" if bad is None else "a counterexample"
                return Outcome(
                    found,
                    held if bad is None else refuted,
                    _text(ours, seen) if as_recorded else surprise,
                    paper,
                    _text(note, seen) if as_recorded else "",
                    bad or "",
                )

            check.__module__ = predicate.__module__  # where the statement stands
            self.claim(
                id,
                place,
                statement,
                expected=expected,
                evidence=held if expected is Verdict.HOLDS else refuted,
                origin=origin,
                kind=kind,
                checked=cases.words,
            )(check)
            return predicate

        return declared


def _text(text: Text, seen: list[Any]) -> str:
    words = text if isinstance(text, str) else text(seen)
    return words.replace("{count}", str(len(seen)))


def _kind(text: str) -> Kind | None:
    """The kind that a text names first."""
    found = [(re.search(rf"\b{kind}s?\b", text.lower()), kind) for kind in get_args(Kind)]
    named = [(match.start(), kind) for match, kind in found if match]
    return min(named)[1] if named else None
