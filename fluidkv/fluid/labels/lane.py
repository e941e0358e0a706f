"""What the kernel keeps of a trajectory, a *lane*: its columns, by name."""

NEVER = -1
"""Stands for "not so far" where an iteration is given."""

ONE_ANEW = 2
"""Sums are made anew from the labels every d iterations, with one end every so many times d.
Between, a sum of requests rounds some four times an iteration, and memory adds these up: to less
than what a start may be off the boundary, so that a final state can be one."""

SLACK = 1e-12
"""A label that needs all but so little of what it holds is used up: where in exact numbers eviction
takes just all of it, as it does again and again on some orbits, no rounding is left over. The sums
round by some 1e-14 of memory until they are made anew."""

# Of `numbers`: requests in flight; A, C and w of `reference`, which hold from SINCE to QUIET.
REQUESTS, TOTAL, OLDER, TOKENS = range(4)
NUMBERS = 4

# Of `counts`: iterations made; from where to where nothing completes and the youngest label lasts;
# births of the youngest label and of the oldest, how many live; the youngest that is left of a
# start off the manifold; what `Advanced` tells of evictions.
NOW, SINCE, QUIET, YOUNG, OLDEST, LIVE, STARTED, EVICTIONS, FIRST_EVICTION, LAST_FULL = range(10)
COUNTS = 10

# Of `flows`, in a window: units that completed or were evicted at each end; of labels of a start
# off the manifold requests of each row.
DONE, CUT, STARTED_DONE, STARTED_CUT = range(4)
FLOWS = 4

# Records of requests, and which of them are wanted.
ADMITTED, COMPLETED, EVICTED, IN_FLIGHT = range(4)
