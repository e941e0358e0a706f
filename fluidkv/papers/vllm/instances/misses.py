"""Published numbers of vLLM's that our predictions miss, as `fluidkv.answers.served` quotes them.

`published.csv` there has a row for each; the tests compute them again, and hold each against the
claim that it names, which fails.
"""

import csv
from dataclasses import astuple, fields
from pathlib import Path

from fluidkv.answers.served.published import Published
from fluidkv.papers.vllm.instances.recompute_tax_families import recorded
from fluidkv.papers.vllm.instances.recompute_tax_printed import ROWS
from fluidkv.papers.vllm.instances.watermark_draws import Statistic, best_gain, changes
from fluidkv.papers.vllm.instances.watermark_runs import PUBLISHED, fitted_clock, predicted

_WATERMARKS: tuple[tuple[str, str, Statistic, str], ...] = (
    ("throughput.gain", "what the best watermark gains in tokens/s", best_gain, "share"),
    ("ttft.median", "what a watermark of 0.02 adds to the median TTFT", changes("ttft_p50"), "s"),
    ("latency.median", "what 0.02 adds to the median latency", changes("latency_p50"), "s"),
)


def computed() -> tuple[Published, ...]:
    """Numbers of pull request 44594 and of RFC 54644, and ours; the first of each claim's row."""
    ours = predicted(fitted_clock())
    found = [
        Published(
            f"vllm-44594.{claim}",
            "watermark",
            what,
            _rounded(statistic(PUBLISHED)[0]),
            _rounded(statistic(ours)[0]),
            unit,
        )
        for claim, what, statistic, unit in _WATERMARKS
    ]
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
        )
    )
    return tuple(found)


def record(path: Path) -> None:
    """Compute them and write them, three digits a number."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Published)])
        writer.writerows(astuple(one) for one in computed())


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
