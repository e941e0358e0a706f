"""Valid traces, built rather than filtered."""

from hypothesis import strategies as st

from fluidkv.traces import Trace
from fluidkv.traces.cells import MAX_LENGTH, MAX_TIME_S

lengths = st.integers(1, 5000) | st.integers(1, MAX_LENGTH)
# Any double a trace may hold: also tiny ones, negative ones, and ones with 17 digits.
times = st.floats(-MAX_TIME_S, MAX_TIME_S) | st.floats(0, 4000)


@st.composite
def traces(draw: st.DrawFn, *, with_blocks: bool | None = None) -> Trace:
    """Traces with arrival times; with prefix blocks of 512 tokens, without, or either."""
    requests = draw(st.integers(1, 8))
    blocks = None
    if draw(st.booleans()) if with_blocks is None else with_blocks:
        ids = st.lists(st.integers(0, 2**40), max_size=4)
        blocks = tuple(tuple(draw(ids)) for _ in range(requests))
    return Trace(
        input_lengths=tuple(draw(lengths) for _ in range(requests)),
        decode_lengths=tuple(draw(lengths) for _ in range(requests)),
        arrival_times_s=(0.0, *(draw(times) for _ in range(requests - 1))),
        prefix_blocks=blocks,
        prefix_block_size=None if blocks is None else 512,
    )
