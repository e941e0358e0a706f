"""Which claims there are, and how they are checked."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from fluidkv.claims.claim import Claim, Result
from fluidkv.claims.congestion import experiments, mixed, one_class
from fluidkv.claims.measured import MODULES as MEASURED
from fluidkv.claims.wait import MODULES as WAIT
from fluidkv.errors import InputError

_MODULES = (*one_class.MODULES, *mixed.MODULES, *experiments.MODULES, *WAIT, *MEASURED)


def ledger() -> tuple[Claim, ...]:
    """Every claim, in the order of the papers; then what was measured."""
    claims = tuple(claim for module in _MODULES for claim in module.CLAIMS)
    if len({claim.id for claim in claims}) != len(claims):
        raise RuntimeError("two claims share an id")
    return claims


def select(ids: Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims with these ids, in ledger order; all of them for None.

    The front part of an id selects all that it leads to: "congestion.example-2" takes every claim
    about that example.

    Raises:
        InputError: an id that selects nothing; the message lists what is near.
    """
    claims = ledger()
    if ids is None:
        return claims
    wanted = tuple(ids)
    for name in wanted:
        if not any(_leads_to(name, claim.id) for claim in claims):
            raise InputError("id", name, _near(name, claims))
    return tuple(c for c in claims if any(_leads_to(name, c.id) for name in wanted))


def verify(
    ids: Iterable[str] | None = None,
    *,
    claims: Sequence[Claim] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the checks and say which outcomes differ from the record.

    Args:
        ids: as in `select`; None checks all.
        claims: check these instead of the ledger's.
        on_result: called with each result as soon as it is there.
    """
    results = []
    for claim in select(ids) if claims is None else claims:
        result = _run(claim)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return results


def _run(claim: Claim) -> Result:
    try:
        return Result(claim, claim.check())
    except Exception as error:  # a broken check is a result too: reported, never as expected
        return Result(claim, None, error=f"{type(error).__name__}: {error}")


def _leads_to(name: str, full: str) -> bool:
    return full == name or full.startswith(name + ".")


def _near(name: str, claims: Sequence[Claim]) -> str:
    fronts = dict.fromkeys(
        ".".join(parts[:n]) for c in claims for parts in [c.id.split(".")] for n in (2, len(parts))
    )
    near = get_close_matches(name, fronts, n=4, cutoff=0.4)
    return ", ".join(near) if near else f"an id of the ledger, such as {claims[0].id}"
