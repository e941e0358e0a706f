"""How the server of a measured run was set, as far as its files say."""

from dataclasses import dataclass

from fluidkv.record import Record


@dataclass(frozen=True)
class LoggedSettings(Record):
    """Settings as the engine resolved them. None: no file says.

    Args:
        version: of the engine.
        device, model: as the files name them.
        capacity: KV tokens in the pool, as the engine counts them.
        blocks: that requests can hold; vLLM sets one of its `num_gpu_blocks` aside.
        block_size: tokens a block; of SGLang, its page.
        max_num_seqs: cap on running requests; of SGLang, `max_running_requests`.
        max_num_batched_tokens: tokens of an iteration, at most; of SGLang, the most tokens of a
            prefill, `chunked_prefill_size`.
        max_model_len: longest request that is served, prompt and output together.
        prefix_caching: whether tokens are found again by their content; of SGLang, its radix cache.
        reserves_full_input: whether the whole current length must fit on admission (vLLM).
        conservativeness: SGLang's `schedule_conservativeness`.
        new_token_ratio: (init, min) of SGLang, the conservativeness included.
        clip_max_new_tokens: SGLang's clip of the output length that its estimate takes.
        ignore_eos: whether its clients let it go on past the end of text (SGLang).
        memory_share: vLLM's `gpu_memory_utilization`, SGLang's `mem_fraction_static`.
        policy: order of the queue, as the engine names it.

    Examples:
        >>> settings = fk.read_log("sample:vllm-rtx4090").settings
        >>> settings.capacity, settings.blocks, settings.block_size, settings.usable_capacity
        (41408, 2587, 16, 41392)
        >>> fk.Limits(settings.usable_capacity, settings.block_size, settings.max_num_seqs).blocks
        2587
    """

    version: str | None = None
    device: str | None = None
    model: str | None = None
    capacity: int | None = None
    blocks: int | None = None
    block_size: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    max_model_len: int | None = None
    prefix_caching: bool | None = None
    reserves_full_input: bool | None = None
    conservativeness: float | None = None
    new_token_ratio: tuple[float, float] | None = None
    clip_max_new_tokens: int | None = None
    ignore_eos: bool | None = None
    memory_share: float | None = None
    policy: str | None = None

    @property
    def usable_capacity(self) -> int | None:
        """KV tokens that requests can hold; `capacity` where blocks are not said."""
        if self.blocks is not None and self.block_size is not None:
            return self.blocks * self.block_size
        return self.capacity
