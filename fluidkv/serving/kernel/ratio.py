"""The share of the outputs still possible that is reserved on admission, as an integer."""

from enum import Enum

from fluidkv.runs.inlined import inlined

SCALE = 600_000
"""A ratio is an integer over this, so that engines agree to the last admission."""


class RatioReset(Enum):
    """What the new-token ratio becomes after a retraction."""

    START = "its start"
    ESTIMATE = "outputs so far over maximum outputs, of what goes on running"


@inlined
def possible(max_output: int, outputs: int, clip: int) -> int:
    """Outputs that a request may still emit, as far as they are counted."""
    return min(max_output - outputs, clip)


@inlined
def stepped_down(ratio: int, decay: int, least: int) -> int:
    """After an iteration that evicts nobody."""
    return max(ratio - decay, least)


@inlined
def estimated(outputs: int, most: int) -> int:
    """Of those who go on running: outputs so far, each some ahead, over all that may come."""
    return min(SCALE, SCALE * outputs // most)
