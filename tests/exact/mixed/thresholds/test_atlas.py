"""The atlas: values against counts of roots; the same from any number of workers."""

import math
import os
from fractions import Fraction
from multiprocessing import active_children

import numpy as np
import pytest
import xarray as xr

from fluidkv import processes
from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.mixed.thresholds import atlas
from fluidkv.exact.mixed.thresholds.atlas import NO_PAIR, NO_THRESHOLD, TENTHS, threshold_atlas
from fluidkv.exact.roots.spectrum import count_unstable

SHARES = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))


@pytest.fixture(scope="module")
def small() -> xr.Dataset:
    return threshold_atlas(9, SHARES, workers=1)


def test_thresholds_are_the_first_stable_lengths(small: xr.Dataset) -> None:
    """By counts at and below, for every pair."""
    for a in range(1, 9):
        for n in range(2, 10):
            for k, share in enumerate(SHARES):
                least = int(small["l0_min"].sel(first=a, second=n)[k])
                if a >= n:
                    assert least == NO_PAIR
                elif math.gcd(a, n) > 1:
                    assert least == NO_THRESHOLD
                else:
                    weights = two_lengths(a, n, share).weights
                    for l0 in {0, least // 2, max(0, least - 1), least}:
                        count = count_unstable(weights(l0))
                        stable = count.outside == count.on_circle == 0
                        assert stable == (l0 >= least)


def test_recorded_values(small: xr.Dataset) -> None:
    cell = small.sel(first=5, second=9, share=0.5)
    assert int(cell["l0_min"]) == 65
    assert (int(cell["growing_below"]), int(cell["growing_far"])) == (2, 0)
    assert (int(cell["crossings"]), int(cell["crossings_out"])) == (4, 0)
    assert int(cell["stable_windows"]) == 1
    assert float(cell["asymptotic_error"]) == pytest.approx(float(cell["asymptotic"]) / 65 - 1)
    leading = max(np.roots(two_lengths(5, 9, Fraction(1, 2)).weights(64).memory), key=abs)
    # a second way; between 64 and 64.43, where it crosses, the mode turns by a little
    period = 2 * math.pi / abs(np.angle(leading))
    assert float(cell["last_period"]) == pytest.approx(period, rel=1e-3)
    six_nine = small.sel(first=6, second=9, share=0.5)
    assert int(six_nine["growing_far"]) == 2
    assert math.isnan(float(six_nine["asymptotic"]))


def test_workers_do_not_change_the_bytes(small: xr.Dataset) -> None:
    calls = []
    other = threshold_atlas(9, SHARES, workers=2, on_progress=lambda *done: calls.append(done))
    assert calls == [(k, 36) for k in range(1, 37)]
    assert other.identical(small)
    assert bytes(other.to_netcdf(engine="scipy")) == bytes(small.to_netcdf(engine="scipy"))


def test_no_more_processes_than_cores(small: xr.Dataset, monkeypatch) -> None:
    started, real = [], processes.get_context("spawn")

    class Counted:
        Pipe = staticmethod(real.Pipe)

        def Process(self, **options):  # noqa: N802
            started.append(options)
            return real.Process(**options)

    monkeypatch.setattr(processes, "get_context", lambda _: Counted())
    monkeypatch.setattr(atlas, "cores", lambda: 2)
    xr.testing.assert_identical(threshold_atlas(9, SHARES, workers=256), small)
    assert len(started) == 2


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_process_that_is_ended_from_outside_is_said(monkeypatch) -> None:
    monkeypatch.setattr(atlas, "cores", lambda: 2)

    def kill(_done: int, _all: int) -> None:
        for process in active_children():
            process.kill()

    with pytest.raises(InputError, match=r"^workers: got 2; .*ended from outside"):
        threshold_atlas(12, SHARES, workers=2, on_progress=kill)
    assert not active_children()


def test_a_saved_atlas_reads_back(small: xr.Dataset, tmp_path) -> None:
    path = tmp_path / "atlas.nc"
    small.to_netcdf(path, engine="scipy")
    with xr.open_dataset(path, engine="scipy") as read:
        xr.testing.assert_equal(read.load().astype("float64"), small.astype("float64"))
        assert all({"units", "long_name"} <= set(v.attrs) for v in read.data_vars.values())
        assert np.array_equal(read["exact_share"].astype(str), [str(p) for p in SHARES])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, SHARES), "longest: got 1"),
        ((5, ()), "shares: got"),
        ((5, (Fraction(1, 2), Fraction(2, 4))), "all different"),
        ((5, (0.5,)), "shares: got 0.5"),
        ((5, (Fraction(1),)), "shares: got '1'"),
    ],
)
def test_bad_input_gets_one_line(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        threshold_atlas(*arguments)
    assert len(TENTHS) == 9
