"""Experiments of CacheOPT in simulation: what is compared, left out and swept."""
