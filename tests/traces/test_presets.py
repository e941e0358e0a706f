"""Presets against Table 1 of CacheOPT, and what they admit to."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.traces import preset
from fluidkv.traces.presets import preset_names

# CacheOPT, Table 1, as printed (avg, min, max), but thousands written out: 2.47K, 3.2K, 461K.
TABLE_1 = {
    "alpaca": (("19.31", 9, 2470), ("58.41", 13, 292)),
    "sharegpt": (("161.31", 16, 3200), ("337.99", 19, 991)),
    "bookcorpus": (("1952.11", 18, 461_000), ("681.2", 32, 1041)),
}


def test_the_presets_are_the_rows_of_table_1() -> None:
    assert set(preset_names()) == set(TABLE_1)


@pytest.mark.parametrize("name", TABLE_1)
def test_mean_minimum_and_maximum_equal_the_printed_figures(name: str) -> None:
    workload = preset(name)
    inputs = [c.input_length for c in workload.classes]
    decodes = [c.decode_length for c in workload.classes]
    (mean_in, min_in, max_in), (mean_out, min_out, max_out) = TABLE_1[name]
    assert workload.mean_input_length == Fraction(mean_in)  # exact, hence to the printed decimals
    assert workload.mean_decode_length == Fraction(mean_out)
    assert (min(inputs), max(inputs)) == (min_in, max_in)
    assert (min(decodes), max(decodes)) == (min_out, max_out)


@pytest.mark.parametrize("name", TABLE_1)
def test_preset_is_the_same_every_time_and_says_that_it_is_synthetic(name: str) -> None:
    workload = preset(name)
    assert workload == preset(name)
    assert workload.name == name
    assert workload.note.startswith(f"synthetic, not the {name} data set")
    assert workload.requests is None


@pytest.mark.parametrize("name", TABLE_1)
def test_input_and_output_are_coupled_as_if_independent(name: str) -> None:
    workload = preset(name)
    mean_in, mean_out = workload.mean_input_length, workload.mean_decode_length
    moments = [
        (
            c.share * (c.input_length - mean_in) * (c.decode_length - mean_out),
            c.share * (c.input_length - mean_in) ** 2,
            c.share * (c.decode_length - mean_out) ** 2,
        )
        for c in workload.classes
    ]
    covariance, variance_in, variance_out = (float(sum(m)) for m in zip(*moments, strict=True))
    # Two standard errors of a sample of 5,000 independent pairs: 2 / sqrt(5000) = 0.028.
    assert abs(covariance) < 0.028 * (variance_in * variance_out) ** 0.5


@pytest.mark.parametrize("name", ["", "Alpaca", "sharegpt "])
def test_unknown_preset_is_refused(name: str) -> None:
    with pytest.raises(InputError) as error:
        preset(name)
    assert error.value.argument == "preset"
    near = {"Alpaca": "alpaca (the nearest)", "sharegpt ": "sharegpt (the nearest)"}
    said = near.get(name, "one of alpaca, bookcorpus, sharegpt")
    assert str(error.value).endswith(f"allowed: {said}")
