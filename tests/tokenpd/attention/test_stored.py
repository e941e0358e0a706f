"""Attention weights in files: what comes back, how heads are combined, what is refused."""

import zipfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from fluidkv.errors import InputError
from fluidkv.tokenpd import generated, generators, read_attention, write_attention
from fluidkv.tokenpd.attention.weights import Attention

BFLOAT16 = np.dtype(jnp.bfloat16)
FIELDS = ("weights", "prompt", "length", "start", "request")


def _weights(*shape: int, seed: int = 0) -> np.ndarray:
    """Causal weights over (..., query, key), the last two of shape alike, float32."""
    drawn = np.random.default_rng(seed).exponential(size=shape) * np.tri(shape[-1])
    return (drawn / drawn.sum(-1, keepdims=True)).astype(np.float32)


def _saved(path: Path, words: dict[str, str] | None = None, **arrays: np.ndarray) -> Path:
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, path, words)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_reads_back_equal(tmp_path, dtype):
    given = generated(generators()["mixed"], 2, requests=3, prompt=(2, 5), length=(7, 12), gap=2)
    given = Attention(given.weights.astype(dtype), *(getattr(given, name) for name in FIELDS[1:]))
    write_attention(tmp_path / "a.safetensors", given)
    attention, report = read_attention(tmp_path / "a.safetensors")
    for name in FIELDS:
        assert np.array_equal(getattr(attention, name), getattr(given, name)), name
        assert getattr(attention, name).dtype == getattr(given, name).dtype
    assert (report.requests, report.streams, report.rescaled) == (3, 3, ())
    assert report.rows == given.length.sum()


def test_what_lies_behind_a_streams_end_comes_back_as_0(tmp_path):
    weights, one = _weights(1, 6, 6), np.array([1])
    write_attention(tmp_path / "a", Attention(weights, 2 * one, 4 * one, one, one))
    attention, _ = read_attention(tmp_path / "a")
    assert np.array_equal(attention.weights[:, :4], weights[:, :4])
    assert not attention.weights[:, 4:].any()


def test_axes_in_any_order_are_the_same_weights(tmp_path):
    weights = _weights(2, 3, 4, 5, 5)  # request, layer, head, query, key
    np.save(tmp_path / "a.npy", weights)
    np.save(tmp_path / "b.npy", weights.transpose(3, 1, 0, 4, 2))
    one, _ = read_attention(tmp_path / "a.npy", axes="request,layer,head,query,key", prompt=2)
    axes = ("query", "layer", "request", "key", "head")
    two, _ = read_attention(tmp_path / "b.npy", axes=axes, prompt=[2, 2])
    assert np.allclose(one.weights, weights.mean((1, 2)), rtol=1e-6)
    assert np.array_equal(one.weights, two.weights)


def test_heads_are_streams_in_the_order_of_requests_layers_and_heads(tmp_path):
    weights = _weights(2, 3, 4, 5, 5)
    np.save(tmp_path / "a.npy", weights)
    attention, report = read_attention(
        tmp_path / "a.npy",
        axes="request,layer,head,query,key",
        prompt=[1, 2],
        start=[7, 8],
        over="heads",
    )
    assert np.array_equal(attention.weights, weights.reshape(24, 5, 5))
    assert attention.request.tolist() == [0] * 12 + [1] * 12
    assert attention.prompt.tolist() == [1] * 12 + [2] * 12
    assert attention.start.tolist() == [7] * 12 + [8] * 12
    assert (report.requests, report.layers, report.heads, report.streams) == (2, 3, 4, 24)


def test_query_heads_that_share_keys_are_averaged(tmp_path):
    weights = _weights(4, 5, 5)
    path = _saved(tmp_path / "a", {"axes": "head,query,key", "kv_heads": "2"}, w=weights)
    attention, _ = read_attention(path, prompt=2, over="heads")
    assert np.allclose(attention.weights[1], weights[2:].mean(0), rtol=1e-6)
    assert len(read_attention(path, prompt=2, over="heads", kv_heads=4).attention.weights) == 4
    assert len(read_attention(path, prompt=2).attention.weights) == 1


