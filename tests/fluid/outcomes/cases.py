"""Mixes of two lengths, and states of cohorts in rationals."""

from fractions import Fraction

from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.survival import survival_weights
from fluidkv.workload import System


def mixed(first, second, share, input_length, capacity=None):
    workload = two_lengths(first, second, Fraction(share)).workload(input_length)
    return System(workload, capacity or 10 * workload.largest_footprint)


COPRIME = mixed(2, 3, "1/2", 50, 518)
COMMON = mixed(2, 4, "1/2", 50, 626)


def states_of(system, cohorts):
    """x_ks = p_k y_s."""
    return [[c.share * y for y in cohorts[: c.decode_length]] for c in system.workload.classes]


def memory_shares(system, cohorts):
    """V_s y_s / M, exact."""
    weights = survival_weights(system.workload)
    per_mass = [Fraction(v, weights.denominator) / system.capacity for v in weights.memory]
    return [v * y for v, y in zip(per_mass, cohorts, strict=True)]
