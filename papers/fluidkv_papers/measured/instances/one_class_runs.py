"""32 requests of 88 tokens that ask for 1,000 each, at once, on three engines: measured, and ours.

Qwen3-8B in bfloat16 on one RTX 4090, at most 32 running. Measured by radianvector/inferlint
(Apache-2.0): docs/engines.md at commit 3f9003c, and the boot logs, bench results and series in
tests/fixtures at ae51332, b6f89bd and 1e833d4.

SGLang charges who comes in one prefill pass all that it asks for, and who runs already a part of
it: whether 29, 30 or 32 run hangs on how many passes the 32 come in. Its log says that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.sglang_settings import SglangSettings

REQUESTS, INPUT, OUTPUT = 32, 88, 1000

ALONE_FIRST = (1, 31)
"""`vllm bench serve`: the first request is prefilled alone, while it is all others have come."""

OWN_CLIENT = (1, 2, 12, 9, 8)
"""`sglang.bench_serving`: requests of each prefill pass, by the server's log."""
OWN_TOKENS = (90, 176, 1145, 839, 726)
"""Tokens of these prompts, found in the tree or computed: its text has more of them than 88."""


@dataclass(frozen=True)
class Row:
    """One run.

    Args:
        name: engine, version and what was set.
        engine: ours; "sglang+cache" is its own scheduler with its tree.
        capacity: KV tokens that requests can hold.
        block_size, budget: tokens of a block; most of a pass.
        preemptions: measured.
        running: most at once; None where it is not said.
        duration_s, output_per_s: measured; None where they are not said.
        conservativeness: SGLang's.
        passes: requests that come together, one group after the other.
        lengths: of the prompts, by group; () where all have 88 tokens.
    """

    name: str
    engine: str
    capacity: int
    block_size: int
    budget: int
    preemptions: int
    running: int | None = None
    duration_s: float | None = None
    output_per_s: float | None = None
    conservativeness: float = 1.0
    passes: tuple[int, ...] = (REQUESTS,)
    lengths: tuple[int, ...] = field(default=())


VLLM_1 = Row("vLLM 0.30.0, start 1", "vllm+cache", 2020 * 16, 16, 2048, 3, 32, 25.118, 1274.0)
VLLM_2 = Row("vLLM 0.30.0, start 2", "vllm+cache", 47_888 - 16, 16, 2048, 0, 32, 23.221, 1378.1)
SGLANG = Row(
    "SGLang 0.5.20, vllm bench serve",
    "sglang+cache",
    *(32_096, 1, 4096, 0, 29, 40.043, 799.1),
    passes=ALONE_FIRST,
)
SGLANG_OWN = Row(
    "SGLang 0.5.20, its own client",
    "sglang+cache",
    *(32_096, 1, 4096, 3, 32, 23.84, 1342.4),
    passes=OWN_CLIENT,
    lengths=OWN_TOKENS,
)
SGLANG_LESS = Row(
    "SGLang 0.5.20, conservativeness 0.3",
    "sglang+cache",
    *(32_096, 1, 4096, 1, 30, 40.125, 797.5),
    conservativeness=0.3,
    passes=ALONE_FIRST,
)
TRTLLM_NO_EVICT = Row(
    "TensorRT-LLM 1.3.0rc29, GUARANTEED_NO_EVICT",
    "trtllm-no-evict",
    *(37_760, 32, 8192, 0, 32, 23.035, 1389.2),
)
TRTLLM = Row(
    "TensorRT-LLM 1.3.0rc29, MAX_UTILIZATION",
    "trtllm-max-utilization",
    *(20_960, 32, 8192, 13, None, 31.824, 1005.5),
)
ROWS = (VLLM_1, VLLM_2, SGLANG, SGLANG_OWN, SGLANG_LESS, TRTLLM_NO_EVICT, TRTLLM)
"""vLLM sets one block of its pool aside. SGLang's prefill passes have at most 4,096 tokens."""

RATIOS = ((0.0980, 0.9300), (0.8979, 0.9630), (0.9289, 0.9980))
"""SGLang's new-token ratio before and after each of the three retractions."""

