"""A server whose truth is known: it writes a log, and says what a setting would really do."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr

from fluidkv.answers import recommend_settings
from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.logs.read import read_log
from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import read_trace
from tests.answers.replay.logs import CLOCK, LIMITS, write_log

CANDIDATES = {"watermark": [0.02, 0.1], "max_num_seqs": [4, 8, 12, 16]}


@dataclass(frozen=True)
class TrueServer:
    """A server by vLLM's rules with its cache.

    Args:
        cap: its max_num_seqs.
        load: mean seconds between requests.
        believed: the clock that the simulation is given; the server's own is `CLOCK`.
        seed: of its requests.
    """

    cap: int
    load: float
    believed: IterationClock
    seed: int

    @property
    def requests(self) -> Requests:
        rng = np.random.default_rng(self.seed)
        return Requests(
            rng.integers(20, 400, 50),
            rng.integers(50, 200, 50),
            arrival=np.cumsum(rng.exponential(self.load, 50)),
        )

    @property
    def limits(self) -> Limits:
        return replace(LIMITS, max_num_seqs=self.cap)

    def really(self, setting: Setting) -> xr.Dataset:
        """What the server does under a setting."""
        limits = replace(
            self.limits, watermark=setting.watermark, max_num_seqs=setting.max_num_seqs
        )
        return metrics(serve(self.requests, Server("vllm+cache", limits, clock=CLOCK))).isel(run=0)

    def advice(self, folder: Path) -> Recommendation:
        """What is said of its log."""
        write_log(folder, caching=True, table=self.requests, limits=self.limits)
        return recommend_settings(
            read_trace(folder)[0],
            LIMITS.capacity,
            engine="vllm+cache",
            demand=Demand(replay=True),
            clock=self.believed,
            now=Setting(max_num_seqs=self.cap),
            candidates=CANDIDATES,
            log=read_log(folder).timed(),
            block_size=LIMITS.block_size,
            max_num_batched_tokens=LIMITS.max_num_batched_tokens,
        )


def drawn(seed: int) -> TrueServer:
    """A server whose clock the simulation has wrong by up to a third, in each number by itself."""
    rng = np.random.default_rng(1000 + seed)
    wrong = rng.uniform(0.75, 1.33, 3)
    base, kv, prefill = wrong * (CLOCK.base, CLOCK.per_kv_token, CLOCK.per_prefill_token)
    return TrueServer(
        cap=int(rng.choice([4, 6, 10, 16, 64])),
        load=float(rng.choice([0.05, 0.2, 0.35])),
        believed=IterationClock(float(base), float(kv), float(prefill)),
        seed=seed,
    )
