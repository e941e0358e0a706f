"""vLLM's rules with another victim, as the pull requests have them.

Least computed first is that of pull request 53723 as it stood when RFC 54644 was written: who asks
for room is spared while anybody else runs, and of equals the last goes. The others are keys over
the running list, and who asks may be the one that goes.
"""

from dataclasses import replace

from fluidkv.serving.rules import EngineRules, Victim


def with_victim(rules: EngineRules, victim: Victim) -> EngineRules:
    """The rules, but for who goes."""
    return replace(rules, victim=victim, asker_stays=victim is Victim.LEAST_COMPUTED)
