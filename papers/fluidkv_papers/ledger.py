"""Which claims there are, and how they are checked."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module

from fluidkv.errors import InputError
from fluidkv.ledger.claim import Claim, Result
from fluidkv.ledger.verify import run_all
from fluidkv.text import id_key, nearest

_MODULES = (
    (
        "congestion.claims.one_class",
        "equations cycles families envelope examples spread cascade cascade_blocks example_6 "
        "example_3 figure_9 waste theorem_2 theorem_2_local",
    ),
    (
        "congestion.claims.mixed",
        "examples_4_5 first_order threshold equations theorem_3_1 finite_exit pulse_cycle "
        "pulse_return_map limit_roots examples_8_9 drift theorem_24 spectral_gap log_chart "
        "gap_exponents lyapunov example_10 example_11 theorem_22 lemma_9 global_convergence "
        "section_4_3 section_5_3 figures_16_17",
    ),
    (
        "congestion.claims.experiments",
        "rate_limit figure_4 metastability mixing tables_4_5 tables_4_5_counts gpu_figures "
        "table_8 bursts arithmetic vidur_gains vidur_tables vidur_bursts restart_resume "
        "victims",
    ),
    (
        "wait.claims",
        "fluid proposition_1 proposition_2 examples propositions_3_and_4 thresholds theorem_1 "
        "lindley lemmas_4_and_5 lemma_6 nested_example_3 nested_blind equation_13 "
        "nested_buffer nested_paths nested_throughput nested_frequency nested_short_memory "
        "segment_queues nested_eta section_6 lemma_9 theorem_3 section_7_2 theorem_4",
    ),
    (
        "routing.claims",
        "formulation algorithm_1 lemmas ratios_of_lru ratios_of_rlt random_requests",
    ),
    (
        "routing.claims.experiments",
        "settings table_2 table_3 one_worker simulated servers averages",
    ),
    ("routing.claims", "caches"),
    (
        "cacheopt.claims",
        "settings given observation_3 restoring hoeffding coverage direction confidence "
        "embedding selection amortising curves",
    ),
    ("cacheopt.claims.experiments", "compared ablations sensitivity"),
    ("cacheopt.claims", "printed spans"),
    ("tokenpd.claims", "cost memory returns objectives"),
    (
        "tokenpd.claims.guarantee",
        "comparators protocol rule price netted hard per_step returning rates",
    ),
    ("tokenpd.claims", "predictor heap printed served"),
    ("tokenpd.claims.experiments", "simulated compared"),
    ("tokenpd.claims.appendix_a", "lagrangian payoff gap descent rounding"),
    ("vllm.claims", "watermark recompute_tax victims_table victims"),
    ("measured.claims", "sglang_run one_class capacity_policies fixed_lengths modelled unseen"),
)
"""Folder of claims -> its modules in the order of the paper; what was measured comes last."""


@cache
def _by_id() -> dict[str, Claim]:
    modules = [
        import_module(f"fluidkv_papers.{folder}.{name}")
        for folder, names in _MODULES
        for name in names.split()
    ]
    claims = [claim for module in modules for claim in module.CLAIMS]
    found = {claim.id: claim for claim in claims}
    if len(found) != len(claims):
        raise RuntimeError("two claims share an id")
    return found


def ledger() -> tuple[Claim, ...]:
    """Every claim, in the order of the papers; then what was measured."""
    return tuple(_by_id().values())


def select(ids: str | Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims with this id or these, in ledger order; all of them for None.

    The front part of an id selects all that it leads to: "congestion.example-2" takes every claim
    about that example, and so does "congestion_example_2".

    Raises:
        InputError: an id that selects nothing; the message lists what is near.
    """
    claims = ledger()
    if ids is None:
        return claims
    wanted = (ids,) if isinstance(ids, str) else tuple(ids)
    selected: set[str] = set()
    for name in wanted:
        found = [c.id for c in claims if name in fronts(c.id)]
        found = found or [c.id for c in claims if id_key(name) in map(id_key, fronts(c.id))]
        if not found:
            raise InputError("id", name, _near(name, claims))
        selected.update(found)
    return tuple(c for c in claims if c.id in selected)


def fronts(id: str) -> list[str]:
    """What selects a claim: "a", "a.b", "a.b.c" of "a.b.c"."""
    parts = id.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def verify(
    ids: str | Iterable[str] | None = None,
    *,
    jobs: int = 1,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the checks and say which outcomes differ from the record.

    Args:
        ids: as in `select`; None checks all.
        jobs: processes to share the work.
        on_result: called with each result, in ledger order.

    Raises:
        InputError: an id that selects nothing; fewer than one job.

    Examples:
        >>> results = fk.verify("congestion.example-2")
        >>> len(results), all(each.as_expected for each in results)
        (9, True)
        >>> results[0].claim.id, results[0].outcome.ours
        ('congestion.example-2.level-0.state', '(2, 2, 2)')
    """
    return run_all(select(ids), jobs=jobs, lookup=claim_of, on_result=on_result)


def claim_of(id: str) -> Claim:
    """The claim with this very id."""
    return _by_id()[id]


def _near(name: str, claims: Sequence[Claim]) -> str:
    near = nearest(name, dict.fromkeys(f for c in claims for f in (fronts(c.id)[1], c.id)))
    return near if near.startswith("near") else f"an id of the ledger, such as {claims[0].id}"
