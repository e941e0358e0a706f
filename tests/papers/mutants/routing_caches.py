"""Mutants of the statements about Routing's caches, alone and on real prompts."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("routing.table-3.caches.tokens", "> _ABOUT", "> _ABOUT // 10", "def _tokens"),
    Mutant("routing.table-3.caches.nodes", ">= _RLT", ">= 30", "def _nodes"),
    Mutant("routing.table-3.caches.both", '(TOKENS, "rlt"', '(NODES, "rlt"', "def _both"),
    Mutant("routing.table-3.caches.ahead", "rlt.min() > lru", "rlt.min() < lru", "def _ahead"),
    Mutant("routing.table-3.caches.ahead.nodes", "rlt.min() > lru", "rlt.max() < lru", "def _ahe"),
    Mutant("routing.section-4-1.mooncake.infinite", "105_710", "105_711", "def _infinite"),
    Mutant("routing.section-4-1.mooncake.reuse", '"114 s"', '"115 s"', "def _reuse"),
    Mutant("routing.section-4-1.mooncake.conversation", "0.3, 0.6)", "0.3, 0.5)"),
    Mutant("routing.section-4-1.mooncake.synthetic", "-0.1, 1.4)", "0, 1.4)"),
    Mutant("routing.section-4-1.mooncake.conversation.nodes", "-1.3, 0)", "-1.2, 0)"),
    Mutant("routing.section-4-1.mooncake.synthetic.nodes", "-1, 1)", "-0.9, 1)"),
    Mutant("routing.section-4-1.mooncake.optimum", "16 <=", "17 <=", "def _optimum"),
    Mutant("routing.section-4-1.mooncake.nodes", "_within(1, ", "_within(0.5, ", "def _whole"),
    Mutant("routing.section-4-1.engines.vllm", "_within(0.05, ", "_within(0.001, ", "def _vllm"),
    Mutant("routing.section-4-1.engines.sglang", "<= 2.2", "<= 1", "def _sglang"),
]