def test_a_tensor_for_each_layer_is_stacked_in_the_order_of_numbers(tmp_path):
    layers = {f"layer.{at}": _weights(2, 3, 4, 4, seed=at) for at in range(11)}
    path = _saved(tmp_path / "a", {"axes": "request,head,query,key", "prompt": "2, 3"}, **layers)
    attention, report = read_attention(path, over="heads")
    assert np.array_equal(attention.weights[10 * 3], layers["layer.10"][0, 0])
    assert np.array_equal(attention.weights[11 * 3 + 2 * 3 + 1], layers["layer.2"][1, 1])
    assert attention.prompt[0::33].tolist() == [2, 3]
    assert (report.tensors, report.layers) == (11, 11)
    mean, _ = read_attention(path)
    assert np.allclose(mean.weights[1], sum(w[1].mean(0) for w in layers.values()) / 11, rtol=1e-6)
    two, _ = read_attention(path, tensors=["layer.10", "layer.3"], over="heads")
    assert np.array_equal(two.weights[0], layers["layer.10"][0, 0])
    assert len(read_attention(path, tensors="layer.1*").attention.weights) == 2


def test_a_tensor_for_each_request_has_its_own_length(tmp_path):
    requests = {f"request.{at}": _weights(2, 3, size, size) for at, size in enumerate((4, 6))}
    words = {"axes": "layer,head,query,key", "several": "request"}
    path = _saved(tmp_path / "a", words, prompt=np.array([2, 3]), **requests)
    attention, _ = read_attention(path)
    assert attention.length.tolist() == [4, 6]
    assert attention.prompt.tolist() == [2, 3]
    assert np.allclose(attention.weights[0, :4, :4], requests["request.0"].mean((0, 1)), rtol=1e-6)
    assert not attention.weights[0, 4:].any()


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_cut_off_whatever_stands_in_it(tmp_path, side):
    real = [_weights(3, 3, seed=1), _weights(5, 5, seed=2)]
    padded = np.full((2, 5, 5), np.nan, np.float32)
    for row, own in zip(padded, real, strict=True):
        at = slice(5 - len(own), 5) if side == "left" else slice(len(own))
        row[at] = 0
        row[at, at] = own
    np.savez(tmp_path / "a.npz", w=padded, length=[3, 5], prompt=2, axes="request,query,key")
    attention, report = read_attention(tmp_path / "a.npz", padding=side)
    assert np.array_equal(attention.weights[0, :3, :3], real[0])
    assert np.array_equal(attention.weights[1], real[1])
    assert report.rows == 8


def test_weight_on_padding_is_missing_from_a_row(tmp_path):
    np.save(tmp_path / "a.npy", _weights(5, 5))
    with pytest.raises(InputError, match=r"weights: got 0\.\d+; allowed: a sum of 1 \('weights'"):
        read_attention(tmp_path / "a.npy", axes="query,key", length=4, padding="left", prompt=1)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_numbers_of_16_bits_become_float32(tmp_path, dtype):
    weights = _weights(3, 40, 40).astype(dtype)
    path = _saved(tmp_path / "a", {"axes": "request,query,key", "prompt": "5"}, w=weights)
    attention, report = read_attention(path)
    assert attention.weights.dtype == np.float32
    assert report.dtype == np.dtype(dtype).name
    assert np.allclose(attention.weights, weights.astype(np.float32), rtol=2**-7)


def test_rows_that_bfloat16_rounded_are_rescaled_and_counted(tmp_path):
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.333, 0.334, 0.333]]).astype(BFLOAT16)
    off = abs(float(weights[2].astype(float).sum()) - 1)
    assert 1e-3 < off < 2**-8
    path = _saved(tmp_path / "a", w=weights)
    attention, report = read_attention(path, axes="query,key", prompt=1)
    (group,) = report.rescaled
    assert (group.rows, group.off, report.off) == (1, off, off)
    assert group.why == "rows whose sum bfloat16 rounded"
    assert group.first == "'w', request 0, layer 0, head 0, query 2"
    assert attention.weights[0, 2].sum() == pytest.approx(1, abs=1e-6)
    # In other numbers no rounding explains it.
    path = _saved(tmp_path / "b", w=weights.astype(np.float32))
    with pytest.raises(InputError, match="a sum of 1"):
        read_attention(path, axes="query,key", prompt=1)


def test_rows_are_renormalised_on_demand_and_counted(tmp_path):
    weights = _weights(2, 4, 4)
    weights[0, 2] *= 0.9
    weights[1, 3] *= 1.25
    np.save(tmp_path / "a.npy", weights)
    given = {"axes": "head,query,key", "prompt": 1}
    with pytest.raises(InputError, match=r"weights: got 0\.\d+; .*head 0, query 2.*renormalise"):
        read_attention(tmp_path / "a.npy", **given)
    attention, report = read_attention(tmp_path / "a.npy", renormalise=True, over="heads", **given)
    (group,) = report.rescaled
    assert (group.why, group.rows) == ("rows that do not sum to one", 2)
    assert group.off == pytest.approx(0.25, rel=1e-6)
    assert np.allclose(attention.weights.sum(-1), 1, atol=1e-6)
    said = "a.npy (npy, float32): 1 request, 1 layer, 2 heads; 2 streams over heads; 8 rows read, 2"
    assert report.summary().startswith(said)
    assert "2 × rows that do not sum to one, by at most 0.25" in report.summary()
    assert report.to_dict()["rescaled"][0]["rows"] == 2


