"""The machine that a benchmark ran on, named so that another can be compared with it."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jax

import fluidkv
from fluidkv.processes import cores

_PACKAGES = ("jax", "jaxlib", "numba", "numpy", "scipy", "python-flint")


@dataclass(frozen=True)
class Machine:
    """Fields:
    processor: as the system names it.
    cores: that this process may use.
    memory_gb: of the machine, 10^9 bytes; None where the system does not say.
    system: and its release.
    device: kind of JAX's default device, such as "cpu" or "NVIDIA H100".
    devices: how many of them.
    versions: of Python and of the packages that compute.
    """

    processor: str
    cores: int
    memory_gb: float | None
    system: str
    device: str
    devices: int
    versions: dict[str, str]


def this_machine() -> Machine:
    """Here and now; it starts JAX."""
    devices = jax.devices()
    return Machine(
        processor=_processor(),
        cores=cores(),
        memory_gb=_memory_gb(),
        system=f"{platform.system()} {platform.machine()}",
        device="cpu" if devices[0].platform == "cpu" else devices[0].device_kind,
        devices=len(devices),
        versions=_versions(),
    )


def load() -> float | None:
    """Runnable processes over the last minute; None where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):  # Windows
        return None


def _versions() -> dict[str, str]:
    found = {"fluidkv": fluidkv.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # found on the path, but not installed
            found[package] = "unknown"
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (OSError, ValueError, AttributeError):  # not there
        return None
