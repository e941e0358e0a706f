"""Published numbers of vLLM's that our predictions miss, as `fluidkv.answers.served` quotes them.

`published.csv` there has a row for each; the tests compute them again, and hold each against the
claim that it names, which fails, or leaves undecided what the knob does.
"""

import csv
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

from fluidkv.answers.served.published import Published
from fluidkv_papers.vllm.instances import watermark_runs as bench
from fluidkv_papers.vllm.instances.recompute_tax_families import recorded
from fluidkv_papers.vllm.instances.recompute_tax_printed import ROWS
from fluidkv_papers.vllm.instances.watermark_draws import Statistic, chance, changes

_WATERMARKS: tuple[tuple[str, str, Statistic], ...] = (
    ("ttft.median", "median TTFT", changes("ttft_p50")),
    ("latency.median", "median latency", changes("latency_p50")),
)


def computed() -> tuple[Published, ...]:
    """Numbers of pull request 44594 and of RFC 54644, and ours; of each claim the farthest off."""
    found = [_of_watermark(*row) for row in _WATERMARKS]
    most = max(
        float(draws["tax_400"].max()) for point, draws in recorded().items() if point.setting.whole
    )
    found.append(
        Published(
            "vllm-54644.families.whole-prompt",
            "victim",
            "the recompute tax at 400 blocks, ours the most of all lengths tried",
            _rounded(float(ROWS[-1].tax)),
            _rounded(most),
            "share",
            None,
        )
    )
    return tuple(found)


def _of_watermark(claim: str, what: str, statistic: Statistic) -> Published:
    """The watermark at which the two are farthest apart, over what chance makes of them."""
    measured, ours, apart = (
        np.array(values)
        for values in (
            statistic(bench.PUBLISHED),
            statistic(bench.predicted(bench.fitted_clock())),
            chance(statistic),
        )
    )
    k = int((abs(measured - ours) / apart).argmax())
    return Published(
        f"vllm-44594.{claim}",
        "watermark",
        f"what a watermark of {bench.WATERMARKS[k + 1]:g} adds to the {what}",
        _rounded(float(measured[k])),
        _rounded(float(ours[k])),
        "s",
        _rounded(float(apart[k])),
    )


def record(path: Path) -> None:
    """Compute them and write them, three digits a number."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Published)])
        writer.writerows(astuple(one) for one in computed())


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
