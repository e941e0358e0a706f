"""What an engine counts in an iteration."""

COUNTS = (
    "running_in",  # running requests before scheduling
    "running",  # and after it
    "waiting",  # requests in the queue after scheduling
    "used_blocks",  # blocks held after scheduling
    "preempt",  # evictions
    "admit_new",  # admissions of requests that never ran
    "admit_resumed",  # admissions of requests that were evicted before
    "completed",  # requests that emitted their last token
    "sched_reqs",  # requests that computed at least one token
    "tokens",  # tokens computed
    "prefill_tokens",  # of these, tokens of requests that were not decoding
    "recomputed_tokens",  # of all tokens, positions of a request that it had computed before
    "kv_tokens",  # tokens in the cache at the end of execution, before blocks are freed
    "new_outputs",  # tokens emitted that their client had not seen before
    "copied_tokens",  # tokens whose copy to the host, or back, was queued
)
"""What an iteration counts, in this order; all integers."""
WITHOUT_COPIES = tuple(name for name in COUNTS if name != "copied_tokens")
"""Of engines that copy nothing to the host."""
WITH_CACHE = (
    *WITHOUT_COPIES,
    "cached_blocks",  # blocks with known contents after scheduling, held or not
    "distinct_blocks",  # different contents among them
    "evicted_blocks",  # contents forgotten because their block was reused
    "found_tokens",  # tokens of admitted requests that were found and not computed
)
"""With vLLM's prefix cache; `used_blocks` that several hold count once."""
