"""What a step of SGLang's scheduler shows: the columns of the records, and an engine's counts."""

from typing import NamedTuple

from fluidkv.serving.counts import WITHOUT_COPIES

COUNTS = (
    *WITHOUT_COPIES,
    "found_tokens",  # tokens of admitted requests that were found and not computed
)
"""What an iteration counts, in this order; `used_blocks` are those that requests use."""


class Row(NamedTuple):
    """One step, as the records show it: after scheduling, before the tokens of its pass.

    Fields:
        arrived: requests that have come.
        mode, batch: the pass and its requests.
        running, waiting: the decode batch, which waits in a prefill pass; the queue.
        admitted, retracted: requests; a prompt that goes on is not admitted again.
        completed: known after this step.
        prefill_tokens, hit_tokens: of those who are admitted, computed and found in the tree.
        used, available, evictable, protected: tokens of memory, and of the tree.
        new_token_ratio, batch_is_full (0 or 1): the scheduler's.
        chunked: the request in the middle of its prompt, or -1.
        admissions: [request, tokens of its prefix, tokens it computes], prompts that go on too.
        retracted_ids, aborted_ids: in order; finished_ids: in the order of the table.
    """

    arrived: int
    mode: str
    batch: int
    running: int
    waiting: int
    admitted: int
    retracted: int
    completed: int
    prefill_tokens: int
    hit_tokens: int
    used: int
    available: int
    evictable: int
    protected: int
    new_token_ratio: float
    batch_is_full: int
    chunked: int
    admissions: list[list[int]]
    retracted_ids: list[int]
    finished_ids: list[int]
    aborted_ids: list[int]
