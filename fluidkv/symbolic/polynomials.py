"""The characteristic polynomial F of the eviction-free equilibrium, and its limit A_r."""

from sympy import Expr

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.symbolic.symbols import coefficients, polynomial
from fluidkv.workload import Workload


def characteristic_polynomial(
    mix: LengthMix | Workload, *, shares: bool = False, ratios: bool = False
) -> Expr:
    """F(z) = sum of V_s z^{d-1-s}: in z and l0 for a mix, in z for a workload.

    With a common input it is (l0 + d) A - z A', A the limit. Capacity does not enter it.

    Args:
        mix: decode lengths and shares; of inputs that differ, l0 is the L in l0_k = r_k L.
        shares: symbols p1, p2 ... for the shares of all classes but the last, which has the rest.
        ratios: symbols r1, r2 ... for the input ratios of a mix.

    Raises:
        InputError: ratios of a workload.

    Source: Congestion, equations (10) and (30).

    Examples:
        >>> from fluidkv.symbolic import characteristic_polynomial
        >>> characteristic_polynomial(fk.LengthMix((2, 3), [Fraction(1, 2)]))
        l0/2 + z**2*(l0 + 1) + z*(l0 + 2) + 3/2
        >>> characteristic_polynomial(fk.LengthMix((2, 3), [Fraction(1, 2)]), shares=True)
        z**2*(l0 + 1) + z*(l0 + 2) + (1 - p1)*(l0 + 3)
        >>> characteristic_polynomial(fk.Workload.from_lengths([(2, 3)]))
        3*z**2 + 4*z + 5
    """
    return polynomial(coefficients(mix, shares=shares, ratios=ratios).memory)


def limit_polynomial(mix: LengthMix, *, shares: bool = False, ratios: bool = False) -> Expr:
    """A_r(z), the limit of F / L as inputs grow long: A of the paper where inputs are common.

    (1 - z) A_r = -R z^d + sum of p_k r_k z^{d - l1_k}, R = sum of p_k r_k.

    Args:
        mix: decode lengths, shares and input ratios.
        shares, ratios: as in `characteristic_polynomial`.

    Source: Congestion, equation (11) and B.9.

    Examples:
        >>> from sympy import factor
        >>> from fluidkv.symbolic import limit_polynomial
        >>> limit_polynomial(fk.LengthMix((2, 3), [Fraction(1, 2)]))
        z**2 + z + 1/2
        >>> factor(limit_polynomial(fk.LengthMix((2, 4), [Fraction(1, 2)]), shares=True))
        (z + 1)*(-p1 + z**2 + 1)
    """
    return polynomial(coefficients(mix, shares=shares, ratios=ratios).slope)
