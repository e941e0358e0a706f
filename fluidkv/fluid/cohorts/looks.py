"""How often a trajectory is looked at, and what counts as the same state again."""

NEVER = -1
"""Stands for "not within the iterations run" where an iteration is given."""

CHECK_EVERY = 60
"""Iterations between two looks at a trajectory: the resolution of `settled`. Divisible by many
periods, so that a short cycle shows after few looks.

>>> from fluidkv.fluid import CHECK_EVERY
>>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
>>> found = fk.convergence(system, [[47, 0, 0]], iterations=600)
>>> CHECK_EVERY, found.settled.item() % CHECK_EVERY
(60, 0)
"""

ROUND = 64
"""Looks at which a state is compared with the same earlier one: a cycle shows if its period divides
`CHECK_EVERY` times a number up to this."""

REPEATS_WITHIN = 1e-12
"""Largest change of a memory share after a period that still counts as a repetition. A share is at
most 1 and is rounded at 1e-16; an attracting cycle whose multipliers are not nearly 1 is followed
to within a few hundred roundings. It is far below any radius of the equilibrium."""
