"""What goes into an engine and what comes out, as plain arrays: B runs, N requests, W windows."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class RunArrays(NamedTuple):
    """The numbers of a batch of runs. Rows shorter than the longest are padded at their end."""

    input_length: Int[np.ndarray, "run request"]
    output_length: Int[np.ndarray, "run request"]
    max_output: Int[np.ndarray, "run request"]
    arrival: Float[np.ndarray, "run request"]
    requests: Int[np.ndarray, " run"]  # how many of a row are real
    blocks: Int[np.ndarray, " run"]
    block_size: Int[np.ndarray, " run"]
    watermark_blocks: Int[np.ndarray, " run"]
    sequences: Int[np.ndarray, " run"]
    budget: Int[np.ndarray, " run"]
    rate: Int[np.ndarray, "run 2"]  # numerator, denominator of the admission rate; (0, 1): none
    clients: Int[np.ndarray, " run"]  # 0: requests come at their arrival times
    clock: Float[np.ndarray, "run 3"]  # d0, d1, d2
    start: Int[np.ndarray, "run started"]  # outputs of those that run at the start; 0: none


class RunRecords(NamedTuple):
    """What happened. Times are NaN where the event did not come; None where nobody asked."""

    counts: Int[np.ndarray, "run window count"]  # sums over a window; 0 after the run's end
    time: Float[np.ndarray, "run window"]  # clock at the end of each window
    iterations: Int[np.ndarray, " run"]
    done: Int[np.ndarray, " run"]
    stuck: Bool[np.ndarray, " run"]
    arrival: Float[np.ndarray, "run request"] | None = None
    admitted_at: Float[np.ndarray, "run request"] | None = None
    first_token_at: Float[np.ndarray, "run request"] | None = None
    last_token_at: Float[np.ndarray, "run request"] | None = None
    longest_gap: Float[np.ndarray, "run request"] | None = None
    evictions: Int[np.ndarray, "run request"] | None = None
    outputs: Int[np.ndarray, "run request"] | None = None
    finished: Bool[np.ndarray, "run request"] | None = None
