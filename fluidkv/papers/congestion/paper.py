"""Claims of the paper Congestion, with what they share filled in."""

from collections.abc import Callable

from fluidkv.ledger.claim import Claim, Kind, Origin, Outcome
from fluidkv.ledger.statements import Statements
from fluidkv.verdict import Evidence, Verdict


def statements(
    *, origin: Origin = Origin.PRINTED, evidence: Evidence = Evidence.EXACT
) -> Statements:
    """For the claims of one module; what they are unless they say otherwise."""
    return Statements("congestion", "Congestion", origin=origin, evidence=evidence)


def congestion(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    *,
    kind: Kind = "example",
    expected: Verdict = Verdict.HOLDS,
    checked: str = "the printed case",
) -> Claim:
    """A claim whose id starts with "congestion" and whose source is a place in that paper."""
    return Claim(
        id=f"congestion.{id}",
        kind=kind,
        statement=statement,
        source=f"Congestion, {place}",
        checked=checked,
        check=check,
        expected=expected,
    )
