"""Routing, appendix A and section 5: what the settings say by themselves."""

from fractions import Fraction

from fluidkv.ledger import Finding, Origin, decimal, span
from fluidkv_papers.routing.instances import printed
from fluidkv_papers.routing.instances.setting import mean_length
from fluidkv_papers.routing.paper import statements

CLAIMS = statements(origin=Origin.READING)

_LAYERS, _KV_HEADS, _HEAD = 32, 8, 128
"""Llama-3.1-8B and Mixtral 8x7B, from their published configurations; 70B has 80 layers."""
_L40, _H200 = 46_068 * 2**20, 143_771 * 2**20
"""Bytes that the driver reports of the two GPUs."""
_WEIGHTS_8B, _WEIGHTS_70B, _WEIGHTS_MIXTRAL = 8_030_261_248, 70_553_706_496, 46_702_792_704
_IN_LAYERS_8B = _WEIGHTS_8B - 2 * 128_256 * 4096
"""Without both embeddings: what multiplies each token of a prompt."""
_L40_FLOPS = 181 * 10**12
"""NVIDIA's data sheet: dense BF16, at its peak."""


def _kv_bytes(layers: int) -> int:
    """Of a token: keys and values of 2 bytes."""
    return 2 * 2 * layers * _KV_HEADS * _HEAD


@CLAIMS.claim("appendix-a.memory", "appendix A, with public configurations", kind="remark")
def _memory() -> Finding:
    """200,000 tokens fit beside the weights: of Llama-3.1-8B on an L40, of 70B with FP8 weights on
    an H200, and of Mixtral in 80 % of an H200.

    Checked: bytes of weights and KV cache alone
    Paper: approximately 200k tokens for each model"""
    room = {
        "8B": (_L40 - 2 * _WEIGHTS_8B) // _kv_bytes(_LAYERS),
        "70B": (_H200 - _WEIGHTS_70B) // _kv_bytes(80),
        "Mixtral": (_H200 * 4 // 5 - 2 * _WEIGHTS_MIXTRAL) // _kv_bytes(_LAYERS),
    }
    small = (f"{name}: {n:,} tokens" for name, n in room.items() if n < 200_000)
    return Finding(
        small, ", ".join(f"{name} {n:,}" for name, n in room.items()) + " tokens at most"
    )


@CLAIMS.fails("figure-7.percentage", "Figure 7, its caption read as the cache alone")
def _percentage() -> Finding:
    """The KV cache takes up to 90 % of the memory of an L40 that holds Llama-3.1-8B.

    Paper: percentage of GPU memory used by the KV cache, 50 to 90 %"""
    weights = Fraction(2 * _WEIGHTS_8B, _L40)
    sizes = [
        int((Fraction(share, 100) * _L40 - 2 * _WEIGHTS_8B) / _kv_bytes(_LAYERS))
        for share in (50, 90)
    ]
    return Finding(
        not (weights > Fraction(1, 10)) or "90 %",
        f"weights take {decimal(100 * weights, 0)} %",
        note="With the weights in the share, as SGLang's own setting counts, 50 to 90 % is "
        f"{sizes[0]:,} to {sizes[1]:,} tokens.",
    )


@CLAIMS.claim("table-2.within-peak", "Table 2, with the prompts of appendix A; not stated there")
def _within_peak() -> Finding:
    """An L40 can compute the uncached tokens of every row a second, at less than its peak.

    Checked: the multiplications by weights alone, four rows
    Paper: 10.73 to 11.92 requests a second"""
    mean = mean_length(printed.GROUPS)
    rates = [
        span(row.throughput)[1] * (1 - span(row.hit_rate)[0] / 100) * mean / printed.WORKERS
        for row in printed.TABLE_2.values()
    ]
    part = max(rates) * 2 * _IN_LAYERS_8B / _L40_FLOPS
    return Finding(
        not (part >= 1) or decimal(part, 2),
        f"{decimal(max(rates), 0)} tokens a second on each worker, {decimal(100 * part, 0)} % "
        "of the peak",
        note=f"Prompts have {decimal(mean, 0)} tokens in the mean. So what is served is what such "
        "a GPU serves when it computes without a pause.",
    )
