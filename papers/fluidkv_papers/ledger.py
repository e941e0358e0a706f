"""Which claims there are."""

from importlib import import_module

from fluidkv.ledger import Claim

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
    ("footprints.claims", "theory"),
    ("vllm.claims", "watermark recompute_tax victims_table victims"),
    ("measured.claims", "sglang_run one_class capacity_policies fixed_lengths modelled unseen"),
)
"""Folder of claims -> its modules in the order of the paper; what was measured comes last."""


def claims() -> list[Claim]:
    """Every claim, in the order of the papers; then what was measured."""
    modules = [
        import_module(f"fluidkv_papers.{folder}.{name}")
        for folder, names in _MODULES
        for name in names.split()
    ]
    return [claim for module in modules for claim in module.CLAIMS]
