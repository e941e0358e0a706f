"""Logs of vLLM servers that nobody here had looked at when the bounds below were written down.

They are what is printed of the one vLLM log that was known before: the error bars beside a pick
without a log (`answers/served/elsewhere.csv`), the errors that `docs/replay.md` has for its
predicted half, and the quarter that the modelled clocks claim.
"""

LATENCY = 0.05
"""Median error of latencies in the predicted half, as a share of their time there; 3.2 % known."""
RUNNING = 0.12
"""Root mean square error of running requests there, over their mean; 3.5 of 29.7 known."""
PEAK = 0.05
"""Most requests running at once, over the whole run."""
DURATION = 0.05
"""The whole run, clock from its first half; 188.2 s for 183.6 s known."""
MODELLED = 0.25
"""A step by the clock from data sheets, as `measured.modelled` has it."""
