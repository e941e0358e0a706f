"""Runs are told apart by coordinates: limits, clocks, seeds; and by products of them."""

import pytest

from fluidkv import InputError, IterationClock, Limits, Requests, serve
from fluidkv.runs import crossed
from fluidkv.serving.server import Server
from tests.conventions import complaints

SEEDS = (3, 5)
TABLES = [Requests([4, 5], [2, seed]) for seed in SEEDS]
LIMITS = [Limits(30), Limits(40, max_num_seqs=1)]


def test_a_product_runs_every_value_with_every_other() -> None:
    columns = crossed(limits=LIMITS, requests=TABLES, coords={"seed": ("requests", SEEDS)})
    found = serve(server=Server("vllm", columns.pop("limits")), **columns)
    assert found.capacity.values.tolist() == [30, 30, 40, 40]
    assert found.seed.values.tolist() == [3, 5, 3, 5]
    assert found.max_num_seqs.isnull().values.tolist() == [True, True, False, False]
    assert found.output_length.values[:, 1].tolist() == [3, 5, 3, 5]
    grid = found.set_index(run=["capacity", "seed"]).unstack("run")
    alone = serve(TABLES[1], Server("vllm", LIMITS[0]))
    assert grid.iterations.sel(capacity=30, seed=5) == alone.iterations[0]
    assert complaints(found) == []


def test_only_what_differs_between_runs_is_a_coordinate_besides_capacity() -> None:
    clocks = [IterationClock(1.0), IterationClock(1.0, 0.5)]
    found = serve(TABLES[0], Server("vllm", LIMITS[0], clock=clocks))
    assert found.per_kv_token.values.tolist() == [0.0, 0.5]
    assert found.per_kv_token.attrs["units"] == "s / token"
    assert found.capacity.values.tolist() == [30, 30]
    assert "base" not in found.coords


def test_a_coordinate_has_the_unit_that_is_said() -> None:
    said = {"rate": ([0.5, 1.0], "request / s", "arrivals")}
    found = serve(TABLES, Server("sglang", Limits(64)), coords=said)
    assert found.rate.attrs == {"units": "request / s", "long_name": "arrivals"}
    assert complaints(found) == []


@pytest.mark.parametrize(
    ("coords", "named"),
    [
        ({"seed": [1]}, r"coords\['seed'\]"),
        ({"seed": 1}, r"coords\['seed'\]"),
        ({"capacity": [1, 2]}, "capacity"),
        ({"tokens": [1, 2]}, "tokens"),
    ],
)
def test_what_does_not_fit_is_refused(coords: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        serve(TABLES, Server("vllm", LIMITS[0]), coords=coords)


def test_a_product_refuses_what_goes_along_nothing() -> None:
    with pytest.raises(InputError, match="one of limits"):
        crossed(limits=LIMITS, coords={"seed": ("requests", SEEDS)})
    with pytest.raises(InputError, match="2, one for each of limits"):
        crossed(limits=LIMITS, coords={"seed": ("limits", [1])})
    with pytest.raises(InputError, match="at least one value"):
        crossed(limits=[])
    with pytest.raises(InputError, match="at least one argument of `serve`"):
        crossed()
    with pytest.raises(InputError, match=r"coords\['seed'\]: .* \(the argument that it goes along"):
        crossed(limits=LIMITS, coords={"seed": SEEDS})  # pyright: ignore[reportArgumentType]  # bad
    with pytest.raises(InputError, match=r"limits: got \[\]; allowed: at least one value"):
        serve(TABLES, Server("vllm", []))
    with pytest.raises(InputError, match=r"requests: got \[\]; allowed: at least one value"):
        serve([], Server("vllm", LIMITS[0]))
