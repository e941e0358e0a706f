"""What `test_devices` asks of a process that sees eight devices; prints what was found as JSON.

Run as a module: JAX reads how many devices there are when it is loaded.
"""

import json

import jax
import numpy as np

from fluidkv.fluid import class_model, scan_trajectory
from fluidkv.runs.devices import over_devices
from fluidkv.runs.precision import in_float64
from fluidkv.workload import RequestClass, System, Workload, share_from_float

SYSTEM = System(
    Workload(
        (RequestClass(3, 5, share_from_float(0.3)), RequestClass(4, 7, share_from_float(0.7)))
    ),
    200,
)
COLLECTIVE = ("all-reduce", "all-gather", "all-to-all", "collective-permute")


def found() -> dict[str, bool]:
    return {"eight devices are there": jax.local_device_count() == 8, **plain_map()}


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
