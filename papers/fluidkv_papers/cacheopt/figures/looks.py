"""How the compared systems look, the same in every figure; and what all captions say."""

from fluidkv.figures.figure import Axes, Data
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from fluidkv_papers.bands import draw_band
from fluidkv_papers.cacheopt.instances.runs import SEEDS

LOOKS = {
    "vllm": ("vLLM", BLACK, "-.", "v"),
    "sarathi": ("Sarathi", GREY, ":", "x"),
    "rlp": ("RLP", ORANGE, "-", "s"),
    "s3": ("S3", PURPLE, "--", "D"),
    "cacheopt": ("CacheOPT", BLUE, "-", "o"),
    "padded up": ("CacheOPT, padding never subtracted", GREEN, "--", "^"),
}
"""Method -> its name, colour, line and marker."""

TRACES = {"alpaca": "Alpaca's lengths", "sharegpt": "ShareGPT's lengths"}

TITLES = {
    "ttft_p99": "P99 TTFT, s",
    "ttft": "TTFT attainment",
    "tbt_p99": "P99 of longest TBT, s",
    "tbt": "TBT attainment",
    "latency": "normalised latency, s a token",
}

SETTING = (
    "OPT-13B's modelled clock; memory scaled down until the printed rates fill it (Alpaca: a 30th; "
    "ShareGPT: a tenth, at a tenth of the rates); predictions err by up to 30 %; objectives are "
    "the other systems' mean times, times a scale from 0.5 to 2.5; "
    f"{len(SEEDS)} draws of 250 and 80 requests."
)
"""Of all runs."""


def draw_line(data: Data, ax: Axes, key: str, name: str) -> None:
    """`key` over "x", as the method looks, with the range over the draws."""
    draw_band(data, ax, key, LOOKS[name], alpha=0.12)
