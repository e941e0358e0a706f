"""Which claims and tables there are, by the plug-ins that list them, and how claims are checked."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from fluidkv.errors import InputError
from fluidkv.ledger.claim import Claim, Result
from fluidkv.ledger.table import Table
from fluidkv.ledger.verify import run_all
from fluidkv.plugins import listed
from fluidkv.text import id_key, near_names, nearest_of

_ELSEWHERE = "; others are claims: fluidkv verify congestion.table-4, and so on"


@cache
def _by_id() -> dict[str, Claim]:
    claims = [claim for claims in listed("claims") for claim in claims]
    found = {claim.id: claim for claim in claims}
    if len(found) != len(claims):
        raise RuntimeError("two claims share an id")
    return found


def ledger() -> tuple[Claim, ...]:
    """Every claim, in the order of the plug-ins."""
    return tuple(_by_id().values())


def select(ids: str | Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims with this id or these, in ledger order; all of them for None.

    The front part of an id selects all that it leads to: "congestion.example-2" takes every claim
    about that example, and so does "congestion_example_2".

    Raises:
        InputError: an id that selects nothing; the message lists what is near.
    """
    claims = ledger()
    if ids is None:
        return claims
    wanted = (ids,) if isinstance(ids, str) else tuple(ids)
    selected: set[str] = set()
    for name in wanted:
        found = [c.id for c in claims if name in fronts(c.id)]
        found = found or [c.id for c in claims if id_key(name) in map(id_key, fronts(c.id))]
        if not found:
            raise InputError("id", name, _near(name, claims))
        selected.update(found)
    return tuple(c for c in claims if c.id in selected)


def fronts(id: str) -> list[str]:
    """What selects a claim: "a", "a.b", "a.b.c" of "a.b.c"."""
    parts = id.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def verify(
    ids: str | Iterable[str] | None = None,
    *,
    jobs: int = 1,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the checks and say which outcomes differ from the record.

    Args:
        ids: as in `select`; None checks all.
        jobs: processes to share the work.
        on_result: called with each result, in ledger order.

    Raises:
        InputError: an id that selects nothing; fewer than one job.

    Examples:
        >>> results = fk.verify("congestion.example-2")
        >>> len(results), all(each.as_expected for each in results)
        (9, True)
        >>> results[0].claim.id, results[0].outcome.ours
        ('congestion.example-2.level-0.state', '(2, 2, 2)')
    """
    return run_all(select(ids), jobs=jobs, lookup=claim_of, on_result=on_result)


def claim_of(id: str) -> Claim:
    """The claim with this very id."""
    return _by_id()[id]


def _near(name: str, claims: Sequence[Claim]) -> str:
    near = near_names(name, dict.fromkeys(f for c in claims for f in (fronts(c.id)[1], c.id)))
    return nearest_of(near) or f"an id of the ledger, such as {claims[0].id}"


def tables() -> dict[str, Table]:
    """Every table by its name, paper after paper: "7" is Congestion's, "routing.2" Routing's."""
    return {table.name: table for tables in listed("tables") for table in tables}


def table(name: str) -> Table:
    """One table.

    Args:
        name: as in `tables`; "congestion.7" is "7".

    Raises:
        InputError: a name that no table has.
    """
    known = tables()
    found = known.get(name.strip().lower().removeprefix("congestion."))
    if found is None:
        raise InputError("table", name, f"{', '.join(known)}{_ELSEWHERE}")
    return found
