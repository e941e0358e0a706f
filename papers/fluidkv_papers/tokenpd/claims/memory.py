"""Token-PD, sections 1 to 3: 6 GB a stream, and the memory on the chip."""

from fractions import Fraction

from fluidkv.ledger import Finding, Origin, Seen, span
from fluidkv_papers.tokenpd.instances import a100
from fluidkv_papers.tokenpd.instances.models import KV_BYTES, LLAMA_7B, MODELS, WEIGHTS, Model
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

CONTEXT = 4096
GIGABYTES = "6"
"""Section 2: about so many a stream."""
_PRECISIONS = (1, 2, 4)

_SEVEN = [model for model in MODELS if model.billions == 7]


def _gigabytes(model: Model, bytes_per_value: int) -> Fraction:
    return Fraction(model.values * bytes_per_value * CONTEXT, 10**9)


@CLAIMS.fails(
    "section-2.six-gb",
    "section 2, KV cache mechanics",
    checked=f"{', '.join(m.name for m in _SEVEN)}; 1, 2 and 4 bytes a value; 5.5 to 6.5 GB",
)
def _six_gb() -> Finding:
    """The cache of a 7-billion model and 4,096 tokens takes about 6 GB, in 8, 16 or 32 bits.

    Paper: already consumes about 6 GB of SRAM per stream"""
    sizes = [(_gigabytes(model, size), model, size) for model in _SEVEN for size in _PRECISIONS]
    low, high = span(GIGABYTES)
    met = [size for size, *_ in sizes if low <= size <= high]
    near, model, size = max(sizes, key=lambda found: found[0])
    plain = _gigabytes(LLAMA_7B, 2)
    tokens = int(Fraction(GIGABYTES) * 10**9 / KV_BYTES)
    return Finding(
        None if met else f"at most {float(near):.2f} GB, {model.name} with {size} bytes a value",
        f"{float(plain):.2f} GB with Llama 7B and FP16, as (1) has it",
        note=f"In FP16, 6 GB are {tokens:,} tokens. The model is not named; queries beside keys "
        "and values, all in FP32, would be 6.4 GB.",
    )


@CLAIMS.fails("section-2.sram", "sections 1, 2, 3 and 8, and the abstract")
def _sram() -> Finding:
    """A stream of 4,096 tokens has its cache in the A100's SRAM.

    Checked: Llama 7B in FP16; the chip's L2, L1 and registers by its vendor's white paper
    Paper: about 6 GB of SRAM per stream; M the usable SRAM
    Note: Caches lie in high-bandwidth memory, beside the chip. Read as the memory of the GPU, as
    Tables 1 and 2 do, the sentences are about 80 GB.
    Holds: section-2.gpu-memory"""
    chip = sum(a100.ON_CHIP.values())
    needed = CONTEXT * KV_BYTES
    bad = f"{needed / 1e6:,.0f} MB, and the chip has {chip / 1e6:.0f} MB of it"
    return Finding(
        not (needed > chip) or bad,
        f"it has room for {chip // KV_BYTES} tokens, if for nothing else",
    )


@CLAIMS.claim(
    "section-2.gpu-memory",
    "section 2, KV cache mechanics",
    over=range(1, 41),
    ours=f"{(a100.MEMORY - 2 * WEIGHTS) // (CONTEXT * KV_BYTES)} streams",
)
def _gpu_memory(streams: int) -> bool:
    """Read as GPU memory, weights and 30 streams fit an A100-80GB, and 31 do not.

    Checked: 1 to 40 streams of 4,096 tokens, Llama 7B in FP16
    Paper: memory, not compute, becomes the bounding resource"""
    fits = 2 * WEIGHTS + streams * CONTEXT * KV_BYTES <= a100.MEMORY
    return fits == (streams <= 30)


@CLAIMS.claim(
    "section-2.not-compute",
    "section 2, KV cache mechanics",
    over=range(1, 31),
    ours=lambda seen: f"{seen[0]:.0f} times as long for one stream, {seen[-1]:.0f} times for 30",
)
def _not_compute(streams: int) -> str | Seen:
    """A decoding step takes longer to read weights and caches than to compute.

    Checked: 1 to 30 streams of 4,096 tokens, Llama 7B in FP16 on an A100
    Paper: memory, not compute, becomes the bounding resource
    Note: At the peaks of the data sheet; operations of weights and of attention."""
    reading = Fraction(2 * WEIGHTS + streams * CONTEXT * KV_BYTES, a100.BANDWIDTH)
    attention = 4 * LLAMA_7B.layers * LLAMA_7B.width * CONTEXT
    computing = Fraction(streams * (2 * WEIGHTS + attention), a100.FLOPS)
    ratio = float(reading / computing)
    return Seen(ratio) if reading > computing else f"{streams} streams: {ratio:.2f}"
