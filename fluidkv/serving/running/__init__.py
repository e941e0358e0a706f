"""Batches of runs, from their numbers and rules to the loop and back."""
