"""WAIT, appendix B: Lemma 6, several types at once."""

from fractions import Fraction
from functools import cache

from fluidkv import runs, wait
from fluidkv.ledger import Evidence, Finding, Origin, np
from fluidkv.wait.theory.lindley import lindley_path
from fluidkv_papers.wait import instances
from fluidkv_papers.wait.instances.statistics import margin
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_MIX = "two types, lambda Delta T = 2, 36 and n = 2, 40 (seed 0), 10 runs of 250 batches"
_BELOW = "W_j <= W~_j for all j and b; W~_j is lost"


@cache
def _two_types() -> "instances.coupled.TypePaths":
    """Type 1 fills nearly every batch; type 2, with n = 40, comes 36 times in a full one."""
    types = (wait.PromptType(2, 400, 1), wait.PromptType(36, 1, 1))
    tokens = 2 * types[0].lifetime_cost + 40 * types[1].lifetime_cost
    system = wait.WaitSystem(types, Fraction(9, 10), Fraction(1, 10) / tokens)  # Delta T = 1
    return instances.coupled.type_paths(system, (2, 40), runs=10, batches=250)


def _five_prompts() -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    """Type 2 waits with one prompt while a batch of type 1 runs, in which two more come.

    Returns:
        Of type 2 at the end of each batch: its queue, its Lindley chain; and those ends.
    """
    n = (1, 2)
    types = (wait.PromptType(Fraction(1, 4), 1, 1), wait.PromptType(Fraction(1, 4), 1, 2))
    system = wait.WaitSystem(types, 1, Fraction(1, 24))
    arrivals, kinds = np.array([0, 0.5, 2, 2.5, 2.75]), np.array([1, 0, 0, 1, 1])
    table = runs.Requests([1] * 5, 1 + kinds, arrival=arrivals, class_index=kinds)
    run = wait.run_policy(table, wait.Wait(n), clock=system.clock, backend="reference")
    ends = run.time.values[0]
    came = np.searchsorted(arrivals[kinds == 1], ends, side="right")
    joined = np.searchsorted(np.sort(run.admitted.values[0][kinds == 1]), ends, side="left")
    return came - joined, lindley_path(np.diff(came, prepend=0) - n[1]), ends


@CLAIMS.undecided("lemma-6", "Lemma 6", evidence=Evidence.EXACT, paper=_BELOW)
def _lemma_6() -> Finding:
    """With several types each queue stays below its chain, which is lost, given back as the Lindley
    chain from n on the arrivals of each batch.

    Checked: one run of five prompts
    Note: Given back as the chain of type j from n_j, on the arrivals in each batch and the wait
    before it. A batch without the type is a stuck iteration, as in Lemma 2, and here Algorithm 1
    itself has one."""
    queue, chain, ends = _five_prompts()
    bound = 2 + chain
    wrong = queue > bound
    place = int(wrong.argmax())
    if not wrong.any():
        return Finding(True, f"never above in {len(queue)} batches", evidence=Evidence.SAMPLED)
    return Finding(
        f"n = 1, 2; type 2 comes at 0, 2.5, 2.75; batch {place + 1} of type 1 from 2 "
        f"to {ends[place]:.3g}",
        f"W = {queue[place]} > {bound[place]} = n + Q",
    )


@CLAIMS.undecided("lemma-6.full-batches", "Lemma 6; appendix E.3", checked=_MIX, paper=_BELOW)
def _full_batches() -> Finding:
    """With several types each queue stays below its chain, which is lost, read as the Lindley chain
    from n on a schedule of full batches of its own.

    Note: A reading of appendix E.3. The two schedules drift apart, so that what comes in a batch of
    one is not what comes in the same batch of the other; no constant instead of n mends that."""
    # The other reading: W~ on a schedule of full batches of its own, from n.
    paths = _two_types()
    by_batch = (paths.queue - paths.dominating).max(axis=(0, 1))
    by_time = (paths.queue - paths.dominating_at_end).max(axis=(0, 1))
    above = max(by_batch.max(), by_time.max()) > 0
    return Finding(
        not above or f"seed 0: {by_batch.max()} above",
        f"W - W~ up to {by_batch[0]} and {by_batch[1]} (types 1, 2) after equally many "
        f"batches, {by_time[0]} and {by_time[1]} at equal times",
    )


@CLAIMS.claim(
    "lemma-6.buffer",
    "Lemma 6, another constant",
    checked=f"{_MIX}; the five prompts of wait.lemma-6",
)
def _lemma_6_buffer() -> Finding:
    """With several types each queue stays below its Lindley chain with a buffer of 2n - 1.

    Paper: W_j <= W~_j for all j and b
    Note: By induction, as for Lemma 2; what comes before a batch leaves a stuck queue below n."""
    paths = _two_types()
    queue, chain, _ = _five_prompts()
    bad, most = None if (queue <= 3 + chain).all() else "the five prompts", 0
    for j, n in enumerate((2, 40)):
        queue = paths.queue[:, :, j]
        came = queue + n * paths.joined[:, :, j].cumsum(axis=1)
        above = queue - lindley_path(np.diff(came, axis=1, prepend=0) - n)
        most = max(most, int(above.max()) - n)
        if (above > 2 * n - 1).any():
            bad = bad or f"type {j + 1}: {above.max()}"
    return Finding(
        bad, f"W <= 2n - 1 + Q in {paths.end.size} batches; W is up to {most} above n + Q"
    )


@CLAIMS.undecided(
    "appendix-b.negative-drift.two-types", "appendix B, Case 2", checked=_MIX, kind="lemma"
)
def _two_types_in_the_mean() -> Finding:
    """Under Algorithm 1 with two types each mean queue has a bound that is lost, given back as n +
    Var(X) / (2 (n - E[X]))."""
    # The appendix's bound for negative drift, against Algorithm 1.
    queue = _two_types().queue[:, 100:, 1].mean(axis=1)
    mean, wide = float(queue.mean()), margin(queue)
    bound = 40 + 36 / (2 * (40 - 36))
    exceeds = mean - wide > bound
    return Finding(
        not exceeds or f"seed 0: {mean:.1f}",
        f"{mean:.1f} ± {wide:.1f}",
        paper=f"lost; given back as E[W] <= n + Var(X) / (2 (n - E[X])) = {bound}",
        note=f"{queue.size} runs, batches 101 to 250; ± what chance exceeds one time in a "
        f"million (Student). With 2n - 1 the bound is {bound + 39}.",
    )
