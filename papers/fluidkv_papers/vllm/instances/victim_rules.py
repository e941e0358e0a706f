"""The victim rules that are compared, and vLLM's rules with each, as the pull requests have them.

Least computed first is that of pull request 53723 as it stood when RFC 54644 was written: who asks
for room is spared while anybody else runs, and of equals the last goes. The others are keys over
the running list, and who asks may be the one that goes.
"""

from dataclasses import replace

from fluidkv.serving.rules import EngineRules, Victim

RULES = (
    Victim.LAST_ADMITTED,
    Victim.LEAST_COMPUTED,
    Victim.LEAST_PROGRESSED,
    Victim.LONGEST_REMAINING,
    Victim.FEWEST_BLOCKS,
    Victim.COST_AWARE,
    Victim.RANDOM,
    Victim.MOST_COMPUTED,
)
"""What is in vLLM first; then what was proposed, and what to compare with."""


def with_victim(rules: EngineRules, victim: Victim) -> EngineRules:
    """The rules, but for who goes."""
    return replace(rules, victim=victim, asker_stays=victim is Victim.LEAST_COMPUTED)
