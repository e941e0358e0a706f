"""Run all benchmarks, print as they go, and write benchmarks/RESULTS.md.

python -m benchmarks
"""

from pathlib import Path

from benchmarks import (
    atlas,
    basins,
    blocks,
    caching,
    certificate,
    convergence,
    engine,
    enumeration,
    paging,
    preempt,
    prefix,
    serving,
    study,
    tokenpd,
    wait,
)
from benchmarks.report import machine

RESULTS = Path(__file__).parent / "RESULTS.md"
OPENING = f"""\
# Benchmarks

Written by `make bench` (`python -m benchmarks`). Compare ratios, not times: each ratio is of two
things measured in the same run on the same machine. Every section states the load of the machine,
processes that were runnable in the last minute, the benchmark's own among them.

{machine()}
"""


def main() -> None:
    sections = [OPENING]
    print(OPENING)
    for module in (
        *(certificate, engine, blocks, basins, convergence, enumeration, atlas),
        *(serving, preempt, caching, prefix, paging, study, wait, tokenpd),
    ):
        section = module.report() + "\n"
        print(section, flush=True)
        sections.append(section)
    RESULTS.write_text("\n".join(sections), encoding="utf-8")
    print(f"written: {RESULTS.name}")


if __name__ == "__main__":
    main()
