"""The mass model seen from its labels: what completes or is used up moves, all else stands."""