def test_a_row_of_nothing_cannot_be_renormalised(tmp_path):
    weights = _weights(3, 3)
    weights[1] = 0
    np.save(tmp_path / "a.npy", weights)
    with pytest.raises(InputError, match="a sum above 0"):
        read_attention(tmp_path / "a.npy", axes="query,key", prompt=1, renormalise=True)


GOOD = _weights(2, 4, 4)


def _changed(at: tuple[int, ...], value: float) -> np.ndarray:
    weights = GOOD.copy()
    weights[at] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "given", "said"),
    [
        (GOOD, {"axes": None}, "axes: got None; allowed: request, layer, head, query and key"),
        (GOOD, {"axes": "request,query"}, "axes: got 'request,query'"),
        (GOOD, {"axes": "query,query,key"}, "axes: got 'query,query,key'"),
        (GOOD, {"axes": "batch,query,key"}, "axes: got 'batch,query,key'"),
        (GOOD, {"axes": "query,key"}, "axes: got 'query,key'; allowed: as many as 'weights' has"),
        (GOOD, {"axes": "query,head,key"}, "as many queries as keys"),
        (GOOD, {"prompt": None}, "prompt: got None; allowed: tokens of each prompt"),
        (GOOD, {"prompt": 0}, "prompt: got 0; allowed: at least 1 token"),
        (GOOD, {"prompt": 1.5}, "prompt: got 1.5; allowed: a whole number for each of 2 requests"),
        (GOOD, {"prompt": [1, 2, 3]}, "for each of 2 requests"),
        (GOOD, {"prompt": [1, [2]]}, "an array of numbers"),
        (GOOD, {"prompt": 2**40}, "prompt: got 1099511627776; allowed: numbers below"),
        (GOOD, {"prompt": [3, 4], "length": 3}, r"length: got 3; allowed: no shorter .* \(4\)"),
        (GOOD, {"length": 5}, "length: got 5; allowed: no more tokens than the array has"),
        (GOOD, {"start": -1}, "start: got"),
        (GOOD, {"padding": "both"}, "padding: got 'both'"),
        (GOOD, {"over": "layers"}, "over: got 'layers'"),
        (GOOD, {"kv_heads": 1}, 'kv_heads: got 1; allowed: over="heads"'),
        (GOOD, {"kv_heads": 2, "over": "heads"}, "kv_heads: got 2; allowed: a divisor of 1"),
        (GOOD, {"tensors": "layer.*"}, "tensors: got 'layer.*'; allowed: names, each once"),
        (GOOD, {"tensors": ["x"]}, "tensors: got 'x'; allowed: names of weights"),
        (_changed((1, 2, 0), -0.5), {}, r"got -0.5; allowed: at least 0 \(.*query 2, key 0\)"),
        (_changed((1, 2, 0), np.nan), {}, "weights: got nan; allowed: numbers"),
        (_changed((1, 2, 0), np.inf), {}, "weights: got inf; allowed: numbers"),
        (_changed((0, 1, 2), 0.5), {}, r"got 0.5; allowed: 0 on keys after .*query 1, key 2\)"),
        (GOOD * 2, {}, "weights: got 2.0; allowed: a sum of 1"),
        (np.tri(4, dtype=int)[None], {}, "source: got 'int64 numbers'; allowed: floating-point"),
        (np.zeros((0, 4, 4)), {}, r"'weights' of shape \(0, 4, 4\)"),
        (GOOD.view("V4"), {}, r"source: got '\|V4 numbers'"),
        (GOOD.astype(BFLOAT16).view("V2"), {}, "NumPy's files have no bfloat16"),
    ],
    ids=range(30),
)
def test_what_does_not_fit_is_one_line(tmp_path, weights, given, said):
    np.save(tmp_path / "a.npy", weights)
    with pytest.raises(InputError, match=said):
        read_attention(tmp_path / "a.npy", **{"axes": "request,query,key", "prompt": 2, **given})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "this is none"),
        (b"request,weights\n1,0.5\n", "this is none"),
        (b"\x80\x04\x95pickle", "pickled objects are not read"),
        (b"\x93NUMPY\x01\x00", "broken"),
        (b"\x93NUMPY\x01\x00\x0a\x00{'descr': ", "broken"),
        (b"PK\x03\x04broken", "broken"),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00{}", "a file with arrays of weights"),
        (b"\x09\x00\x00\x00\x00\x00\x00\x00{", "broken"),
    ],
    ids=range(8),
)
def test_what_is_no_file_of_arrays_is_one_line(tmp_path, content, said):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match=f"source: got .*{said}"):
        read_attention(tmp_path / "a", axes="query,key", prompt=1)


