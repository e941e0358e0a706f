"""What would take all memory, for ever, or more than 64 bits is refused in one line, at once."""

import warnings

import pytest

import fluidkv as fk
from fluidkv.cli import main
from fluidkv.exact import survival_weights
from fluidkv.sweeps.planning import plan

_SERVER = "--class 10:20 --capacity 512"
_PRICE = "price --generator heavy-hitters --budget 25% --requests 2 --length 16"
_LONG = "9" * 400
# command -> what it begins to say, behind "fluidkv: "
TOO_MUCH = {
    "cache --generator zipf --set prompts=1000000000": "--set prompts: got 1000000000",
    "cache --generator zipf --set requests=1000000000": "--set requests: got 1000000000",
    "cache --generator gsp --set groups=1000000000000": "--set groups: got 1000000000000",
    "cache --generator gsp --set groups=100000": "queries: got 32; allowed: at most 10 with",
    "cache --generator chats --set rounds=1000000000": "--set rounds: got 1000000000",
    "cache --generator loop --set capacity=1000000000": "--set capacity: got 1000000000",
    "cache --generator gsp --set lengths=1000000000000": "--set lengths: got 1000000000000",
    **{
        f"preempt {_SERVER} --predictor {name}=1e300": f"--predictor {name}: got 1e+300"
        for name in ("log-normal:sigma", "gaussian:tokens", "biased:factor")
    },
    **{
        f"preempt {_SERVER} --predictor {name}={_LONG}": f"--predictor {name}: got 999"
        for name in (
            *("bucketed:width", "classifier:width", "s3:width", "uniform:tokens"),
            *("uniform:share", "gaussian:tokens", "gaussian:share"),
        )
    },
    f"{_PRICE} --predictor noisy-oracle:sigma=1e300": "--predictor noisy-oracle:sigma: got 1e+300",
    f"{_PRICE} --gap 1e30": "--gap: got 1e+30",
    **{
        f"recommend {_SERVER} --max-tokens {text}": f"--max-tokens: got '{text}'"
        for text in ("1e300x", "5e17x", "1e18x", "1e999999999x", "1e-999999999x")
    },
    "recommend --class 10:100000000 --capacity 1000000000 --runs 1": "output_length: got 100000000",
}


@pytest.mark.parametrize("command", TOO_MUCH, ids=lambda text: text[:60])
def test_too_much_is_one_line(command, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fluidkv: {TOO_MUCH[command]}")
    assert captured.err.count("\n") == 1
    assert len(captured.err) < 240


def test_a_grid_of_too_many_points_is_refused():
    values = {"from": 1, "to": 10**6, "step": 2}
    grid = {"input_length": values, "decode_length": values}
    spec = {"analysis": "stability", "settings": {"capacity": 10**9}, "grid": grid}
    with pytest.raises(fk.InputError, match=r"^points: got 250000000000; allowed: at most 10"):
        plan(spec)


def test_starts_that_fit_into_no_memory_are_refused(tmp_path):
    settings = {"capacity": 10**5, "decode_length": 200, "starts": 2**24}
    spec = {"analysis": "basins", "settings": settings, "grid": {"input_length": [1, 2]}}
    with pytest.raises(fk.InputError, match=r"^starts: got 16777216; allowed: at most 671,088 "):
        fk.sweep(spec, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_points_that_fit_apart_are_asked_in_parts(tmp_path, monkeypatch):
    settings = {"capacity": 24, "decode_length": 3, "starts": 5}
    spec = {"analysis": "basins", "settings": settings, "grid": {"input_length": [1, 2, 3]}}
    together = fk.sweep(spec, tmp_path / "together").load()
    monkeypatch.setattr("fluidkv.sweeps.analyses.mass._MOST_MASSES", 15)  # one point's
    assert fk.sweep(spec, tmp_path / "apart").load().equals(together)


def test_the_equilibrium_is_that_of_the_weights_and_takes_no_memory():
    mix = fk.Workload.from_lengths([(10, 2), (3, 7), (3, 7), (5, 1)])
    weights = survival_weights(mix)
    found = fk.eviction_free_equilibrium(fk.System(mix, 100))
    assert found.rate == 100 / weights.lifetime_memory
    assert found.in_flight == found.rate * weights.mean_lifetime
    long = fk.System(fk.Workload.from_lengths([(1, 10**14)]), 10**15)
    assert float(fk.eviction_free_equilibrium(long).in_flight) == pytest.approx(20)
