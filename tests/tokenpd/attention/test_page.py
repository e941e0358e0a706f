"""docs/price.md: its script saves what the reader reads (of a stub model)."""

import ast
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from fluidkv.tokenpd import generators, read_attention
from fluidkv.tokenpd.attention.stored.layout import AXES, NUMBERS

PAGE = (Path(__file__).parents[3] / "docs" / "price.md").read_text(encoding="utf-8")
(SCRIPT,) = re.findall(r"^```python save_attention.py\n(.*?)^```$", PAGE, flags=re.M | re.S)
LAYERS, HEADS, NEW = 3, 4, 5


class _Tensor(np.ndarray):
    """As much of a tensor as the script uses."""

    def half(self):
        return self.astype(np.float16)

    def contiguous(self):
        return np.ascontiguousarray(self)


def _tensor(values) -> _Tensor:
    return np.asarray(values).view(_Tensor)


def _weights(size: int) -> _Tensor:
    drawn = np.random.default_rng(size).exponential(size=(1, HEADS, size, size)) * np.tri(size)
    return _tensor((drawn / drawn.sum(-1, keepdims=True)).astype(np.float32))


class _Model:
    """Attends at random, and writes NEW tokens."""

    config = SimpleNamespace(num_key_value_heads=2)

    @classmethod
    def from_pretrained(cls, name: str, *, attn_implementation: str, dtype: object):
        assert attn_implementation == "eager"
        return cls()

    def eval(self):
        return self

    def generate(self, tokens, **given: object):
        return _tensor(np.zeros((1, tokens.shape[1] + NEW), int))

    def __call__(self, tokens, *, output_attentions: bool):
        return SimpleNamespace(attentions=(_weights(tokens.shape[1]),) * LAYERS)


class _Tokenizer:
    @classmethod
    def from_pretrained(cls, name: str):
        return cls()

    def __call__(self, text: str, *, return_tensors: str):
        return SimpleNamespace(input_ids=_tensor([[1] * len(text.split())]))


@pytest.fixture
def stubs(monkeypatch):
    """The libraries that the script imports, which the package does not need."""
    modules = {
        "torch": {
            "float32": np.float32,
            "no_grad": nullcontext,
            "cat": lambda layers: _tensor(np.concatenate(layers)),
            "tensor": _tensor,
        },
        "safetensors.torch": {"save_file": save_file},
        "transformers": {"AutoModelForCausalLM": _Model, "AutoTokenizer": _Tokenizer},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


def test_the_script_saves_what_the_reader_reads(stubs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPT, "save_attention.py", "exec"), {})
    attention, report = read_attention("attention.safetensors")
    # The two prompts have 7 and 6 words.
    assert attention.prompt.tolist() == [7, 6]
    assert attention.length.tolist() == [7 + NEW, 6 + NEW]
    assert (report.requests, report.layers, report.heads, report.dtype) == (2, 3, 4, "float16")
    assert report.rescaled == ()
    assert np.allclose(attention.weights[1, :11, :11], _weights(11).mean((0, 1)), atol=1e-3)
    apart, _ = read_attention("attention.safetensors", over="heads")
    assert len(apart.weights) == 2 * LAYERS * 2


def test_the_script_is_short_and_needs_only_what_the_page_names():
    assert SCRIPT.count("\n") < 40
    tree = ast.parse(SCRIPT)
    froms = {
        n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module
    }
    plain = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert froms | plain == {"torch", "safetensors", "transformers"}


def test_the_page_names_each_axis_setting_and_generator():
    for name in (*AXES, *NUMBERS[:3], "padding", "several", "kv_heads", *generators()):
        assert f"`{name}`" in PAGE, name
