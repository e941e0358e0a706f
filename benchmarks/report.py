"""Tables that read well on a terminal and in Markdown, and the machine they were measured on."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import jax


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded columns: the first to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join([first, *others]) + " |"

    rule = "|" + "|".join(
        "-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join([line(header), rule + "|", *map(line, rows)])


def seconds(value: float) -> str:
    """With the unit that leaves one to three digits before the point, as far as hours."""
    if value >= 3600:
        return f"{value / 3600:.3g} h"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def against(target: str, met: bool) -> str:
    """The target in words, and whether this run met it."""
    return f"{target}: {'met' if met else '**missed**'}"


def load() -> str:
    """Runnable processes over the last minute: what else the machine does."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def machine() -> str:
    packages = ("jax", "jaxlib", "numpy", "scipy", "python-flint")
    return "\n".join(
        [
            f"- processor: {_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB",
            f"- {platform.system()}, Python {platform.python_version()}, "
            + ", ".join(f"{name} {version(name)}" for name in packages),
            f"- JAX on {jax.default_backend()}",
        ]
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
