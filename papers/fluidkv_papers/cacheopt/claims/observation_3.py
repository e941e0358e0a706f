"""CacheOPT, section 2.4: first come first served against SRTF and LKVO, in simulation.

`instances.policies` says what was run. Each row is over six draws of requests and predictions, and
with one of them left out at a time: what does not survive that is not decided.
"""

import numpy as np

from fluidkv.ledger import Evidence, Finding, Origin
from fluidkv_papers.cacheopt.instances.policies import PARTS, SEEDS, factor, of
from fluidkv_papers.cacheopt.paper import statements

_DRAWS = f"{len(SEEDS)} draws for each of two traces' lengths, memory scaled down"
CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED, checked=_DRAWS)

_PLACE = "section 2.4, Figure 7 and Observation 3"


_PRESSED = ("alpaca", "sharegpt")
"""With the lengths of BookCorpus about one request of 40 is preempted: too few to compare."""


def _fcfs_is_worse(policy: str, measure: str, paper: str) -> Finding:
    """FCFS over a policy where estimates have no padding, so that requests are preempted.

    Where it is the other way round here, that is not decided either: memory and rates are ours.
    """
    found = {trace: factor(trace, 0, policy, measure) for trace in _PRESSED}
    worse = all(least > 1 for _, least, _ in found.values())
    return Finding(
        worse,
        ", ".join(
            f"{trace} {whole:.2f} ({least:.2f} to {most:.2f})"
            for trace, (whole, least, most) in found.items()
        ),
        paper=paper,
    )


@CLAIMS.undecided("observation-3.preemptions.srtf", _PLACE)
def _preemptions_srtf() -> Finding:
    """First come first served preempts more often than SRTF."""
    return _fcfs_is_worse("srtf", "preempt", "1.13 to 1.39")


@CLAIMS.undecided("observation-3.preemptions.lkvo", _PLACE)
def _preemptions_lkvo() -> Finding:
    """First come first served preempts more often than LKVO."""
    return _fcfs_is_worse("lkvo", "preempt", "1.09 to 1.31")


@CLAIMS.undecided("observation-3.tail.srtf", _PLACE)
def _tail_srtf() -> Finding:
    """Requests are halted for longer under first come first served than under SRTF, in the tail."""
    return _fcfs_is_worse("srtf", "halted_p99", "1.39 to 2.03")


@CLAIMS.undecided("observation-3.tail.lkvo", _PLACE)
def _tail_lkvo() -> Finding:
    """Requests are halted for longer under first come first served than under LKVO, in the tail."""
    return _fcfs_is_worse("lkvo", "halted_p99", "1.26 to 1.58")


@CLAIMS.claim("observation-3.recomputed.srtf", _PLACE)
def _recomputed_srtf() -> Finding:
    """SRTF's victims have more to compute again than those of first come first served."""
    shares = _shares("srtf")
    more = all((other > first).all() for first, other in shares.values())
    return _of_shares(more, shares)


@CLAIMS.claim("observation-3.recomputed.least-computed", _PLACE)
def _recomputed_least() -> Finding:
    """Where the smallest cache is the one with fewest tokens stored, its victims have less to
    compute again than those of first come first served, in all draws together."""
    shares = _shares("least computed")
    less = all(other.sum() < first.sum() for first, other in shares.values())
    return _of_shares(less, shares)


def _shares(policy: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Tokens computed again, of all computed: under FCFS and under a policy, by draw."""
    return {trace: (of(trace, 0, "fcfs", "tax"), of(trace, 0, policy, "tax")) for trace in _PRESSED}


def _of_shares(holds: bool, shares: dict[str, tuple[np.ndarray, np.ndarray]]) -> Finding:
    return Finding(
        holds,
        ", ".join(
            f"{trace} {100 * other.mean():.1f} %, FCFS {100 * first.mean():.1f} %"
            for trace, (first, other) in shares.items()
        ),
        paper="nothing is said of tokens",
    )


@CLAIMS.claim("observation-3.padding", _PLACE)
def _padding() -> Finding:
    """With RLP's padding of 100 tokens policies have little to choose: on Alpaca's lengths there is
    not one preemption for every hundred requests, under any of them.

    Paper: Figure 7 compares numbers of preemptions
    Note: The padding is larger than most outputs there."""
    most = max(of("alpaca", 100, policy, "preempt").mean() for policy in ("fcfs", "srtf", "lkvo"))
    requests = PARTS["alpaca"].requests
    return Finding(most < requests / 100, f"{most:.1f} of {requests} requests")
