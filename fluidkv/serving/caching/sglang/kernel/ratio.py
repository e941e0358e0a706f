"""The share of what may still be emitted that SGLang reserves: the new-token ratio.

In floats, in the order of the source: whether somebody is admitted may hang on the last bit.
"""

from fluidkv.runs.kernels import inner
from fluidkv.serving.caching.sglang.kernel.layout import DECODING, Record, Space
from fluidkv.serving.sglang_settings import RETRACT_STEPS


@inner
def sink(run: Record) -> None:
    """One decode pass without a retraction."""
    run.ratio = max(run.ratio - run.ratio_step, run.ratio_least)


@inner
def estimate(run: Record, space: Space) -> None:
    """After a retraction: what those who stay have emitted, of what they may."""
    emitted, asked = 0, 0.0  # what clients ask for may be more in all than an integer holds
    for place in range(run.decoding):
        request = space.requests[space.places[DECODING, place]]
        emitted += request.outputs
        asked += request.most
    run.ratio = min(1.0, (emitted + RETRACT_STEPS * run.decoding) / (asked + 1))


@inner
def reset(run: Record) -> None:
    """The server is idle."""
    run.ratio = run.ratio_first
