"""What the reports of the deep benchmarks say alike."""

import os


def against(target: str, met: bool) -> str:
    """The target in words, and whether this run met it."""
    return f"{target}: {'met' if met else '**missed**'}"


def load() -> str:
    """Runnable processes over the last minute: what else the machine does."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
