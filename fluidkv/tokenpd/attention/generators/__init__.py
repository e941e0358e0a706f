"""Attention with a stated structure: parts of its logits, and lifts that set shares of the mass."""
