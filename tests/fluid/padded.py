"""Models and states of one shape, so that drawn systems share what is compiled."""

import numpy as np

from fluidkv.fluid import MassModel

CLASSES, STAGES = 4, 20


def padded(model, classes=CLASSES, stages=STAGES):
    """Rows and stages that hold nothing behind those that there are."""
    rows, columns = classes - model.weights.shape[0], stages - model.weights.shape[1]
    both = ((0, rows), (0, columns))
    return MassModel(
        np.pad(model.weights, both),
        np.pad(model.survival, both),
        np.pad(model.shares, (0, rows)),
        model.capacity,
    )


def rectangle(rows, classes=CLASSES, stages=STAGES):
    """Ragged exact rows as a float array of shape (class, stage), zero beyond a class's stages."""
    array = np.zeros((classes, stages))
    for k, row in enumerate(rows):
        array[k, : len(row)] = [float(x) for x in row]
    return array
