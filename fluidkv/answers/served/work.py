"""What it takes to serve requests, before they are served: iterations, and what is done in them.

Counts and no measurement, so that what is served of a trace does not depend on a machine. In each
piece of the time as many requests run as emit what comes, and no more than memory holds; the rest
waits for the next piece.
"""

from dataclasses import dataclass

import numpy as np

from fluidkv.answers.served.cases import Case
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import served_engine
from fluidkv.serving.running.engine import finds_itself

_PIECES, _OF_A_PIECE = 100, 30  # of the time, at most; requests of each, at least
_FEWEST_RUNNING, _BATCHES = 1e-3, 400  # sizes of a batch whose pace is computed
# Of a core of 2026: Azure's and Mooncake's traces under six engines, metrics included.
_ITERATION_S, _REQUEST_S, _VISIT_S, _TREE_S = 7e-8, 2e-6, 3e-7, 3.5e-5


@dataclass(frozen=True)
class Work(Record):
    """Counts of a run, about.

    Fields:
        iterations: until all are served.
        requests: how many are served.
        visits: requests that are looked at one by one, over all iterations: who runs, where blocks
            have names. Elsewhere only who comes, goes or is preempted is looked at.
        lookups: prompts that are looked for in the tree of SGLang's own scheduler.
    """

    iterations: float
    requests: int
    visits: int
    lookups: int

    @property
    def seconds(self) -> float:
        """On a core, about."""
        beside = _VISIT_S * self.visits + _TREE_S * self.lookups
        return _ITERATION_S * self.iterations + _REQUEST_S * self.requests + beside


def work_of(requests: Requests, case: Case, *, shares: bool = False) -> Work:
    """What a run of these requests takes on a server.

    Args:
        shares: whether prompts begin alike, so that a cache has blocks with names.

    Examples:
        >>> from fluidkv.answers.served.cases import Case
        >>> from fluidkv.answers.served.work import work_of
        >>> server = Case("vllm", fk.Limits(1000), fk.IterationClock(0.01))
        >>> together = fk.Requests([10] * 400, [50] * 400)  # of 35 tokens in the mean: 28 fit
        >>> round(work_of(together, server).iterations)
        700
    """
    engine, size = served_engine(case.engine), len(requests)
    prompts, passes = int(requests.input_length.sum()), _decode_passes(requests, case)
    pieces = prompts / case.limits.budget
    passes = max(passes, pieces)
    if engine.own_scheduler or engine.rules.prefill_alone:  # prompts have passes of their own
        passes += max(pieces, passes * -np.expm1(-size / passes))
    lookups = size if engine.own_scheduler else 0
    named = engine.caching and not lookups and (shares or not finds_itself(engine.rules))
    outputs = int(requests.output_length.sum())
    return Work(float(passes), size, outputs if named else 0, lookups)


def _decode_passes(requests: Requests, case: Case) -> float:
    """Iterations in which tokens are emitted."""
    inputs, outputs = requests.input_length, requests.output_length
    total, size = float(outputs.sum()), len(requests)
    footprint = float((outputs * (inputs + outputs / 2)).sum()) / total
    prefill = float(inputs.sum()) / total
    most = min(case.limits.capacity / footprint, case.limits.sequences, size)
    most = max(1.0, min(most, case.limits.budget / (1 + prefill)))
    batches = np.geomspace(_FEWEST_RUNNING, most, _BATCHES)
    pairs = float((inputs * (inputs + 1.0) / 2).sum()) / total
    paces = np.maximum.accumulate(_paces(case.clock, batches, footprint, prefill, pairs))
    span, passes, waiting = float(requests.arrival[-1] - requests.arrival[0]), 0.0, 0.0
    pieces = max(1, min(_PIECES, size // _OF_A_PIECE))
    coming = [total]
    if span > 0:
        coming = np.histogram(requests.arrival, bins=pieces, weights=outputs)[0].tolist()
    for tokens in coming:
        waiting += tokens
        emitted = min(waiting, float(paces[-1]) * span / pieces)
        running = float(np.interp(emitted * pieces / span, paces, batches)) if emitted else 1.0
        passes += emitted * -np.expm1(-running) / running  # alone, each token is an iteration
        waiting -= emitted
    return passes + waiting / most


def _paces(
    clock: IterationClock, batches: np.ndarray, footprint: float, prefill: float, pairs: float
) -> np.ndarray:
    """Output tokens a second with so many requests running.

    Args:
        footprint: tokens that a request holds, in the mean over its iterations.
        prefill, pairs: tokens of prompts, and their pairs, for each output.
    """
    lasts = [
        clock.duration(batch * footprint, batch * prefill, batch * pairs, batch)
        for batch in batches.tolist()
    ]
    return batches / np.array(lasts)
