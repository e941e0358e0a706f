"""Systems that tests take by their numbers."""

from fractions import Fraction

from fluidkv.workload import RequestClass, System, Workload


def one_class(input_length: int, decode_length: int, capacity: Fraction | int) -> System:
    """Equal requests."""
    return System(Workload((RequestClass(input_length, decode_length),)), Fraction(capacity))


def equal_shares(input_length: int, *decode_lengths: int) -> Workload:
    """A class for each decode length, as many requests in each."""
    share = Fraction(1, len(decode_lengths))
    return Workload(tuple(RequestClass(input_length, n, share) for n in decode_lengths))


SMALL = one_class(2, 3, 24)
"""Of Examples 1 to 3 of Congestion."""
