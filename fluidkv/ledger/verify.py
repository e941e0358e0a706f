"""Running checks, on as many processes as asked for."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from fluidkv.errors import InputError
from fluidkv.ledger.claim import Claim, Outcome, Result
from fluidkv.processes import cores, shared_out

Found = tuple[Outcome | None, str]


def run(claim: Claim) -> Result:
    """One claim and what its check found; what it raised is a result too, never as expected."""
    try:
        return Result(claim, claim.check())
    except Exception as error:
        return Result(claim, None, error=f"{type(error).__name__}: {error}")


def run_all(
    claims: Sequence[Claim],
    *,
    jobs: int = 1,
    lookup: Callable[[str], Claim] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Every claim checked, in their order.

    Args:
        claims: what to check.
        jobs: processes, no more than there are cores. Claims of one module stay together, as they
            share what they compute.
        lookup: finds a claim by its id, in another process; needed for more than one job.
        on_result: called with each result, in order, as soon as it and those before it are there.

    Raises:
        InputError: fewer than one job; a process was ended from outside.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError("jobs", jobs, "an integer of at least 1")
    results: list[Result] = []

    def take(result: Result) -> None:
        results.append(result)
        if on_result is not None:
            on_result(result)

    groups = [list(group) for _, group in groupby(claims, key=lambda c: c.check.__module__)]
    if jobs == 1 or lookup is None or len(groups) < 2:
        for claim in claims:
            take(run(claim))
        return results
    ids = [[claim.id for claim in group] for group in groups]
    came: dict[int, list[Found]] = {}
    told = 0
    look = partial(_found, lookup)
    for place, found in shared_out(look, ids, min(jobs, cores()), argument="jobs"):
        came[place] = found
        while told in came:
            for claim, (outcome, error) in zip(groups[told], came[told], strict=True):
                take(Result(claim, outcome, error))
            told += 1
    return results


def _found(lookup: Callable[[str], Claim], ids: Sequence[str]) -> list[Found]:
    results = [run(lookup(id)) for id in ids]
    return [(result.outcome, result.error) for result in results]
