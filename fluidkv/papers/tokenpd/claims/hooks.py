"""Token-PD, section 5: the hook points, looked for in vLLM."""

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.papers.tokenpd.paper import statements
from fluidkv.verdict import Evidence, Verdict

CLAIMS = statements(origin=Origin.READING)

CALLBACKS = ("CacheInsert", "CacheEvict")
"""Section 5: what vLLM exposes."""

VLLM = {
    "vllm/core/evictor.py": ("Evictor", "add", "evict", "update", "remove"),
    "vllm/v1/core/block_pool.py": (
        *("get_cached_block", "cache_full_blocks", "get_new_block_bundles", "touch"),
        *("free_blocks", "reset_prefix_cache", "_maybe_evict_cached_block"),
    ),
    "csrc/cache.h": ("swap_blocks", "copy_blocks", "reshape_and_cache", "reshape_and_cache_flash"),
}
"""Names that one stored version of each file declares, those that write or evict among them."""


@CLAIMS.claim(
    "section-5.callbacks",
    "section 5, hook points",
    "vLLM exposes callbacks named CacheInsert and CacheEvict.",
    expected=Verdict.UNDECIDED,
    evidence=Evidence.SAMPLED,
    checked=f"{', '.join(VLLM)}; searches of vLLM's issues and documentation for both names",
)
def _callbacks() -> Outcome:
    declared = {name.lower() for names in VLLM.values() for name in names}
    missing = [name for name in CALLBACKS if name.lower() not in declared]
    return Outcome(
        Verdict.UNDECIDED if missing else Verdict.HOLDS,
        Evidence.SAMPLED,
        ours="neither is in the files read; what is written or evicted there are blocks of tokens",
        paper="vLLM exposes two callback sites: CacheInsert [...] CacheEvict",
        note="Other versions may have them, or the names stand for sites that the authors added. "
        "In the versions read, blocks are evicted that no running request holds.",
    )
