"""Whole requests as machine code for a CPU: the cost of a run is its events, not its tokens."""
