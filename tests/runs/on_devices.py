"""What `test_devices` asks of a process that sees eight devices; prints what was found as JSON.

Run as a module: JAX reads how many devices there are when it is loaded.
"""

import json

import jax
import numpy as np
import xarray as xr

from fluidkv.fluid import class_model, scan_trajectory, simulate
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
    return there | plain_map() | simulated()


def plain_map() -> dict[str, bool]:
    model = class_model(SYSTEM)
    records = ("admitted", "memory")

    programs = {}

    @jax.jit
    def compiled(starts: jax.Array):
        return scan_trajectory(model, starts.transpose(2, 1, 0), 40, records)

    def call(starts: jax.Array):
        devices = len(starts.sharding.device_set)
        if devices not in programs:
            programs[devices] = compiled.lower(starts).compile()
        return programs[devices](starts)

    def on(count: int):
        axes, devices = (2, {"admitted": 2, "memory": 1}), jax.local_devices()[:count]
        return over_devices(call, starts(150), axes=0, found_axes=axes, devices=devices, lanes=16)

    with in_float64():
        equal = same(on(1), on(8))
    text = programs[8].as_text()
    return {
        "the map is the same on eight devices": equal,
        "no device waits for another": not any(word in text for word in COLLECTIVE),
    }


def simulated() -> dict[str, bool]:
    """Through `simulate`: three blocks of one system's starts, three of systems with 128 starts."""
    capacities = Systems.of([System(SYSTEM.workload, 200 + k) for k in range(24)])
    many = np.broadcast_to(starts(128), (24, 128, 2, 7))

    def run() -> list[xr.Dataset]:
        asked = {"iterations": 20, "every": 10, "record": ("evicted", "memory"), "engine": "plain"}
        return [simulate(SYSTEM, starts(2100), **asked), simulate(capacities, many, **asked)]

    everywhere = run()
    with jax.default_device(jax.local_devices()[0]):
        alone = run()
    return {
        f"{what} are simulated alike on one device": a.equals(b)
        for what, a, b in zip(("starts", "systems"), everywhere, alone, strict=True)
    }


def starts(count: int) -> np.ndarray:
    model = class_model(SYSTEM)
    masses = np.random.default_rng(1).random((count, 2, 7)) * (model.weights > 0)
    used = np.einsum("bks,ks->b", masses, model.weights)
    return masses * (float(SYSTEM.capacity) / used)[:, None, None]


def same(one, other) -> bool:
    """Bit for bit."""
    return all(
        a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


if __name__ == "__main__":
    print(json.dumps(found()))
