"""Mutants of the statements about what tokens of Token-PD cost, and where they lie."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant(
        "tokenpd.equation-1.all-layers",
        "return model.printed == model.values",
        "return model.printed != 0",
    ),
    Mutant("tokenpd.equation-1.as-many-layers-as-heads", "model.values", "model.values // 2"),
    Mutant("tokenpd.equation-1.when", "(layers == heads)", "(layers <= heads)"),
    Mutant("tokenpd.equation-1.one-layer", "// layers", "", "def _one_layer"),
    Mutant("tokenpd.section-1.two-d", "2 * d * heads or", "2 * d or", "def _two_d"),
    Mutant("tokenpd.section-2.order", "2 * layers * length", "layers * length"),
    Mutant("tokenpd.section-2.six-gb", "_PRECISIONS = (1, 2, 4)", "_PRECISIONS = (6,)", "GIGA"),
    Mutant("tokenpd.section-2.sram", "needed = CONTEXT", "needed = 100", "def _sram"),
    Mutant("tokenpd.section-2.gpu-memory", "2 * WEIGHTS + streams", "streams", "def _gpu_memory"),
    Mutant("tokenpd.section-2.not-compute", "a100.BANDWIDTH)", "30 * a100.BANDWIDTH)"),
    Mutant("tokenpd.equation-2.penalty.each", "twice == 2 * once", "twice == once"),
]
