"""Masses that arrive at random and wait in a queue; the limit on their rate."""
