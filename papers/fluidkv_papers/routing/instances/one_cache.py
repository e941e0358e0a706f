"""The workload of Table 3 in one prefix cache: 64 groups of 32 prompts in round-robin order.

Requests come one after the other. The paper's worker ran many at once, which hold what they use, in
"approximately" 200,000 tokens; its lengths, shared half and outputs are those of appendix A.
"""

from functools import cache
from typing import TYPE_CHECKING

from fluidkv import answers, prefix
from fluidkv.answers.prompted import Prompted
from fluidkv.ledger import np
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv_papers.routing.instances.printed import ONE_WORKER_GROUPS

if TYPE_CHECKING:
    from jaxtyping import Float

SEEDS = 3
"""Of policies that draw; they differ by less than a tenth of a point where single tokens go."""
FIRST, LAST = 90_000, 210_000
"""Tokens: where the curves begin and end."""
TOKENS, NODES = "tokens", "nodes"
"""What goes at once: single leaf tokens, as in the paper, or whole leaf nodes, as in SGLang."""


@cache
def workload() -> Prompted:
    """The requests; round-robin order draws nothing but times, which play no part here."""
    parameters = {"groups": ONE_WORKER_GROUPS, "order": "round-robin"}
    return answers.prompted_generator("gsp", parameters=parameters)


def hit_rates(units: str, policy: str, capacity: int) -> "Float[np.ndarray, ' seed']":
    """Per cent of prompt tokens; one seed for policies that draw nothing."""
    which = prefix.Policy(policy)
    seeds = range(SEEDS if which.draws else 1)
    runs = (prefix.run_cache(_trie(units), capacity, which, seed=seed) for seed in seeds)
    return np.array([100 * run.hit_rate() for run in runs])


def hit_rate(units: str, policy: str, capacity: int) -> float:
    """The mean over seeds."""
    return float(hit_rates(units, policy, capacity).mean())


def reaches(units: str, policy: str, rate: float, *, step: int = 1) -> int:
    """The least capacity with this hit rate in per cent, by bisection down to `step` tokens.

    Of a policy that draws, a crossing of the mean over seeds, which need not rise at each token.

    Raises:
        ArithmeticError: the last capacity does not have it, or the first has.
    """
    low, high = FIRST, LAST
    ends = hit_rate(units, policy, low), hit_rate(units, policy, high)
    if not ends[0] < rate <= ends[1]:
        raise ArithmeticError(f"{policy}: {ends[0]:.2f} to {ends[1]:.2f} %, not {rate} between")
    while high - low > step:
        middle = (low + high) // 2
        if hit_rate(units, policy, middle) >= rate:
            high = middle
        else:
            low = middle
    return high


def slope(units: str, policy: str, capacity: int, width: int = 1000) -> float:
    """Points of hit rate for 1,000 tokens more, over so many tokens around a capacity."""
    ends = (capacity - width // 2, capacity + width // 2)
    low, high = (hit_rate(units, policy, end) for end in ends)
    return (high - low) / width * 1000


@cache
def _trie(units: str) -> Trie:
    """Prompts with answers."""
    granularity = prefix.Granularity(nodes=units == NODES)
    return prefix.trie_of(workload().prompts, granularity, answers=True)
