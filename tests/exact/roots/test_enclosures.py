"""Interval Newton: what is enclosed is one root, and what is not a lone root is refused."""

from flint import acb, arb, arb_poly, fmpz_poly
from flint import ctx as flint_context

from fluidkv.exact.roots.enclosures import _classify, _interval_newton, enclose_roots


def test_a_point_that_is_no_root_is_not_enclosed():
    f = arb_poly([-2, 0, 1])
    with flint_context.workprec(96):
        # 1.5 is 0.09 from sqrt 2, far outside the largest ball that is tried
        assert _interval_newton(f, f.derivative(), acb(1.5)) is None


def test_two_roots_in_one_ball_are_not_enclosed_as_one():
    f = arb_poly([-1, 0, 2**200])  # roots at +-2^-100; the smallest ball tried has radius 2^-72
    with flint_context.workprec(96):
        assert _interval_newton(f, f.derivative(), acb(arb(2) ** -100)) is None


def test_a_real_root_counts_once_and_a_pair_twice_however_often_they_are_met():
    # (z + 2)(z^2 + z + 3): -2 and -1/2 +- i sqrt(11)/2
    polynomial = fmpz_poly([2, 1]) * fmpz_poly([3, 1, 1])
    pair = -0.5 + 1.6583j
    found = enclose_roots(polynomial, [-2.0001 + 1e-5j, pair, -2 + 0j, pair.conjugate()])
    assert [root.count for root in found] == [1, 2]
    assert found[0].ball.contains(acb(-2))
    assert found[1].modulus.overlaps(arb(3).sqrt())


def test_an_image_that_sticks_out_of_its_ball_proves_nothing():
    """In units of the largest radius that is tried: 2 z^2 + 10 z - 13 has no root within 1 of 0.

    Its roots are 1.07 and -6.07. Over the box of half width 1 the slope 10 + 4 z is not 0, and the
    image 13 / (10 + 4 z) begins below 1: it overlaps the box, and goes on beyond it.
    """
    f = arb_poly([-13, 10 * 2**30, 2 * 2**60])
    with flint_context.workprec(96):
        box = acb(arb(0, 2.0**-30), arb(0, 2.0**-30))
        assert (-f(acb(0)) / f.derivative()(box)).overlaps(box)
        assert _interval_newton(f, f.derivative(), acb(0)) is None


def test_the_ball_of_a_real_root_is_the_one_that_proves_it():
    """The ball that led there may lie beside the root: only its middle is used."""
    f = arb_poly([-2, 0, 1])
    with flint_context.workprec(96):
        beside = arb(2).sqrt() + arb(2) ** -32
        found = _classify(f, f.derivative(), acb(beside.mid(), arb(0, 2.0**-40)))
        assert found is not None
        assert (found.count, found.ball.imag) == (1, 0)
        assert found.ball.real.contains(arb(2).sqrt())
