"""Token-PD, sections 1 to 3: 6 GB a stream, and the memory on the chip."""

from fractions import Fraction

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import holds_for, span
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.tokenpd.instances import a100
from fluidkv.papers.tokenpd.instances.models import KV_BYTES, LLAMA_7B, MODELS, WEIGHTS, Model
from fluidkv.papers.tokenpd.paper import statements
from fluidkv.verdict import Verdict

CLAIMS = statements(origin=Origin.READING)

CONTEXT = 4096
GIGABYTES = "6"
"""Section 2: about so many a stream."""
_PRECISIONS = (1, 2, 4)

_SEVEN = [model for model in MODELS if model.billions == 7]


def _gigabytes(model: Model, bytes_per_value: int) -> Fraction:
    return Fraction(model.values * bytes_per_value * CONTEXT, 10**9)


@CLAIMS.claim(
    "section-2.six-gb",
    "section 2, KV cache mechanics",
    "The cache of a 7-billion model and 4,096 tokens takes about 6 GB, in 8, 16 or 32 bits.",
    expected=Verdict.FAILS,
    checked=f"{', '.join(m.name for m in _SEVEN)}; 1, 2 and 4 bytes a value; 5.5 to 6.5 GB",
)
def _six_gb() -> Outcome:
    sizes = [(_gigabytes(model, size), model, size) for model in _SEVEN for size in _PRECISIONS]
    low, high = span(GIGABYTES)
    met = [size for size, *_ in sizes if low <= size <= high]
    near, model, size = max(sizes, key=lambda found: found[0])
    plain = _gigabytes(LLAMA_7B, 2)
    tokens = int(Fraction(GIGABYTES) * 10**9 / KV_BYTES)
    return holds_for(
        None if met else f"at most {float(near):.2f} GB, {model.name} with {size} bytes a value",
        ours=f"{float(plain):.2f} GB with Llama 7B and FP16, as (1) has it",
        paper="already consumes about 6 GB of SRAM per stream",
        note=f"In FP16, 6 GB are {tokens:,} tokens. The model is not named; queries beside keys "
        "and values, all in FP32, would be 6.4 GB.",
    )


@CLAIMS.claim(
    "section-2.sram",
    "sections 1, 2, 3 and 8, and the abstract",
    "A stream of 4,096 tokens has its cache in the A100's SRAM.",
    expected=Verdict.FAILS,
    checked="Llama 7B in FP16; the chip's L2, L1 and registers by its vendor's white paper",
)
def _sram() -> Outcome:
    chip = sum(a100.ON_CHIP.values())
    needed = CONTEXT * KV_BYTES
    bad = f"{needed / 1e6:,.0f} MB, and the chip has {chip / 1e6:.0f} MB of it"
    return holds_for(
        bad if needed > chip else None,
        ours=f"it has room for {chip // KV_BYTES} tokens, if for nothing else",
        paper="about 6 GB of SRAM per stream; M the usable SRAM",
        note="Caches lie in high-bandwidth memory, beside the chip. Read as the memory of the GPU "
        "(section-2.gpu-memory), as Tables 1 and 2 do, the sentences are about 80 GB.",
    )


@CLAIMS.over(
    Range("1 to 40 streams of 4,096 tokens, Llama 7B in FP16", lambda: range(1, 41)),
    "section-2.gpu-memory",
    "section 2, KV cache mechanics",
    "Read as GPU memory, weights and 30 streams fit an A100-80GB, and 31 do not.",
    ours=f"{(a100.MEMORY - 2 * WEIGHTS) // (CONTEXT * KV_BYTES)} streams",
    paper="memory, not compute, becomes the bounding resource",
)
def _gpu_memory(streams: int) -> bool:
    fits = 2 * WEIGHTS + streams * CONTEXT * KV_BYTES <= a100.MEMORY
    return fits == (streams <= 30)


@CLAIMS.over(
    Range("1 to 30 streams of 4,096 tokens, Llama 7B in FP16 on an A100", lambda: range(1, 31)),
    "section-2.not-compute",
    "section 2, KV cache mechanics",
    "A decoding step takes longer to read weights and caches than to compute.",
    ours=lambda seen: f"{seen[0]:.0f} times as long for one stream, {seen[-1]:.0f} times for 30",
    paper="memory, not compute, becomes the bounding resource",
    note="At the peaks of the data sheet; operations of weights and of attention.",
)  # fmt: skip
def _not_compute(streams: int) -> str | Seen:
    reading = Fraction(2 * WEIGHTS + streams * CONTEXT * KV_BYTES, a100.BANDWIDTH)
    attention = 4 * LLAMA_7B.layers * LLAMA_7B.width * CONTEXT
    computing = Fraction(streams * (2 * WEIGHTS + attention), a100.FLOPS)
    ratio = float(reading / computing)
    return Seen(ratio) if reading > computing else f"{streams} streams: {ratio:.2f}"
