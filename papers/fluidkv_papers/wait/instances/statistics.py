"""What a mean or a count of runs may be off by."""

from typing import TYPE_CHECKING

from fluidkv.ledger import np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ERRORS = 5
"""Standard errors allowed for many runs; a right record fails one time in a million at most."""


def margin(values: "ArrayLike", chance: float = 1e-6) -> float:
    """What a mean of a few runs may be off by: standard errors times Student's quantile.

    Args:
        values: one a run.
        chance: that a right record is off by more, one-sided. With n runs the quantile is that of
            n - 1 degrees of freedom: 5 runs need many more errors than 500.
    """
    from scipy.stats import t

    _, error = mean_and_error(values)
    runs = len(values)  # pyright: ignore[reportArgumentType] -- one a run
    return error * float(t.ppf(1 - chance, runs - 1))


def mean_and_error(values: "ArrayLike") -> tuple[float, float]:
    """Mean over runs and its standard error."""
    table = np.asarray(values, np.float64)
    return float(table.mean()), float(table.std(ddof=1)) / table.size**0.5


def at_most(count: int, of: int, confidence: float = 0.99) -> float:
    """Clopper and Pearson's upper end, one-sided, of the chance of what was seen `count` times."""
    from scipy.stats import beta

    return 1.0 if count == of else float(beta.ppf(confidence, count + 1, of - count))