@pytest.mark.parametrize("shape", ["(-1, 4, 4)", f"({2**62}, {2**62}, {2**62})", "(9, 4, 4)"])
def test_a_header_that_promises_what_is_not_there_is_one_line(tmp_path, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    (tmp_path / "a").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + bytes(64))
    with pytest.raises(InputError, match=r"source: got .*broken: "):
        read_attention(tmp_path / "a", axes="request,query,key", prompt=1)


def test_no_file_and_a_folder_are_one_line(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_attention(tmp_path / "none.npy")
    with pytest.raises(InputError, match="this is not a regular file"):
        read_attention(tmp_path)
    with pytest.raises(InputError, match="source: got 3"):
        read_attention(3)  # pyright: ignore[reportArgumentType] (what is refused)


def test_pickled_arrays_are_refused(tmp_path):
    objects = np.array([{}, []], dtype=object)
    np.save(tmp_path / "a.npy", objects)
    np.savez(tmp_path / "a.npz", w=objects)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(InputError, match="pickled objects are not read"):
            read_attention(tmp_path / name, axes="query,key", prompt=1)


def test_a_file_of_torch_save_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as packed:
        packed.writestr("archive/data.pkl", b"x")
    with pytest.raises(InputError, match=r"torch.save wrote this"):
        read_attention(tmp_path / "a.pt", axes="query,key", prompt=1)


def test_a_cut_file_is_one_line(tmp_path):
    np.save(tmp_path / "a.npy", GOOD)
    _saved(tmp_path / "b", w=GOOD)
    for name in ("a.npy", "b"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-20])
        with pytest.raises(InputError, match=r"source: got .*broken"):
            read_attention(tmp_path / name, axes="request,query,key", prompt=1)


def test_several_arrays_have_to_be_something(tmp_path):
    path = _saved(tmp_path / "a", one=_weights(3, 3), two=_weights(4, 4))
    with pytest.raises(InputError, match=r"axes: got .*layer or request among them"):
        read_attention(path, axes="query,key", prompt=1)
    with pytest.raises(InputError, match=r"tensors: got 'two: .*arrays of one shape"):
        read_attention(path, axes="query,key", prompt=1, several="layer")
    path = _saved(tmp_path / "b", one=_weights(1, 2, 3, 3), two=_weights(1, 2, 3, 3))
    with pytest.raises(InputError, match="several: got None; allowed: one array"):
        read_attention(path, axes="request,layer,query,key", prompt=1)
    with pytest.raises(InputError, match="names of one, two"):
        read_attention(path, axes="request,layer,query,key", prompt=1, tensors=["three"])


def test_words_of_the_file_are_checked_too(tmp_path):
    for words, said in (
        ({"axes": "query,value"}, "axes: got 'query,value'"),
        ({"axes": "query,key", "prompt": "two"}, "prompt: got 'two'"),
        ({"axes": "query,key", "prompt": "1", "padding": "top"}, "padding: got 'top'"),
    ):
        with pytest.raises(InputError, match=said):
            read_attention(_saved(tmp_path / "a", words, w=_weights(3, 3)))
    words = {"axes": "query,key", "prompt": "1", "kv_heads": "-2"}
    with pytest.raises(InputError, match="kv_heads: got '-2'"):
        read_attention(_saved(tmp_path / "a", words, w=_weights(3, 3)), over="heads")


def test_what_cannot_be_written_is_one_line(tmp_path):
    attention = generated(generators()["sinks"], 0, requests=1, length=65)
    with pytest.raises(InputError, match="path: got"):
        write_attention(tmp_path / "no folder" / "a", attention)
    with pytest.raises(InputError, match="attention: got 3"):
        write_attention(tmp_path / "a", 3)  # pyright: ignore[reportArgumentType] (what is refused)
    assert not list(tmp_path.iterdir())
