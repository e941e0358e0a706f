"""What last come first can waste at most: useful tokens, and one longest request a completion.

Take vLLM's rules: outputs are kept, the evicted wait at the head, an iteration that evicts admits
nobody, and a prompt is computed in one iteration. Somebody is evicted only when no block is free,
and v, who goes, leaves b_v of them. v is the next to come in; it needs b_v blocks or more, of which
whoever asked took one (or, if that was v itself, one more than b_v). So nobody comes in before
somebody is done or somebody more is evicted, and blocks are taken by growth alone: all b_v of them
before the next eviction, unless somebody is done in between. The requests that are there grow over
a block boundary in decoding once for each boundary, as outputs are kept, G times in all. So

    sum of b_v over all evictions  <=  G + N b_max,

since at most N evictions are followed, before the next, by a completion. An evicted request loses
at most its blocks, and G blocks are fewer than the useful tokens. So the tokens lost are fewer than
the useful ones and N times the longest: a tax of t needs a request longer than (2 t - 1) / (1 - t)
times the mean.
"""

from fractions import Fraction

from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits


def most_lost(requests: Requests, limits: Limits) -> int:
    """Tokens that last come first recomputes at most, whatever the memory.

    Holds for `VLLM` and `VLLM_0_11` where every prompt is computed in one iteration.

    Examples:
        >>> from fluidkv_papers.theory.best import most_lost
        >>> most_lost(fk.Requests([1, 2, 1], [2, 2, 1]), fk.Limits(3))  # growth by 2, and 3 times 3
        11
    """
    size = limits.block_size
    peaks = requests.input_length + requests.output_length - 1
    blocks = -(-peaks // size)
    growth = int((blocks - -(-requests.input_length // size)).sum())
    return size * (growth + len(requests) * int(blocks.max()))


def least_skew(tax: Fraction) -> Fraction:
    """Longest request over the mean that a tax under last come first needs, block sizes aside.

    Examples:
        >>> from fluidkv_papers.theory.best import least_skew
        >>> least_skew(Fraction(3, 4))  # one request at least twice as long as the mean
        Fraction(2, 1)
    """
    return max(Fraction(0), (2 * tax - 1) / (1 - tax))
