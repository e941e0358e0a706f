"""What we say, and how we know it: the words that every result of the package uses."""

from enum import StrEnum


class Verdict(StrEnum):
    """Outcome of checking a statement.

    Examples:
        >>> fk.Verdict("undecided") is fk.Verdict.UNDECIDED
        True
        >>> [str(each) for each in fk.Verdict]
        ['holds', 'fails', 'undecided']
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


class Stability(StrEnum):
    """Outcome of asking whether an equilibrium is asymptotically stable.

    `UNDECIDED` covers both "the certificate did not close" and "exactly neutral"; the result that
    carries it says which.

    Examples:
        >>> workload = fk.Workload.from_lengths([(2, 3)])
        >>> found = fk.stability(fk.System(workload, capacity=24))
        >>> found.verdict is fk.Stability.UNSTABLE, str(found.verdict)
        (True, 'unstable')
    """

    STABLE = "stable"
    UNSTABLE = "unstable"
    UNDECIDED = "undecided"


class Evidence(StrEnum):
    """How a verdict was obtained, strongest first.

    exact    integer or rational arithmetic, no rounding anywhere
    ball     floating point with a rigorous bound on every rounding and truncation
    float    floating point without such a bound
    sampled  a finite number of cases out of infinitely many; never a proof

    Examples:
        >>> workload = fk.Workload.from_lengths([(2, 3)])
        >>> fk.stability(fk.System(workload, capacity=24)).evidence is fk.Evidence.EXACT
        True
        >>> [str(each) for each in fk.Evidence]
        ['exact', 'ball', 'float', 'sampled']
    """

    EXACT = "exact"
    BALL = "ball"
    FLOAT = "float"
    SAMPLED = "sampled"
