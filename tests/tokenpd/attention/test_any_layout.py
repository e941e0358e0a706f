"""However weights are laid out in a file, the same weights come back."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from fluidkv.tokenpd import read_attention
from fluidkv.tokenpd.attention.stored.layout import AXES


@st.composite
def files(draw):
    """(weights by (request, layer, head), arrays of the file, what is said of it)."""
    sizes = {axis: draw(st.integers(1, 3)) for axis in AXES[:3]}
    several = draw(st.sampled_from([None, "layer", "request"]))
    own = [draw(st.integers(1, 5)) for _ in range(sizes["request"])]
    side = draw(st.sampled_from(["left", "right"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    true, size = {}, max(own)
    whole = np.full((*sizes.values(), size, size), np.nan)
    for at in np.ndindex(*sizes.values()):
        n = own[at[0]]
        row = rng.exponential(size=(n, n)) * np.tri(n)
        true[at] = row / row.sum(1, keepdims=True)
        place = slice(size - n, size) if side == "left" else slice(n)
        whole[at][place, place] = true[at]

    left_out = {axis for axis in AXES[:3] if sizes[axis] == 1 and draw(st.booleans())}
    axes = [axis for axis in draw(st.permutations(AXES)) if axis not in {*left_out, several}]

    def laid_out(array: np.ndarray, present: list[str]) -> np.ndarray:
        """As the file has it, from an array with the axes in their usual order."""
        keep = tuple(i for i, axis in enumerate(present) if axis in left_out)
        rest = [axis for axis in present if axis not in left_out]
        return np.squeeze(array, keep).transpose([rest.index(axis) for axis in axes])

    if several is None:
        arrays = {"w": laid_out(whole, list(AXES))}
    else:
        left_out.discard(several)
        others = [axis for axis in AXES if axis != several]
        parts = np.moveaxis(whole, AXES.index(several), 0)
        arrays = {f"w.{i}": laid_out(part, others) for i, part in enumerate(parts)}
    said = {"axes": axes, "several": several, "padding": side, "length": own}
    return true, sizes, own, arrays, said


@given(files(), st.sampled_from(["mean", "heads"]))
def test_the_same_weights_come_back_from_any_layout(tmp_path_factory, drawn, over):
    true, sizes, own, arrays, said = drawn
    path = tmp_path_factory.getbasetemp() / "any_layout"
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    attention, report = read_attention(path, prompt=1, over=over, **said)
    assert attention.length[:: len(attention.length) // len(own)].tolist() == own
    requests, layers, heads = sizes.values()
    assert (report.requests, report.layers, report.heads) == (requests, layers, heads)
    assert report.rows == layers * heads * sum(own)
    parts = list(product(range(layers), range(heads)))
    for request, n in enumerate(own):
        each = [true[request, *part] for part in parts]
        streams = [sum(each) / len(each)] if over == "mean" else each
        first = request * len(streams)
        for stream, weights in enumerate(streams, first):
            assert np.allclose(attention.weights[stream, :n, :n], weights, rtol=1e-12, atol=0)
            assert not attention.weights[stream, n:].any()
            assert attention.request[stream] == request
