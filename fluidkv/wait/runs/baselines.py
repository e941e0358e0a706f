"""First come, first served: what WAIT is compared with, in the engine for whole requests.

`serve(engine_requests(requests), fcfs(new_first=...), Limits(M), clock=system.clock)` holds the
same tokens in the same iterations as the runs of this room: l + k while stage k is computed.

Source: WAIT, sections 2.4, 2.6, 4.1 and 6.
"""

import numpy as np

from fluidkv.serving.engines import FCFS_NEW_FIRST, FCFS_RUNNING_FIRST
from fluidkv.serving.requests import Requests
from fluidkv.serving.rules import EngineRules


def engine_requests(requests: Requests) -> Requests:
    """The same prompts for `fluidkv.serving.run`: one output more.

    Prefill emits a token there, which the paper does not count: its prompt of l' outputs takes
    l' + 1 iterations (stages 0 to l'), which is the engine's request of l' + 1 outputs. An upper
    bound on the outputs rises by one as well.
    """
    return Requests(
        requests.input_length,
        requests.output_length + np.int64(1),
        arrival=requests.arrival,
        max_output=requests.max_output + np.int64(1),
        class_index=requests.class_index,
    )


def fcfs(*, new_first: bool) -> EngineRules:
    """Who goes before whom where memory does not hold both.

    Args:
        new_first: whoever waits goes before whoever runs (the paper's vLLM, and its Example 2);
            False: whoever runs goes first (its Sarathi).
    """
    return FCFS_NEW_FIRST if new_first else FCFS_RUNNING_FIRST
