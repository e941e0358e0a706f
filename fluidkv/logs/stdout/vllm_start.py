"""What a vLLM server prints as it starts: its version, its flags, and how much memory it found."""

import re
from dataclasses import dataclass, field

from fluidkv.logs.meta import NULL_BLOCKS
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.stdout.numbers import COUNT

_SIZE = re.compile(r"GPU KV cache size: ([\d,]{1,20}) tokens")
_BLOCKS = re.compile(r"# (?:GPU|CUDA|cuda|gpu) blocks: " + COUNT)
_AFTER = re.compile(r"after num_gpu_blocks is: " + COUNT)
_CORE = re.compile(r"\(EngineCore_DP?(\d{1,6})")
_VERSION = re.compile(r"(?:version |LLM engine \(v)(\d{1,4}\.\d{1,4}[\w.+-]{0,40})")
STARTS = ("vLLM API server version", "GPU KV cache size: ", "LLM engine (v")
"""What only a vLLM server says as it starts."""

_SPEAKS = ("non-default args", "args: Namespace(", "LLM engine (v", "Chunked prefill is enabled")
_USUAL_BLOCK = 16
_COUNTS = {  # of the flags -> of `LoggedSettings`
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "max_model_len": "max_model_len",
    "max_seq_len": "max_model_len",
    "block_size": "block_size",
}
_FLAG = re.compile(r"\bno_enable_prefix_caching['\"]?\s*[:=]\s*True")
_CACHING = re.compile(r"\benable_prefix_caching['\"]?\s*[:=]\s*(True|False)")
_SHARE = re.compile(r"\bgpu_memory_utilization['\"]?\s*[:=]\s*(\d(?:\.\d{1,9})?)\b")
_MODEL = re.compile(r"\bmodel['\"]?\s*[:=]\s*['\"]([^'\"]{1,200})['\"]")
_LONGEST = re.compile(r"Maximum concurrency for ([\d,]{1,20}) tokens per request")


@dataclass
class Start:
    """What the lines of the start have said so far; each thing with the first line that said it.

    Fields:
        sizes: KV tokens, by engine core; "" where the line names none.
        blocks: KV blocks, of any engine.
        found: settings by the names of `LoggedSettings`.
    """

    sizes: dict[str, dict[int, int]] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)
    found: dict[str, object] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any line was one of the start."""
        return bool(self.sizes or self.blocks or self.found)

    def read(self, number: int, line: str) -> None:
        """What a line says, if it is one of the start."""
        if found := _SIZE.search(line):
            core = _CORE.search(line)
            if size := _whole(found[1]):
                self.sizes.setdefault(core[1] if core else "", {}).setdefault(size, number)
        if found := _BLOCKS.search(line) or _AFTER.search(line):
            self.blocks.setdefault(int(found[1]), number)
        if found := _LONGEST.search(line):
            self.found.setdefault("max_model_len", _whole(found[1]) or None)
        if "version" in line or "LLM engine (v" in line:
            self._version(line)
        if any(words in line for words in _SPEAKS):
            self._flags(line)

    def _version(self, line: str) -> None:
        of_vllm = "vllm" in line.lower() or "LLM engine" in line or "█" in line
        if of_vllm and (found := _VERSION.search(line)):
            self.found.setdefault("version", found[1].rstrip("."))

    def _flags(self, line: str) -> None:
        for name, ours in _COUNTS.items():
            found = re.search(rf"\b{name}['\"]?\s*[:=]\s*{COUNT}\b", line)
            if found and int(found[1]):
                self.found.setdefault(ours, int(found[1]))
        if found := _CACHING.search(line):
            self.found.setdefault("prefix_caching", found[1] == "True")
        elif _FLAG.search(line):
            self.found.setdefault("prefix_caching", False)
        if (found := _SHARE.search(line)) and float(found[1]) > 0:
            self.found.setdefault("memory_share", float(found[1]))
        if found := _MODEL.search(line):
            self.found.setdefault("model", found[1])

    def settings(self, engines: int, name: str, *, v1: bool) -> tuple[LoggedSettings, list[str]]:
        """The settings, and what to say of them.

        Args:
            engines: that print statistics. Each has a pool of its own.
            name: of the file.
            v1: whether the engine is V1, which sets a block aside.
        """
        found, notes = dict(self.found), []
        blocks = min(self.blocks) * engines if self.blocks else 0
        capacity = self._capacity(engines, name, notes)
        size = found.get("block_size")
        if size is None and blocks:
            size = capacity // blocks if capacity and capacity % blocks == 0 else None
        if size is None and blocks and capacity is None:
            size = _USUAL_BLOCK
            notes.append(f"{name} does not name the block size: {size}, vLLM's own on GPUs")
        if isinstance(size, int):
            found["block_size"] = size
            capacity = blocks * size if capacity is None and blocks else capacity
            if capacity and capacity % size == 0 and capacity // size > engines:
                found["blocks"] = capacity // size - (NULL_BLOCKS * engines if v1 else 0)
        return LoggedSettings(**found, capacity=capacity), notes  # type: ignore[arg-type]  # own names

    def _capacity(self, engines: int, name: str, notes: list[str]) -> int | None:
        """Tokens of all pools. Ranks of one engine share blocks, as many as the smallest has."""
        pools = {core: min(sizes) for core, sizes in self.sizes.items()}
        named = [size for core, size in pools.items() if core]
        several = sorted({size for sizes in self.sizes.values() for size in sizes})
        if len(several) > max(len(named), 1):
            of_each = ", ".join(f"{size:,}" for size in several)
            notes.append(f"{name} names KV cache sizes {of_each}; the smallest is taken")
        if len(named) > 1:
            return sum(named)
        return several[0] * engines if several else None


def _whole(text: str) -> int:
    return int(text.replace(",", "") or 0)
