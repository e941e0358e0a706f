"""The paper CacheOPT: padding by confidence, memory by objectives, whom to preempt and how."""