SERIES = (
    *((0.0, 778), (2.055, 3978), (4.376, 7530), (6.940, 11306), (9.511, 14986)),
    *((12.084, 18602), (14.647, 22090), (17.215, 25514), (19.789, 28522)),
)
"""Of vLLM's first start: seconds, and output tokens so far, while all 32 run; 144 were made before
the load."""
_BEFORE = 144


@dataclass(frozen=True)
class Served:
    """Our run of a row.

    Fields:
        preemptions, running: of the run; most at once.
        duration_s: from the first request to the last token.
        preempted: who, by its place in the order of arrival; of SGLang ().
        ratios: SGLang's, before and after each retraction.
    """

    preemptions: int
    running: int
    duration_s: float
    preempted: tuple[int, ...] = ()
    ratios: tuple[tuple[float, float], ...] = ()

    @property
    def output_per_s(self) -> float:
        return REQUESTS * OUTPUT / self.duration_s


@cache
def clock() -> IterationClock:
    """From vLLM's first start alone: a line through its tokens over time, and its duration.

    A step gives each of 32 requests a token. What is left of the duration is prefill, that of the
    three preempted requests included.
    """
    seconds, tokens = (np.array(values, dtype=float) for values in zip(*SERIES, strict=True))
    steps = (tokens - tokens[0]) / REQUESTS
    held = REQUESTS * INPUT + (tokens + tokens[0]) / 2 - _BEFORE  # mean since the first moment
    columns = np.column_stack((steps, steps * held))[1:]
    (base, per_token), *_ = np.linalg.lstsq(columns, seconds[1:], rcond=None)
    base, per_token = float(base), float(per_token)
    # all come at once: what runs does not hang on the clock, and the duration is linear in it
    free, dear = (
        served(VLLM_1, IterationClock(base, per_token, d2)).duration_s for d2 in (0, 1e-3)
    )
    assert VLLM_1.duration_s is not None
    return IterationClock(base, per_token, 1e-3 * (VLLM_1.duration_s - free) / (dear - free))


def requests_of(row: Row) -> Requests:
    """Its requests; each group comes while the one before is prefilled."""
    lengths = [INPUT] * REQUESTS if not row.lengths else _split(row.passes, row.lengths)
    arrival = [0.02 * k for k, many in enumerate(row.passes) for _ in range(many)]
    return Requests(lengths, [OUTPUT] * REQUESTS, arrival=arrival)


def _split(passes: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """Tokens of each pass, spread over its requests as evenly as whole tokens are."""
    found: list[int] = []
    for many, of_pass in zip(passes, tokens, strict=True):
        each, more = divmod(of_pass, many)
        found += [each + 1] * more + [each] * (many - more)
    return found


def served(row: Row, clock: IterationClock, *, known: bool = False) -> Served:
    """Our run.

    Args:
        known: SGLang 0.5.23's rule for clients that ignore the end of text: all that they ask for
            is reserved.
    """
    if row.engine == "sglang+cache":
        return _of_sglang(row, clock, known=known)
    requests = requests_of(row)
    limits = Limits(row.capacity, row.block_size, REQUESTS, row.budget)
    if row.engine.endswith("+cache"):
        run = serve(requests, Server(row.engine, limits, clock))
    else:
        run = serve(requests, Server(row.engine, limits, clock=clock, backend="reference"))
    one = run.isel(run=0)
    gone = np.repeat(np.arange(REQUESTS), one.evictions.values)
    return Served(
        preemptions=int(one.preempt.sum()),
        running=int(one.running.max()),
        duration_s=float(one.time.max()),
        preempted=tuple(int(k) for k in gone),
    )


def _of_sglang(row: Row, clock: IterationClock, *, known: bool) -> Served:
    settings = SglangSettings(
        row.capacity,
        conservativeness=row.conservativeness,
        chunked_prefill_size=row.budget,
        max_running=REQUESTS,
        ignore_eos=known,
    )
    table = requests_of(row)
    run = SglangEngine(table, None, settings, clock, offered=False, compiled=True)
    ratios: list[tuple[float, float]] = []
    most = 0
    while run.done < REQUESTS:
        before = run.new_token_ratio
        run.step()
        now = run.row
        most = max(most, now.running)
        ratios += [(before, now.new_token_ratio)] * now.retracted
    return Served(len(ratios), most, run.now, ratios=tuple(ratios))
