"""GPUs that people run: what their data sheets promise, dense, with sums in 32 bits.

Data sheets often print the double, for matrices of which half is zero; those are halved here.
"GB" of memory is 2^30 bytes on all of them; what a driver reports is up to 2 % less. Codes that
correct errors take a sixteenth of GDDR6 (A10, A40, L4, L40S). It is left out, since they are on
unless somebody turns them off.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.text import nearest


@dataclass(frozen=True)
class Gpu(Record):
    """One GPU.

    Args:
        name: as commands take it.
        source: of the numbers.
        flops_16: 16-bit operations a second, dense.
        flops_8: 8-bit floating-point operations a second, dense; None: it has none.
        memory: bytes.
        bandwidth: of the memory, bytes a second.
        flops_4: 4-bit floating-point operations a second, dense; None: it has none.
        link: to the other GPUs of its server, bytes a second one way; None: not stated here.
        generation: whose efficiencies it has (`efficiencies`); "": none are fitted to it.

    Examples:
        >>> from fluidkv.serving import kv_tokens_left
        >>> from fluidkv.serving.machines.models import model_named
        >>> from fluidkv.serving.machines.gpus import Gpu
        >>> gpu = Gpu("small", "made up", flops_16=1e14, flops_8=None, memory=24e9, bandwidth=1e12)
        >>> kv_tokens_left(model_named("qwen3-4b"), gpu)
        81009
    """

    name: str
    source: str
    flops_16: float
    flops_8: float | None
    memory: float
    bandwidth: float
    flops_4: float | None = None
    link: float | None = None
    generation: str = ""

    def flops(self, bits: float) -> float:
        """Operations a second at the precision of so many bits, or at the next that it has."""
        four = self.flops_4 if bits <= 4.5 else None
        eight = self.flops_8 if bits == 8 else None
        return four or eight or self.flops_16


@cache
def known_gpus() -> Mapping[str, Gpu]:
    """All that have a name here: `gpus.csv`.

    Examples:
        >>> from fluidkv.serving.machines.gpus import known_gpus
        >>> gpus = known_gpus()
        >>> round(gpus["h100"].memory / 1e9), [name for name in gpus if name.startswith("rtx")]
        (86, ['rtx-3090', 'rtx-4090', 'rtx-5090', 'rtx-pro-6000'])
    """
    return MappingProxyType({row["name"]: _gpu(row) for row in rows_of("gpus.csv")})


def rows_of(name: str) -> list[dict[str, str]]:
    """A table of this folder, by the names of its columns."""
    text = files("fluidkv.serving.machines").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def gpu_named(name: str) -> Gpu:
    """A GPU by name: "rtx-4090", "RTX 4090" and "NVIDIA GeForce RTX 4090" are the same.

    Raises:
        InputError: another name, with those near it; "a100", of which there are two.

    Examples:
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> gpu_named("NVIDIA GeForce RTX 4090").name
        'rtx-4090'
        >>> gpu_named("a100")
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: gpu: got 'a100'; allowed: a100-40, a100-80, a100-80-pcie ...
    """
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    for brand in ("nvidia-", "geforce-", "amd-", "instinct-", "tesla-"):
        plain = plain.removeprefix(brand)
    plain = plain.replace("-sxm", "").removesuffix("gb")
    plain = f"{plain[:3]}-{plain[3:]}" if plain.startswith("rtx") and plain[3:4] != "-" else plain
    if plain not in known_gpus():
        raise InputError("gpu", name, nearest(plain, known_gpus()))
    return known_gpus()[plain]


def _gpu(row: Mapping[str, str]) -> Gpu:
    return Gpu(
        row["name"],
        row["source"],
        float(row["flops_16"]),
        float(row["flops_8"]) if row["flops_8"] else None,
        float(row["memory_gib"]) * 2**30,
        float(row["bandwidth"]),
        float(row["flops_4"]) if row["flops_4"] else None,
        float(row["link"]) if row["link"] else None,
        row["generation"],
    )
