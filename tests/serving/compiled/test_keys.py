"""The keys of the compiled engine pick whom the literal one picks, on lists of any requests."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.serving.compiled.keys import GONE, key, lowest
from fluidkv.serving.compiled.start import numbers_of, state_of
from fluidkv.serving.compiled.state import Merits
from fluidkv.serving.decisions.choosing import first_to_go
from fluidkv.serving.engines import VLLM
from fluidkv.serving.progress import Request
from fluidkv.serving.rules import Ranges, Victim
from tests.serving.compiled.engine_runs import crowds

RUNS, SLOTS = 8, 40


@pytest.mark.parametrize("victim", Victim, ids=lambda each: each.name)
def test_the_smallest_key_is_of_the_first_to_go(victim):
    """Small numbers, so that there are many ties; with holes between those who run."""
    rules = replace(VLLM, victim=victim, ranges=Ranges((0.2, 0.5), 3))
    rng = np.random.default_rng(list(Victim).index(victim))
    for seed in range(12):
        requests, alive = _requests(rng), rng.random((RUNS, SLOTS)) < 0.6
        alive[:, 7] = True
        with jax.enable_x64(True):
            arrays = crowds(seed)._replace(seed=rng.integers(0, 2**30, RUNS))
            state = state_of(rules, arrays, SLOTS, 64, keep_requests=False)
            runs = state.runs._replace(iterations=state.runs.iterations + 5)
            keys = key(
                rules.victim,
                numbers_of(rules, arrays, jumps=False),
                runs,
                _slots(state.slots, requests, np.asarray(rules.ranges.tbt_slo)),
            )
            found = lowest(victim.first_of_equals, jnp.where(jnp.asarray(alive), keys, GONE))
        for run in range(RUNS):
            running = [requests[run][slot] for slot in np.flatnonzero(alive[run])]
            first = first_to_go(rules, running, int(arrays.seed[run]), 5)
            assert requests[run][int(found[run, 0])] is first


def _requests(rng: np.random.Generator) -> list[list[Request]]:
    made = []
    for _ in range(RUNS):
        indices = rng.permutation(64)[:SLOTS].tolist()
        made.append([Request(index, 0, 0, 0, 0.0) for index in indices])
        for request in made[-1]:
            request.input_length, request.predicted, request.blocks = rng.integers(1, 6, 3).tolist()
            request.priority, request.outputs, request.computed = rng.integers(0, 9, 3).tolist()
            request.max_output = request.outputs + int(rng.integers(1, 5))
            request.tbt_slo = float(rng.choice([0.1, 0.2, 0.3, 0.9]))
    return made


def _slots(slots, requests: list[list[Request]], bounds: np.ndarray):
    def column(name: str) -> np.ndarray:
        return np.array([[getattr(each, name) for each in run] for run in requests])

    # Places among these are in the order of places among all.
    urgency = np.array(
        [
            [sorted((r.priority, r.index) for r in run).index((r.priority, r.index)) for r in run]
            for run in requests
        ]
    )
    merits = Merits(
        _int32(column("predicted")),
        _int32(urgency),
        _int32(np.searchsorted(bounds, column("tbt_slo"), side="right")),
    )
    return slots._replace(
        alive=jnp.ones((RUNS, SLOTS), bool),
        request=_int32(column("index")),
        input=_int32(column("input_length")),
        longest=_int32(column("max_output")),
        computed=_int32(column("computed")),
        blocks=_int32(column("blocks")),
        merits=merits,
        progress=slots.progress._replace(outputs=_int32(column("outputs"))),
    )


def _int32(values: np.ndarray) -> jax.Array:
    return jnp.asarray(values.astype(np.int32))
