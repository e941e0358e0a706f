"""`fluidkv size`: how much memory, what rate, how many replicas."""
