"""Which settings of an engine to take for a workload and a KV capacity.

A sweep: the same requests through every setting, in one batch of whole-request runs. It answers
with the frontier of throughput against preemptions and tails, and with one setting, taken by the
rule that `fluidkv.answers.recommend.frontier.RULE` states. Printing is the command line's.
"""

from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.recommend.settings import knobs
from fluidkv.answers.recommend.sweep import recommend_settings
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.memory import BLOCK_SIZES

__all__ = ["BLOCK_SIZES", "Demand", "Recommendation", "knobs", "recommend_settings"]
