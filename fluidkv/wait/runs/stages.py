"""Stages: what WAIT calls k and an engine j, and how the one is said in terms of the other.

A prompt (l, l') of the paper and the request (l0, l1) that does the same in `fluidkv.serving`:

    WAIT       stages k = 0 .. l'; stage 0 is the prefill, stage k >= 1 emits the k-th output;
               l + k tokens while stage k is computed
    engines    l1 outputs, of which the prefill emits the first: iteration j = 0 .. l1 - 1 holds
               l0 + j tokens, and `reserved_tokens` more (`restart` reserves one)

With l0 = l and l1 = l' + 1 both hold the same tokens in the same iterations, where nothing is
reserved; `engine_requests` says it so. What an engine then emits first the paper does not count: a
prompt's first token is the engine's second, and `as_prompts` says it so. Congestion's model is
`restart` with l0 = l - 1 (`LPF` is that without the reserve, so that l = 1 needs no request without
input).

Source: WAIT, sections 2.4, 2.6, 4.1 and 6; Congestion, section 2.2.
"""

from dataclasses import replace

import numpy as np
import xarray as xr

from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import FCFS_NEW_FIRST, FCFS_RUNNING_FIRST, RESTART
from fluidkv.serving.rules import EngineRules

LPF = replace(RESTART, name="lpf", reserved_tokens=0)
"""The memory dynamics of Congestion on prompts: least progressed evicted first.

>>> from fluidkv.serving import serve
>>> from fluidkv.runs import Requests
>>> from fluidkv.wait import engine_requests
>>> from fluidkv.wait.runs.stages import LPF
>>> run = serve(engine_requests(Requests([3, 3], [2, 2])), fk.Server(LPF, fk.Limits(9)))
>>> run.evictions.values.tolist()  # 3 + 3, 4 + 4; 5 + 5 does not fit
[[0, 1]]
"""


def engine_requests(requests: Requests) -> Requests:
    """The same prompts for `fluidkv.serving.run`: one output more.

    An upper bound on the outputs rises by one as well.

    Examples:
        >>> from fluidkv.runs import Requests
        >>> from fluidkv.wait import engine_requests
        >>> engine_requests(Requests([3], [2])).output_length.tolist()  # the prefill emits one too
        [3]
    """
    return Requests(
        requests.input_length,
        requests.output_length + np.int64(1),
        arrival=requests.arrival,
        max_output=requests.max_output + np.int64(1),
        class_index=requests.class_index,
    )


def as_prompts(run: xr.Dataset) -> xr.Dataset:
    """What `serve` returned for `engine_requests`, in the paper's stages.

    Args:
        run: with requests kept, and `every` 1.

    Returns:
        The same with the output lengths of the prompts, and `first_token` at the end of stage 1:
        an iteration after the engine's first, or with the last. It is NaN where it did not come,
        and where it is not known: a prompt that was evicted computes its first token again, and the
        engine does not say when the second followed, unless it emits no other. `new_outputs`,
        `outputs` and `longest_gap`, which the engine's first token is part of, are left out.
    """
    after = np.pad(run.time.values, ((0, 0), (0, 2)), constant_values=np.nan)
    rows = zip(after, run.time.values, run.first_token.values, strict=True)
    following = [ends[1 + np.searchsorted(time, first)] for ends, time, first in rows]
    known = run.first_token.notnull() & (run.evictions == 0)
    second = xr.DataArray(np.stack(following), dims=("run", "request")).where(known)
    last = run.last_token.where(run.finished)
    return run.drop_vars(["new_outputs", "outputs", "longest_gap"]).assign(
        output_length=run.output_length - 1,
        first_token=xr.where(run.output_length == 2, last, second),
    )


def fcfs(*, new_first: bool) -> EngineRules:
    """Who goes before whom where memory does not hold both.

    Args:
        new_first: whoever waits goes before whoever runs (the paper's vLLM, and its Example 2);
            False: whoever runs goes first (its Sarathi).

    Examples:
        >>> from fluidkv.wait.runs.stages import fcfs
        >>> fcfs(new_first=True).name, fcfs(new_first=False).name
        ('fcfs-new-first', 'fcfs-running-first')
    """
    return FCFS_NEW_FIRST if new_first else FCFS_RUNNING_FIRST
