"""What `test_devices` asks of a process that sees eight devices; prints what was found as JSON.

Run as a module: JAX reads how many devices there are when it is loaded.
"""

import json
from dataclasses import replace

import jax
import numpy as np
import xarray as xr

from fluidkv.fluid import (
    FirstEviction,
    Windows,
    class_model,
    rollout,
    simulate,
    simulate_open,
    step,
)
from fluidkv.runs.devices import over_devices
from fluidkv.runs.precision import in_float64
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload, share_from_float

SYSTEM = System(
    Workload(
        (RequestClass(3, 5, share_from_float(0.3)), RequestClass(4, 7, share_from_float(0.7)))
    ),
    200,
)
COLLECTIVE = ("all-reduce", "all-gather", "all-to-all", "collective-permute")


def found() -> dict[str, bool]:
    there = {"eight devices are there": jax.local_device_count() == 8}
    return there | plain_map() | sharded() | simulated()


def plain_map() -> dict[str, bool]:
    programs = {}
    compiled = jax.jit(mapped)

    def call(starts: jax.Array):
        devices = len(starts.sharding.device_set)
        if devices not in programs:
            programs[devices] = compiled.lower(starts).compile()
        return programs[devices](starts)

    def on(count: int):
        devices = jax.local_devices()[:count]
        return over_devices(call, starts(150), axes=0, found_axes=0, devices=devices, lanes=16)

    with in_float64():
        equal = same(on(1), on(8))
    text = programs[8].as_text()
    return {
        "the map is the same on eight devices": equal,
        "no device waits for another": not any(word in text for word in COLLECTIVE),
    }


def mapped(starts: jax.Array):
    """Final states and records of a batch."""
    model, watch = class_model(SYSTEM), Windows(("admitted", "memory"))
    run = jax.vmap(lambda state: rollout(model, state, 40, observe=watch, every=10))(starts)
    return run.state, run.observed


def first_evictions(starts: jax.Array):
    model, watch = class_model(SYSTEM), FirstEviction(stops=True)
    run = jax.vmap(lambda state: rollout(model, state, 40, observe=watch, every=10))(starts)
    return run.iterations, run.observed


def of_capacities(capacities: jax.Array):
    """Where only these vary over the mesh."""
    model, masses = class_model(SYSTEM), starts(1)[0]
    return jax.vmap(lambda limit: step(replace(model, capacity=limit), masses))(capacities)


def sharded() -> dict[str, bool]:
    """The same map under `shard_map`, as a user's own program has it."""
    with in_float64():
        mesh = jax.sharding.Mesh(np.array(jax.local_devices()), ("batch",))
        spec = jax.P("batch")
        split = jax.shard_map(mapped, mesh=mesh, in_specs=spec, out_specs=spec)
        until = jax.shard_map(first_evictions, mesh=mesh, in_specs=spec, out_specs=spec)
        alone = jax.jit(first_evictions)(starts(128))
        limits = 200.0 + np.arange(128)
        swept = jax.shard_map(of_capacities, mesh=mesh, in_specs=spec, out_specs=spec)
        parts = [jax.jit(of_capacities)(limits[first : first + 16]) for first in range(0, 128, 16)]
        each = jax.tree.map(lambda *parts: np.concatenate(parts), *parts)
        return {
            "shard_map finds the same": same(jax.jit(split)(starts(128)), _blocks(starts(128))),
            "so it does where each stops by itself": same(jax.jit(until)(starts(128)), alone),
            "and where capacities alone are split": same(jax.jit(swept)(limits), each),
        }


def _blocks(starts: np.ndarray):
    """One device, in blocks of 16: what each of the eight has."""
    found = [jax.jit(mapped)(starts[first : first + 16]) for first in range(0, len(starts), 16)]
    return jax.tree.map(lambda *parts: np.concatenate(parts), *found)


def simulated() -> dict[str, bool]:
    """Through `simulate`: three blocks of one system's starts, three of systems with 128 starts;
    through `simulate_open`: three blocks of runs."""
    capacities = Systems.of([System(SYSTEM.workload, 200 + k) for k in range(24)])
    many = np.broadcast_to(starts(128), (24, 128, 2, 7))
    arrivals = np.random.default_rng(2).poisson(3.0, (600, 8, 2))

    def run() -> list[xr.Dataset]:
        asked = {"iterations": 20, "every": 10, "record": ("evicted", "memory"), "engine": "plain"}
        opened = simulate_open(SYSTEM, arrivals=arrivals, record=("evicted", "queue"), every=4)
        return [
            simulate(SYSTEM, starts(2100), **asked),
            simulate(capacities, many, **asked),
            opened,
        ]

    everywhere = run()
    with jax.default_device(jax.local_devices()[0]):
        alone = run()
    return {
        f"{what} are simulated alike on one device": a.equals(b)
        for what, a, b in zip(("starts", "systems", "arrivals"), everywhere, alone, strict=True)
    }


def starts(count: int) -> np.ndarray:
    model = class_model(SYSTEM)
    masses = np.random.default_rng(1).random((count, 2, 7)) * (model.weights > 0)
    used = np.einsum("bks,ks->b", masses, model.weights)
    return masses * (float(SYSTEM.capacity) / used)[:, None, None]


def same(one, other) -> bool:
    """Bit for bit."""
    return all(
        a.shape == b.shape and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


if __name__ == "__main__":
    print(json.dumps(found()))
