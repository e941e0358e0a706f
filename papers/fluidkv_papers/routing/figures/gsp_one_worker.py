"""Hit rate by cache size on the workload of Table 3, with single tokens and with whole nodes."""

from typing import Any

import numpy as np

from fluidkv import answers, prefix
from fluidkv.answers.cache.question import HIT_RATES, hit_rates
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, NOTE
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.instances.one_cache import (
    FIRST,
    LAST,
    NODES,
    SEEDS,
    TOKENS,
    reaches,
    workload,
)
from fluidkv_papers.routing.instances.printed import TABLE_3

_WIDE, _FINE = 5_000, 1_000
_FINE_FROM, _FINE_TO = 188_000, 206_000
CAPACITIES = tuple(
    sorted({*range(FIRST, LAST + 1, _WIDE), *range(_FINE_FROM, _FINE_TO + 1, _FINE)})
)
_LRU, _RLT = (float(TABLE_3[name].hit_rate) for name in ("lru", "rlt"))


def data() -> Data:
    """`tokens.` and `nodes.`: curves as of `fluidkv cache`; `size_of_lru`: where L-LRU has the
    hit rate of Table 3."""
    found: dict[str, Any] = {}
    for units in (TOKENS, NODES):
        answer = answers.cache_study(
            workload(),
            CAPACITIES,
            granularity=prefix.Granularity(nodes=units == NODES),
            seeds=SEEDS,
        )
        found |= {f"{units}.{name}": value for name, value in hit_rates(answer).items()}
        found[f"{units}.size_of_lru"] = float(reaches(units, "lru", _LRU))
    return found


def draw(data: Data, canvas: Canvas) -> None:
    axes = canvas.subplots(1, 2, sharey=True)
    titles = {TOKENS: "single leaf tokens go (the paper)", NODES: "whole leaf nodes go (SGLang)"}
    for ax, (units, title) in zip(axes, titles.items(), strict=True):
        part = sweeps.part(data, units)
        HIT_RATES.draw({**part, "capacity": part["capacity"] / 1000}, ax, log="", apart=10)
        for rate, name, place in ((_LRU, "L-LRU", 148), (_RLT, "RLT", 112)):
            ax.axhline(rate, color=BLACK, linewidth=0.8, linestyle=(0, (1, 3)))
            ax.annotate(f"Table 3, {name}: {rate} %", (place, rate), (0, 3), **NOTE)
        if units == TOKENS:
            ax.annotate("L-LRU, LFU, FIFO and SLRU:\none line", (131, 1.2), (0, 0), **NOTE)
        ax.set(title=title, xlabel="cache size, thousands of tokens")
    axes[1].set_ylabel("")
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=5)


def caption(data: Data) -> str:
    words = []
    for units, name in ((TOKENS, "single tokens"), (NODES, "whole nodes")):
        part = sweeps.part(data, units)
        size = part["size_of_lru"]
        rlt = np.interp(size, part["capacity"], part["rlt.hit_rate"])
        last = part["capacity"][part["rlt.hit_rate"] * 100 >= _RLT]
        where = f"from {last[0]:,.0f} tokens" if last.size else "nowhere here"
        words.append(
            f"With {name} L-LRU has the {_LRU} % of Table 3 at {size:,.0f} tokens, where RLT has "
            f"{100 * rlt:.1f} %; RLT has its {_RLT} % {where}.{_coinciding(part)}"
        )
    return (
        "64 groups of 32 prompts in round-robin order, lengths and shared half of appendix A, one "
        "worker; requests one by one, prompts and answers cached. Dashed: an infinite cache, "
        f"{100 * data['tokens.ceiling']:.2f} % of prompt tokens. Policies that draw: means of "
        f"{SEEDS} seeds, bands 95 % for the mean. {' '.join(words)} OPT evicts single tokens in "
        "both."
    )


def _coinciding(part: Data) -> str:
    return HIT_RATES.coinciding(part, [name for name in HIT_RATES.names(part) if name != "opt"])


FIGURE = Figure(
    id="gsp_one_worker",
    title="A loop that almost fits: L-LRU finds nothing, then everything; RLT rises slowly",
    source="Routing, the workload of Table 3, in a cache alone",
    parameters={"first": FIRST, "last": LAST, "seeds": SEEDS},
    size=(10.5, 5.2),
    data=data,
    draw=draw,
    caption=caption,
)
