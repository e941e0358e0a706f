"""Whom to preempt, how to bring it back, how much memory to give: every rule on one workload."""
